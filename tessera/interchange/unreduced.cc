#include "tessera/interchange/unreduced.h"

#include <algorithm>

#include "tessera/ir/format.h"

namespace tessera::interchange {

namespace {

constexpr std::string_view kName = "unreduced_sharding";

}  // namespace

TextAttr sharding_attribute(WrittenSharding sharding) {
  const int64_t rank = sharding.value.spec().rank();
  TextAttr plain = TextAttr::Sharding{std::move(sharding.value), rank};
  if (sharding.unreduced.empty()) return plain;
  TextAttr::List axes;
  for (std::string& axis : sharding.unreduced) axes.items.emplace_back(std::move(axis));
  return TextAttr::Record{std::string(kName),
                          {{"sharding", std::move(plain)}, {"unreduced", std::move(axes)}}};
}

std::optional<WrittenSharding> read_sharding(const TextAttr& attribute) {
  if (const auto* plain = attribute.get<TextAttr::Sharding>())
    return WrittenSharding{plain->value, {}};
  const auto* record = attribute.get<TextAttr::Record>();
  if (!record || record->name != kName || record->entries.size() != 2) return std::nullopt;
  const auto* plain = record->entries[0].second.get<TextAttr::Sharding>();
  const auto* axes = record->entries[1].second.get<TextAttr::List>();
  if (!plain || !axes) return std::nullopt;
  WrittenSharding out{plain->value, {}};
  for (const TextAttr& axis : axes->items)
    if (const auto* name = axis.get<std::string>()) out.unreduced.push_back(*name);
  return out;
}

TextAttr shardings_attribute(std::vector<WrittenSharding> shardings) {
  if (std::all_of(shardings.begin(), shardings.end(),
                  [](const WrittenSharding& one) { return one.unreduced.empty(); })) {
    TextAttr::Shardings plain;
    for (WrittenSharding& one : shardings) plain.values.push_back(std::move(one.value));
    return plain;
  }
  TextAttr::List list;
  for (WrittenSharding& one : shardings) list.items.push_back(sharding_attribute(std::move(one)));
  return list;
}

std::optional<std::vector<WrittenSharding>> read_shardings(const TextAttr& attribute) {
  std::vector<WrittenSharding> out;
  if (const auto* plain = attribute.get<TextAttr::Shardings>()) {
    for (const NamedSharding& value : plain->values) out.push_back({value, {}});
    return out;
  }
  const auto* list = attribute.get<TextAttr::List>();
  if (!list) return std::nullopt;
  for (const TextAttr& item : list->items) {
    std::optional<WrittenSharding> one = read_sharding(item);
    if (!one) return std::nullopt;
    out.push_back(std::move(*one));
  }
  return out;
}

AxisNames unreduced_axes(const Mesh& mesh, std::span<const AxisRef> axes) {
  AxisNames out;
  for (const AxisRef& axis : axes) {
    if (!axis.is_whole() || !mesh.has_axis(axis.name))
      fail(ErrorKind::kParse, "sdy.sharding",
           "expected whole axes of {} as unreduced ones, got {}; name an axis of the mesh", mesh,
           axis);
    if (std::find(out.begin(), out.end(), axis.name) != out.end())
      fail(ErrorKind::kParse, "sdy.sharding",
           "expected distinct unreduced axes, got '{}' twice; name it once", axis.name);
    out.push_back(axis.name);
  }
  return out;
}

}  // namespace tessera::interchange
