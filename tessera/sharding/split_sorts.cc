#include "tessera/sharding/split_sorts.h"

#include <algorithm>
#include <optional>

#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/sharding/sharded_rewrite.h"

namespace tessera::sharding {
namespace {

// A sort along `dim`, in `shards` shards. Only the first `wanted` elements of the result are read.
struct SplitSort {
  int64_t dim, shards, wanted;
};

class SortSplitter {
 public:
  explicit SortSplitter(const Function& f) : to_(f), readers_(f.types.size()) {
    for (const Op& op : f.ops)
      for (ValueId v : op.operands) readers_[v].push_back(&op);
    for (ValueId v : f.outputs) readers_[v].push_back(nullptr);
  }

  Function run() {
    for (const Op& op : to_.from().ops) {
      if (const std::optional<SplitSort> sort = find_sort(op)) {
        in_two(op, *sort);
      } else {
        to_.append(op, split_sorts);
      }
    }
    return to_.take();
  }

 private:
  std::optional<SplitSort> find_sort(const Op& op) const {
    const SortParams* params = as_sort(op);
    if (!params) return std::nullopt;
    // StableHLO may count dimensions from the end.
    const int64_t rank = to_.from().type(op.operands[0]).rank(),
                  dim = params->dimension + (params->dimension < 0 ? rank : 0);
    SplitSort out{dim, 1, 0};
    for (ValueId v : op.operands) {
      const NamedSharding& sharding = *to_.from().type(v).sharding;
      out.shards = std::max(out.shards, sharding.num_shards(dim));
    }
    const int64_t extent = to_.from().type(op.operands[0]).shape[dim];
    if (out.shards == 1 || extent % out.shards) return std::nullopt;
    for (ValueId v : op.results)
      for (const Op* reader : readers_[v]) {
        const SliceParams* slice = reader ? as_slice(*reader) : nullptr;
        if (!slice) return std::nullopt;
        out.wanted = std::max(out.wanted, slice->limit[dim]);
      }
    // Only if gathering them sends less than the two all_to_alls of a sort under another sharding.
    if (out.wanted == 0 || out.wanted * out.shards > extent / out.shards) return std::nullopt;
    return out;
  }

  void in_two(const Op& op, const SplitSort& sort) {
    to_.instead_of(op);
    const int64_t d = sort.dim;
    const Type* widest = nullptr;  // the operand that is sharded along d
    for (ValueId v : op.operands) {
      const Type& type = to_.from().type(v);
      if (type.sharding->num_shards(d) == sort.shards) widest = &type;
    }
    DimSpecs specs;
    for (int64_t e = 0; e < widest->rank(); ++e)
      specs.push_back(DimSpec(widest->sharding->dim_axes(e)));
    DimSpecs parts = specs, whole = specs;
    parts.insert(parts.begin() + d + 1, DimSpec());
    whole[d] = DimSpec();
    const Shape shape = widest->shape;
    Shape split = shape, joined = shape;
    split[d] = sort.shards;
    split.insert(split.begin() + d + 1, shape[d] / sort.shards);
    joined[d] = sort.shards * sort.wanted;

    SortParams params = *as_sort(op);
    params.dimension = d;
    ValueIds values;
    for (ValueId v : op.operands)
      values.push_back(to_.add(reshape_op, ReshapeParams{split}, {to_.at(v)}, parts));
    ++params.dimension;
    values = to_.add_all(sort_op, params, values, parts);
    --params.dimension;
    Dims limit = split;
    limit[d + 1] = sort.wanted;
    const SliceParams first{Dims(limit.size(), 0), limit, Dims(limit.size(), 1)};
    for (ValueId& v : values) {
      v = to_.add(slice_op, first, {v}, parts);
      v = to_.add(reshape_op, ReshapeParams{joined}, {v}, specs);
    }
    values = to_.add_all(sort_op, params, values, whole);
    for (size_t k = 0; k < values.size(); ++k) to_.at(op.results[k]) = values[k];
  }

  ShardedRewrite to_;
  std::vector<std::vector<const Op*>> readers_;  // null stands for the function's outputs
};

}  // namespace

Function split_sorts(const Function& function) { return SortSplitter(function).run(); }

}  // namespace tessera::sharding
