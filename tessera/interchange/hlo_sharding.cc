#include "tessera/interchange/hlo_sharding.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

#include "tessera/base/shape.h"
#include "tessera/ir/format.h"

namespace tessera::interchange {
namespace {

// Reads the text of a sharding: digits, lists of them, words.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool accept(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  // Reads numbers such as 1,2,3. The list ends before anything that is not a number.
  std::optional<Dims> numbers() {
    Dims out;
    do {
      skip();
      int64_t value = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0 || out.size() > (1 << 20)) return std::nullopt;
      at_ = static_cast<size_t>(end - text_.data());
      out.push_back(value);
    } while (accept(","));
    return out;
  }
  std::optional<Dims> list(std::string_view open, std::string_view close) {
    if (!accept(open)) return std::nullopt;
    std::optional<Dims> out = numbers();
    return out && accept(close) ? out : std::nullopt;
  }
  std::string_view word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalpha(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool at_end() {
    skip();
    return at_ == text_.size();
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

std::optional<int64_t> product(const Dims& sizes, int64_t limit) {
  int64_t out = 1;
  for (int64_t size : sizes)
    if (size < 1 || (out *= size) > limit) return std::nullopt;
  return out;
}

// A tile assignment: the devices 0 to n - 1 in the shape `reshape`, transposed by `permutation`,
// then reshaped to `tiles`.
struct Tiles {
  Dims tiles, reshape, permutation;
};

// Returns whether the devices are in order, so that their list is a tile assignment of one
// dimension.
bool is_iota(const Dims& devices) {
  for (size_t i = 0; i < devices.size(); ++i)
    if (devices[i] != static_cast<int64_t>(i)) return false;
  return true;
}

// Finds the transposed reshape of 0, 1, ... that is this list and has the tiles' extents. It tries
// two dimensions, as JAX writes.
bool find_transpose(const Dims& devices, Tiles& out) {
  const auto n = static_cast<int64_t>(devices.size());
  out.reshape = {n};
  out.permutation = {0};
  if (is_iota(devices)) return true;
  for (int64_t minor = 2; minor < n; ++minor) {
    if (n % minor != 0) continue;
    bool same = true;
    for (int64_t i = 0; i < n && same; ++i) {
      const int64_t major = n / minor, row = i / major, column = i % major;
      same = devices[i] == column * minor + row;
    }
    if (!same) continue;
    out.reshape = {n / minor, minor};
    out.permutation = {1, 0};
    return true;
  }
  return false;
}

// Returns, for each tile dimension, the parts of the axis that shard it, major first.
std::optional<std::vector<std::vector<AxisRef>>> parts_of(const Tiles& t) {
  struct Part {
    int64_t pre, size;
  };
  std::vector<Part> all;  // major first
  Dims before(t.reshape.size(), 1);
  for (size_t i = 1; i < t.reshape.size(); ++i) before[i] = before[i - 1] * t.reshape[i - 1];
  for (int64_t p : t.permutation) all.push_back({before[p], t.reshape[p]});
  std::vector<std::vector<AxisRef>> out;
  size_t next = 0;
  for (int64_t left : t.tiles) {
    std::vector<AxisRef>& parts = out.emplace_back();
    while (left > 1) {
      while (next < all.size() && all[next].size == 1) ++next;
      if (next == all.size()) return std::nullopt;
      Part& part = all[next];
      const int64_t size = std::gcd(left, part.size);
      // Only the major part of what is left of this axis can be taken.
      if (size == 1 || (size != part.size && size != left)) return std::nullopt;
      AxisRef* last = parts.empty() ? nullptr : &parts.back();
      if (last && last->pre_size * last->size == part.pre) {
        last->size *= size;
      } else {
        parts.push_back({std::string(kPartitionAxis), part.pre, size});
      }
      part = {part.pre * size, part.size / size};
      left /= size;
    }
  }
  return out;
}

}  // namespace

HloSharding parse_hlo_sharding(std::string_view text, int64_t rank, int64_t partitions) {
  HloSharding out;
  const auto refuse = [&](std::string what) {
    out.problem = fmt::format("expected a sharding of GSPMD over {} partitions, got '{}': {}",
                              partitions, text, what);
    return out;
  };
  Cursor in(text);
  const bool braces = in.accept("{");
  const std::vector<DimSpec> none(static_cast<size_t>(rank));
  if (in.accept("replicated")) {
    out.spec = PartitionSpec(none);
    return out;
  }
  if (in.accept("unknown")) return out;
  if (in.accept("manual"))
    return refuse("manual ones are shard_map's; export the program with Shardy, JAX's default");
  if (in.accept("maximal")) return refuse("one of several devices cannot be named");
  if (!in.accept("devices=")) return refuse("it is not understood");
  Tiles t;
  const std::optional<Dims> tiles = in.list("[", "]");
  if (!tiles) return refuse("the tiles are not understood");
  t.tiles = *tiles;
  const std::optional<int64_t> count = product(t.tiles, 1 << 20);
  if (!count || *count != partitions) return refuse("the tiles are of another number of devices");
  if (in.accept("<=")) {
    const std::optional<Dims> reshape = in.list("[", "]");
    if (!reshape || product(*reshape, 1 << 20) != *count) return refuse("the devices are not all");
    t.reshape = *reshape;
    t.permutation.resize(t.reshape.size());
    std::iota(t.permutation.begin(), t.permutation.end(), 0);
    if (in.accept("T")) {
      const std::optional<Dims> permutation = in.list("(", ")");
      Dims sorted = permutation.value_or(Dims());
      std::sort(sorted.begin(), sorted.end());
      if (sorted != t.permutation) return refuse("the transpose is no permutation");
      t.permutation = *permutation;
    }
  } else {
    const std::optional<Dims> listed = in.numbers();
    if (!listed || static_cast<int64_t>(listed->size()) != *count || !find_transpose(*listed, t))
      return refuse("the devices are listed in an order that is no transpose");
  }
  size_t extra = 0;  // the last tile dimensions, which shard nothing
  if (in.accept("last_tile_dim_replicate")) {
    extra = 1;
  } else if (in.accept("last_tile_dims={")) {
    do {
      const std::string_view kind = in.word();
      if (kind != "replicated") return refuse(fmt::format("a dimension of tiles is {}", kind));
      ++extra;
    } while (in.accept(","));
    in.accept("}");
  }
  if (in.accept("metadata=")) {
    // Metadata about the sharding's origin is ignored.
  } else if ((braces && !in.accept("}")) || !in.at_end()) {
    return refuse("it goes on after what is understood");
  }
  if (t.tiles.size() != static_cast<size_t>(rank) + extra)
    return refuse(fmt::format("the array has {} dimensions", rank));
  const auto parts = parts_of(t);
  if (!parts) return refuse("a tile is no part of the devices in their order");
  std::vector<DimSpec> dims;
  for (size_t d = 0; d < static_cast<size_t>(rank); ++d) {
    std::vector<AxisRef> axes = (*parts)[d];
    for (AxisRef& axis : axes)
      if (axis.size == partitions) axis = {std::string(kPartitionAxis)};
    dims.push_back(DimSpec(std::move(axes)));
  }
  out.spec = PartitionSpec(std::move(dims));
  return out;
}

}  // namespace tessera::interchange
