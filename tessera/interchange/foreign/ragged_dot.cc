// chlo.ragged_dot: a product in which one dimension of lhs is divided into groups of rows. It is
// expressed by masks and one dot_general, as in JAX's own lowering of lax.ragged_dot_general. The
// ragged dimension may be m, k or b of [b,m,k] . [b,k,n]:
//   m:  lhs [b,m,k], rhs [g,b,k,n] -> [b,m,n]     row m by the matrix of its group
//   k:  lhs [b,m,k], rhs [b,k,n]   -> [g,b,m,n]   a product for each group of k
//   b:  a plain dot_general
// Rows that are in no group produce zeros.
#include <algorithm>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/foreign/insert_traced.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::interchange::foreign {
namespace {

using namespace array_math;

struct RaggedDims {
  Dims lhs_batch, rhs_batch, lhs_contract, rhs_contract, ragged, group;
};

bool has(const Dims& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// Returns the dimensions before the ragged one among those of its kind, batch dimensions first.
// Group sizes may differ for each index of these.
Dims prefix_dims(int64_t rank, int64_t ragged, const Dims& batch, const Dims& contract) {
  Dims prefix;
  if (!has(batch, ragged)) prefix = batch;
  const Dims kind = has(batch, ragged)      ? batch
                    : has(contract, ragged) ? contract
                                            : dot_free_dims(rank, batch, contract);
  for (const int64_t d : kind) {
    if (d == ragged) break;
    prefix.push_back(d);
  }
  return prefix;
}

// Returns for each group x with zeros at those indices along `dim` that are not in the group: [g,
// ...]. The sizes are [g] or [prefix..., g]. With dim = 0, x = [a, b, c] and sizes = [2, 1] the
// result is [[a, b, 0], [0, 0, c]].
Array expand(const Array& x, int64_t dim, const Array& sizes, const Dims& prefix) {
  const int64_t last = sizes.shape().rank() - 1;
  const Array ends = lax::cumsum(sizes, last);
  Dims extents{sizes.shape()[last]};
  for (int64_t d = 0; d < x.shape().rank(); ++d) extents.push_back(x.shape()[d]);
  const Shape shape(extents.begin(), extents.end());
  // [g, prefix...], with the prefix in the order of x.
  std::vector<std::pair<int64_t, int64_t>> order{{0, last}};
  for (int64_t i = 0; i < last; ++i) order.emplace_back(prefix[i] + 1, i);
  std::sort(order.begin(), order.end());
  Dims to, from;
  for (const auto& [target, source] : order) {
    to.push_back(target);
    from.push_back(source);
  }
  const auto spread = [&](const Array& a) {
    return lax::broadcast_in_dim(lax::transpose(a, from), shape, to);
  };
  const Array at = lax::iota(sizes.dtype(), shape, dim + 1);
  const Array inside = lax::bitwise_and(spread(ends - sizes) <= at, at < spread(ends));
  Dims all;
  for (int64_t d = 0; d < x.shape().rank(); ++d) all.push_back(d + 1);
  const Array wide = lax::broadcast_in_dim(x, shape, all);
  return lax::select(inside, wide, lax::full_like(wide, 0.0));
}

Dims shifted(const Dims& dims, const Dims& before, const Dims& after) {
  Dims out(before);
  for (const int64_t d : dims) out.push_back(d + 1);
  for (const int64_t d : after) out.push_back(d);
  return out;
}

RaggedDims read_dims(OpReader& reader) {
  const auto* record = reader.require("ragged_dot_dimension_numbers").get<TextAttr::Record>();
  RaggedDims out;
  const std::pair<const char*, Dims*> fields[] = {{"lhs_batching_dimensions", &out.lhs_batch},
                                                  {"rhs_batching_dimensions", &out.rhs_batch},
                                                  {"lhs_contracting_dimensions", &out.lhs_contract},
                                                  {"rhs_contracting_dimensions", &out.rhs_contract},
                                                  {"lhs_ragged_dimensions", &out.ragged},
                                                  {"rhs_group_dimensions", &out.group}};
  for (const auto& [key, value] : record ? record->entries : TextAttr::Entries())
    for (const auto& [name, dims] : fields)
      if (const auto* array = value.get<TextAttr::Array>(); array && key == name)
        dims->assign(array->values.begin(), array->values.end());
  const auto check = [&](const Dims& dims, int64_t rank, const char* name) {
    for (const int64_t d : dims)
      if (d < 0 || d >= rank)
        reader.error(fmt::format("expected {} in [0, {}), got {}", name, rank, d));
  };
  const int64_t lhs = reader.type(reader.operands[0]).rank(),
                rhs = reader.type(reader.operands[1]).rank();
  check(out.lhs_batch, lhs, "lhs_batching_dimensions");
  check(out.lhs_contract, lhs, "lhs_contracting_dimensions");
  check(out.ragged, lhs, "lhs_ragged_dimensions");
  check(out.rhs_batch, rhs, "rhs_batching_dimensions");
  check(out.rhs_contract, rhs, "rhs_contracting_dimensions");
  check(out.group, rhs, "rhs_group_dimensions");
  if (out.ragged.size() != 1)
    reader.error(fmt::format("expected one ragged dimension of lhs, got {}", out.ragged.size()));
  if (out.lhs_contract.size() != out.rhs_contract.size() ||
      out.lhs_batch.size() != out.rhs_batch.size())
    reader.error("expected as many batching and contracting dimensions of lhs as of rhs");
  return out;
}

// Throws UserError unless the sizes are [g] or [prefix..., g].
void check_sizes(const RaggedDims& dims, const Dims& prefix, const OpReader& reader) {
  const Type &lhs = reader.type(reader.operands[0]), &rhs = reader.type(reader.operands[1]),
             &sizes = reader.type(reader.operands[2]);
  if (!is_integer(sizes.dtype) || sizes.rank() == 0)
    reader.error(fmt::format("expected group_sizes to be integers, one a group, got {}", sizes));
  Dims want;
  for (const int64_t d : prefix) want.push_back(lhs.shape[d]);
  want.push_back(sizes.shape[sizes.rank() - 1]);
  if (sizes.rank() != 1 && sizes.shape != Shape(want.begin(), want.end()))
    reader.error(fmt::format("expected group_sizes of shape {}, got {}",
                             Shape(want.begin(), want.end()), sizes));
  const bool free = !has(dims.lhs_batch, dims.ragged[0]) && !has(dims.lhs_contract, dims.ragged[0]);
  if (dims.group.size() != (free ? 1U : 0U))
    reader.error(fmt::format(
        "expected {} group dimension of rhs, as the ragged dimension is {}, "
        "got {}",
        free ? "one" : "no",
        free ? "neither a batching nor a contracting one" : "a batching or contracting one",
        dims.group.size()));
  if (free && rhs.shape[dims.group[0]] != want.back())
    reader.error(fmt::format("expected the group dimension of rhs to be {}, one a group, got {}",
                             want.back(), rhs.shape[dims.group[0]]));
}

}  // namespace

Values ragged_dot(OpReader& reader) {
  if (reader.operands.size() != 3)
    reader.error(
        fmt::format("expected lhs, rhs and group_sizes, got {} operands", reader.operands.size()));
  reader.text.take("precision_config");
  const RaggedDims dims = read_dims(reader);
  const int64_t ragged = dims.ragged[0];
  const Dims prefix = prefix_dims(reader.type(reader.operands[0]).rank(), ragged, dims.lhs_batch,
                                  dims.lhs_contract);
  check_sizes(dims, prefix, reader);
  std::optional<DType> preferred;
  if (reader.result_types.size() == 1) preferred = reader.result_types[0].dtype;
  const auto contracting = std::find(dims.lhs_contract.begin(), dims.lhs_contract.end(), ragged);
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) -> std::vector<Array> {
        const Array &lhs = x[0], &rhs = x[1], &sizes = x[2];
        if (has(dims.lhs_batch, ragged))
          return {lax::dot_general(
              lhs, rhs, {dims.lhs_contract, dims.rhs_contract, dims.lhs_batch, dims.rhs_batch},
              preferred)};
        const Array wide = expand(lhs, ragged, sizes, prefix);
        if (contracting == dims.lhs_contract.end()) {
          Dims rhs_contract = dims.rhs_contract;
          rhs_contract.push_back(dims.group[0]);
          return {lax::dot_general(wide, rhs,
                                   {shifted(dims.lhs_contract, {}, {0}), rhs_contract,
                                    shifted(dims.lhs_batch, {}, {}), dims.rhs_batch},
                                   preferred)};
        }
        const int64_t other = dims.rhs_contract[contracting - dims.lhs_contract.begin()];
        const Dims rhs_prefix =
            prefix_dims(rhs.shape().rank(), other, dims.rhs_batch, dims.rhs_contract);
        return {lax::dot_general(
            wide, expand(rhs, other, sizes, rhs_prefix),
            {shifted(dims.lhs_contract, {}, {}), shifted(dims.rhs_contract, {}, {}),
             shifted(dims.lhs_batch, {0}, {}), shifted(dims.rhs_batch, {0}, {})},
            preferred)};
      },
      "ragged_dot");
}

}  // namespace tessera::interchange::foreign
