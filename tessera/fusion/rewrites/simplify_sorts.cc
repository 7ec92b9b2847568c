#include "tessera/fusion/rewrites/simplify_sorts.h"

#include <algorithm>

#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"

namespace tessera::fusion {
namespace {

// Selecting pays only if at most one of so many elements is read.
constexpr int64_t kOneOf = 4;

int64_t dimension_of(const SortParams& p, int64_t rank) {
  return p.dimension + (p.dimension < 0 ? rank : 0);
}

const Op* maker(const Function& f, ValueId v) {
  for (const Op& op : f.ops)
    if (std::find(op.results.begin(), op.results.end(), v) != op.results.end()) return &op;
  return nullptr;
}

// Returns whether the value is its index along the dimension (0, 1, ...) everywhere.
bool counts_along(const Function& f, ValueId v, int64_t dimension) {
  const Op* op = maker(f, v);
  if (op && op->def == &broadcast_in_dim_op) {
    const Dims& dims = op->params.as<BroadcastParams>().dims;
    const auto at = std::find(dims.begin(), dims.end(), dimension);
    const ValueId inner = op->operands[0];
    if (at == dims.end() || f.type(inner).shape[at - dims.begin()] != f.type(v).shape[dimension])
      return false;
    return counts_along(f, inner, at - dims.begin());
  }
  return op && op->def == &iota_op && op->params.as<IotaParams>().dimension == dimension &&
         is_integer(f.type(v).dtype);
}

}  // namespace

std::optional<int64_t> leading_elements_read(const Function& f, const Op& op) {
  const SortParams* params = as_sort(op);
  if (!params || params->comparator) return std::nullopt;
  const Shape& shape = f.type(op.operands[0]).shape;
  const int64_t dimension = dimension_of(*params, shape.rank());
  const auto is_result = [&](ValueId v) {
    return std::find(op.results.begin(), op.results.end(), v) != op.results.end();
  };
  if (std::any_of(f.outputs.begin(), f.outputs.end(), is_result)) return std::nullopt;
  int64_t count = 0;
  for (const Op& reader : f.ops) {
    if (std::none_of(reader.operands.begin(), reader.operands.end(), is_result)) continue;
    const SliceParams* slice = as_slice(reader);
    if (!slice) return std::nullopt;
    count = std::max(count, slice->limit[dimension]);
  }
  if (count == 0 || count > shape[dimension] / kOneOf) return std::nullopt;
  return count;
}

FirstOfSort first_of_sort(const Function& f, const Op& sort, int64_t count) {
  const SortParams& p = *as_sort(sort);
  FirstOfSort out;
  FirstSortedParams params{.dimension = dimension_of(p, f.type(sort.operands[0]).rank()),
                           .count = count,
                           .num_keys = p.num_keys,
                           .descending = p.descending,
                           .total_order = p.total_order};
  std::optional<size_t> index;
  for (size_t k = 0; k < sort.operands.size(); ++k) {
    const ValueId v = sort.operands[k];
    const bool is_index =
        !index && static_cast<int64_t>(k) >= p.num_keys && counts_along(f, v, params.dimension);
    out.results.push_back(out.op.operands.size());
    if (is_index) {
      index = k;
      params.index = true;
      params.index_dtype = f.type(v).dtype;
    } else {
      out.op.operands.push_back(v);
    }
  }
  if (index) out.results[*index] = out.op.operands.size();
  out.op.def = &first_sorted_op;
  out.op.params = params;
  out.op.source = sort.source;
  out.op.reason = sort.reason;
  return out;
}

}  // namespace tessera::fusion
