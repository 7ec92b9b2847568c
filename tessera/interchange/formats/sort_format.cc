// Text of stablehlo.sort. The common orders print as the comparators that JAX writes for them.
#include "tessera/interchange/formats/formats.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/ops/structural/sort_order.h"

namespace tessera::interchange::formats {
namespace {

std::vector<DType> dtypes_of(std::span<const Type> types) {
  std::vector<DType> out;
  for (const Type& t : types) out.push_back(t.dtype);
  return out;
}

OpText write_sort(const Op& op, const Function& function) {
  const SortParams& p = op.params.as<SortParams>();
  const std::vector<Type> operands = function.types_of(op.operands);
  OpText text;
  text.attributes = {{"dimension", TextAttr::Integer{p.dimension}}, {"is_stable", p.is_stable}};
  text.regions = {
      p.comparator ? p.comparator
                   : sort_comparator(p.num_keys, p.descending, p.total_order, dtypes_of(operands))};
  return text;
}

// Returns whether the body compares scalars of these dtypes.
bool compares_scalars(const Function& body, std::span<const DType> dtypes) {
  if (body.inputs.size() != 2 * dtypes.size() || body.outputs.size() != 1) return false;
  for (size_t k = 0; k < body.inputs.size(); ++k)
    if (!body.type(body.inputs[k]).same_array(Type{dtypes[k / 2], {}})) return false;
  return true;
}

OpParams read_sort(const OpDef&, OpReader& reader) {
  if (reader.text.regions.size() != 1)
    reader.error(fmt::format("expected one region, got {}", reader.text.regions.size()));
  const FunctionRef body = formats::plain_body(reader.text.regions[0]);
  SortParams p;
  if (reader.text.find("dimension")) {
    p.dimension = reader.require_int("dimension");
  } else {
    p.dimension = -1;
  }
  const TextAttr* stable = reader.text.take("is_stable");
  const bool* is_stable = stable ? stable->get<bool>() : nullptr;
  p.is_stable = is_stable && *is_stable;
  const std::vector<DType> dtypes = dtypes_of(reader.operand_types());
  const std::optional<SortOrder> order =
      compares_scalars(*body, dtypes) ? order_of(*body) : std::nullopt;
  for (int64_t keys = 1; keys <= static_cast<int64_t>(dtypes.size()); ++keys)
    for (bool descending : {false, true})
      for (bool total_order : {false, true})
        if (order == default_order(keys, descending, total_order, dtypes)) {
          p.num_keys = keys;
          p.descending = descending;
          p.total_order = total_order;
          return p;
        }
  p.comparator = body;
  return p;
}

}  // namespace

OpFormat sort() {
  return {.write = write_sort, .read = read_sort, .capture_rule = capture_in_sort};
}

}  // namespace tessera::interchange::formats
