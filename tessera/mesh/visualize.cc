#include "tessera/mesh/visualize.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tessera/base/error.h"
#include "tessera/mesh/format.h"
#include "tessera/mesh/text_grid.h"

namespace tessera {
namespace {

// One shard, and the ids of the devices that hold it, in ascending order.
struct Shard {
  ShardIndex index;
  std::vector<int64_t> ids;
};

// Returns the distinct parts of the array, in row-major order. Shards without elements have the
// range n:n in an uneven dimension and count as one.
std::vector<Shard> distinct_shards(const Shape& global, const Sharding& sharding) {
  auto key = [](const ShardIndex& index) {
    std::vector<std::pair<int64_t, int64_t>> result;
    for (const IndexRange& range : index) result.emplace_back(range.start, range.stop);
    return result;
  };
  std::map<std::vector<std::pair<int64_t, int64_t>>, Shard> shards;
  for (DeviceIndex& device : sharding.devices_indices_map(global)) {
    Shard& shard = shards[key(device.index)];
    shard.index = std::move(device.index);
    shard.ids.push_back(device.device_id);
  }
  std::vector<Shard> result;
  for (auto& [unused, shard] : shards) {
    std::sort(shard.ids.begin(), shard.ids.end());
    result.push_back(std::move(shard));
  }
  return result;
}

std::string platform_label(const Sharding& sharding) {
  if (sharding.is_named() && sharding.named().mesh().is_abstract()) return "DEVICE";
  return std::string(sharding.devices().front().platform());
}

std::string id_list(const std::vector<int64_t>& ids) {
  return fmt::format("{}", fmt::join(ids, ","));
}

// Returns the ids as text, in which three or more ids with equal steps become a range:
// 0,1,2,3,8,16,24,32 becomes 0-3,8-32:8.
std::string id_ranges(const std::vector<int64_t>& ids) {
  std::string text;
  for (size_t begin = 0; begin < ids.size();) {
    size_t end = begin + 1;
    if (end < ids.size()) {
      int64_t step = ids[end] - ids[begin];
      while (end + 1 < ids.size() && ids[end + 1] - ids[end] == step) ++end;
      if (end - begin < 2) end = begin;
    } else {
      end = begin;
    }
    if (begin) text += ',';
    text += fmt::format("{}", ids[begin]);
    if (end > begin) {
      text += fmt::format("-{}", ids[end]);
      if (int64_t step = ids[begin + 1] - ids[begin]; step > 1) text += fmt::format(":{}", step);
    }
    begin = end + 1;
  }
  return text;
}

using IdText = std::string (*)(const std::vector<int64_t>& ids);
constexpr int64_t kUnlimited = int64_t{1} << 40;  // in columns

std::string index_text(const ShardIndex& index) {
  return fmt::format("[{}]", fmt::join(index, ", "));
}

bool is_empty(const Shard& shard) {
  return std::any_of(shard.index.begin(), shard.index.end(),
                     [](const IndexRange& r) { return r.size() == 0; });
}

// The drawing of an array of rank 1 or 2 that has elements.
class Drawing {
 public:
  Drawing(const Shape& global, const Sharding& sharding, const VisualizeOptions& options)
      : global_(global),
        options_(options),
        platform_(platform_label(sharding)),
        shards_(distinct_shards(global, sharding)) {
    for (int64_t d = 0; d < global.rank(); ++d) uneven_ |= global[d] % sharding.num_shards(d) != 0;
    base_height_ = std::trunc(10 * options.scale);
    double columns = global.rank() == 2 ? global[1] : 1;
    base_width_ = std::trunc(base_height_ * (columns / static_cast<double>(global[0])));
  }

  std::string text() const {
    std::vector<GridRow> rows = grid(id_list, kUnlimited);
    std::vector<int64_t> widths = natural_widths(rows), labels = label_widths(rows);
    if (total_width(widths) <= options_.max_width) return draw_grid(rows, widths);
    if (total_width(labels) <= options_.max_width)
      return draw_grid(rows, shrunk_widths(widths, labels, options_.max_width));
    return in_blocks(grid(id_ranges, options_.max_width - 2));
  }

 private:
  std::vector<GridRow> grid(IdText ids, int64_t label_limit) const {
    std::vector<GridRow> rows;
    const IndexRange* row_range = nullptr;
    for (const Shard& shard : shards_) {
      // Shards are in row-major order, so a new first range begins a new row. An array of rank 1 is
      // one row.
      if (!row_range || (global_.rank() == 2 && !(shard.index[0] == *row_range)))
        rows.emplace_back();
      row_range = &shard.index[0];
      rows.back().push_back(cell(shard, ids(shard.ids), label_limit));
    }
    return rows;
  }

  GridCell cell(const Shard& shard, const std::string& ids, int64_t label_limit) const {
    const IndexRange& across = shard.index.back();
    double share = static_cast<double>(across.size()) / static_cast<double>(global_.back());
    double width = std::trunc(share * base_width_ * 2.5);
    width = std::min(std::max<double>(width, options_.min_width),
                     static_cast<double>(options_.max_width));
    double height = 1;
    if (global_.rank() == 2)
      height = std::trunc(static_cast<double>(shard.index[0].size()) /
                          static_cast<double>(global_[0]) * base_height_);
    GridCell result{wrap_at_commas(platform_ + " " + ids, label_limit), static_cast<int64_t>(width),
                    static_cast<int64_t>(height)};
    if (uneven_) result.lines.push_back(is_empty(shard) ? "empty" : index_text(shard.index));
    return result;
  }

  // Draws as many columns side by side as fit into max_width, at least one.
  std::string in_blocks(const std::vector<GridRow>& rows) const {
    std::vector<int64_t> natural = natural_widths(rows), labels = label_widths(rows);
    if (total_width(labels) <= options_.max_width)
      return draw_grid(rows, shrunk_widths(natural, labels, options_.max_width));
    std::string out;
    for (size_t begin = 0, end = 0; begin < labels.size(); begin = end) {
      auto part = [&](const std::vector<int64_t>& widths, size_t stop) {
        return std::vector<int64_t>(widths.begin() + begin, widths.begin() + stop);
      };
      end = begin + 1;
      while (end < labels.size() && total_width(part(labels, end + 1)) <= options_.max_width) ++end;
      std::vector<GridRow> block;
      for (const GridRow& row : rows) block.emplace_back(row.begin() + begin, row.begin() + end);
      IndexRange covered = {shards_[begin].index.back().start, shards_[end - 1].index.back().stop};
      out += fmt::format("{}{}]\n", global_.rank() == 2 ? "[:, " : "[", covered);
      out += draw_grid(block,
                       shrunk_widths(part(natural, end), part(labels, end), options_.max_width));
    }
    return out;
  }

  const Shape& global_;
  const VisualizeOptions& options_;
  std::string platform_;
  std::vector<Shard> shards_;
  bool uneven_ = false;
  // The size of the whole array in lines, and in units of which 2.5 are as wide as a line is high.
  double base_height_ = 0, base_width_ = 0;
};

// Returns a row for each shard: its devices and its indices, each in as many lines as necessary.
std::vector<GridRow> listing_rows(const std::string& platform, const std::vector<Shard>& shards,
                                  IdText ids, int64_t devices_limit, int64_t index_limit) {
  GridCell devices, indices;
  for (const Shard& shard : shards) {
    for (std::string& line : wrap_at_commas(platform + " " + ids(shard.ids), devices_limit))
      devices.lines.push_back(std::move(line));
    std::string index = index_text(shard.index) + (is_empty(shard) ? " empty" : "");
    for (std::string& line : wrap_at_commas(index, index_limit))
      indices.lines.push_back(std::move(line));
    size_t lines = std::max(devices.lines.size(), indices.lines.size());
    devices.lines.resize(lines);
    indices.lines.resize(lines);
  }
  // The lines get the same length, so that they are aligned at the left and not centred.
  for (GridCell* cell : {&devices, &indices}) {
    size_t longest = 0;
    for (const std::string& line : cell->lines) longest = std::max(longest, line.size());
    for (std::string& line : cell->lines) line.resize(longest, ' ');
  }
  return {{{{"devices"}}, {{"index"}}}, {std::move(devices), std::move(indices)}};
}

std::string listing(const Shape& global, const Sharding& sharding,
                    const VisualizeOptions& options) {
  std::string platform = platform_label(sharding);
  std::vector<Shard> shards = distinct_shards(global, sharding);
  std::vector<GridRow> rows = listing_rows(platform, shards, id_list, kUnlimited, kUnlimited);
  if (total_width(label_widths(rows)) > options.max_width) {
    int64_t index_limit = std::min(label_widths(rows)[1], (options.max_width - 3) / 2);
    rows =
        listing_rows(platform, shards, id_ranges, options.max_width - 3 - index_limit, index_limit);
  }
  return draw_grid(rows, label_widths(rows));
}

}  // namespace

std::string sharding_table(const Shape& global, const Sharding& sharding,
                           const VisualizeOptions& options) {
  // The largest scale. A larger drawing would be too long to read, and would soon exceed memory.
  constexpr double kMaxScale = 100;
  if (!(options.scale > 0 && options.scale <= kMaxScale))
    value_error("visualize_array_sharding", "expected a scale above 0 and up to {}, got {}",
                kMaxScale, options.scale);
  if (options.min_width < 1 || options.max_width < 1)
    value_error("visualize_array_sharding",
                "expected min_width and max_width of at least 1, got {} and {}", options.min_width,
                options.max_width);
  if (sharding.is_named()) check_rank("visualize_array_sharding", sharding.named(), global);
  bool drawable = (global.rank() == 1 || global.rank() == 2) && global.elements() > 0;
  return drawable ? Drawing(global, sharding, options).text() : listing(global, sharding, options);
}

}  // namespace tessera
