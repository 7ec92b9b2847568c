#include "tessera/interchange/bytecode/properties.h"

#include <algorithm>
#include <charconv>

#include "tessera/interchange/op_table.h"
#include "tessera/ir/format.h"

namespace tessera::interchange::bytecode {
namespace {

std::vector<Property> words(std::string_view text) {
  std::vector<Property> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view name = text.substr(0, end);
    const bool optional = name.back() == '?', sizes = name.back() == '#';
    if (optional || sizes) name.remove_suffix(1);
    out.push_back({name, optional, sizes});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Returns whether an op with these properties may have `count` numbers. Two sizes are three
// numbers, or one if both are 0. The rows of an op differ by one attribute.
bool takes(const std::vector<Property>& properties, size_t count) {
  const auto sizes = static_cast<size_t>(std::count_if(properties.begin(), properties.end(),
                                                       [](const Property& p) { return p.sizes; }));
  const size_t least = properties.size();
  return count >= least && count <= least + 2 * sizes && (count - least) % 2 == 0;
}

}  // namespace

std::vector<Property> properties_of(std::string_view dialect, std::string_view op, size_t count) {
  if (dialect == "vhlo") {
    for (const VhloRow& row : vhlo_row_of(without_version(op)).vhlo)
      if (row.number > 0 && op.ends_with(fmt::format("_v{}", row.number)))
        if (auto out = words(row.attributes); out.size() == count) return out;
    return {};
  }
  for (const std::string_view row : row_of(dialect, op).properties)
    if (auto out = words(row); !out.empty() && takes(out, count)) return out;
  return {};
}

std::string_view without_version(std::string_view name) {
  const size_t at = name.rfind("_v");
  const bool versioned = at != std::string_view::npos && at + 2 < name.size() &&
                         std::all_of(name.begin() + static_cast<ptrdiff_t>(at) + 2, name.end(),
                                     [](char c) { return c >= '0' && c <= '9'; });
  return versioned ? name.substr(0, at) : name;
}

Version parse_version(std::string_view text) {
  Version out{};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool valid = true;
  for (int& part : out) {
    const auto [next, error] = std::from_chars(at, end, part);
    valid = valid && error == std::errc() && part >= 0;
    const bool last = &part == &out.back();
    valid = valid && (last ? next == end : next != end && *next == '.');
    if (!valid) break;
    at = next + 1;
  }
  if (!valid || out < Version{0, 9, 0} || out > Version{1, 22, 0})
    value_error("bytecode",
                "expected a version of VHLO from 0.9.0 to 1.22.0, as '1.17.0', got '{}'", text);
  return out;
}

std::optional<VhloOp> find_vhlo(std::string_view op, const Version& version) {
  for (const VhloRow& row : vhlo_row_of(op).vhlo)
    if (row.number > 0 && parse_version(row.first) <= version &&
        (row.last.empty() || version <= parse_version(row.last)))
      return VhloOp{fmt::format("{}_v{}", op, row.number), words(row.attributes)};
  return std::nullopt;
}

}  // namespace tessera::interchange::bytecode
