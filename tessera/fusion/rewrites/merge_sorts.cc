#include "tessera/fusion/rewrites/merge_sorts.h"

#include <algorithm>

#include "tessera/control/make_control_flow.h"
#include "tessera/fusion/rewrites/comparator_keys.h"
#include "tessera/fusion/rewrites/merge_loop.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/expect.h"
#include "tessera/ops/reductions/pointwise_body.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/ops/structural/sort_order.h"
#include "tessera/trace/trace.h"

namespace tessera::fusion {

using namespace ops;

namespace {

using Arrays = std::vector<Array>;

// The order of a comparator. If `reversed`, equal elements come in the opposite order, as by <=.
struct KnownOrder {
  SortOrder keys;
  bool reversed = false;
};

std::optional<KnownOrder> known_order(const Function& comparator) {
  if (const std::optional<SortOrder> order = order_of(comparator)) return KnownOrder{*order};
  const std::optional<Function> without_equality = strict_comparison(comparator);
  const std::optional<SortOrder> order =
      without_equality ? order_of(*without_equality) : std::nullopt;
  return order ? std::optional(KnownOrder{*order, true}) : std::nullopt;
}

bool is_unordered(const SortKey& key) { return key.nans == NanOrder::kUnordered; }

Array any_nan(const SortOrder& order, const Arrays& x) {
  Array out;
  for (const SortKey& key : order) {
    if (!is_unordered(key)) continue;
    Array part = x[static_cast<size_t>(key.operand)];
    if (key.part != KeyPart::kWhole)
      part = key.part == KeyPart::kReal ? lax::real(part) : lax::imag(part);
    const Array here = lax::reduce_or(lax::ne(part, part), iota_dims(part.ndim()));
    out = out.defined() ? lax::bitwise_or(out, here) : here;
  }
  return out;
}

// Sorts by a comparator of these arrays, whose order, if it is known, is `order`.
Arrays sorted(const FunctionRef& comparator, const std::optional<KnownOrder>& order,
              const Arrays& x, int64_t dimension) {
  const auto merge = [&](const Arrays& in) {
    return sorted_by_merging(*comparator, in, dimension);
  };
  if (!order) return merge(x);
  std::vector<DType> dtypes;
  for (const Array& array : x) dtypes.push_back(array.dtype());
  const auto by_keys = [&](const Arrays& in) {
    Arrays out = in;
    if (order->reversed)
      for (Array& array : out) array = lax::rev(array, {dimension});
    return lax::sort(out, dimension, comparator_of(order->keys, dtypes));
  };
  if (std::none_of(order->keys.begin(), order->keys.end(), is_unordered)) return by_keys(x);
  const Array index = bind_op1(expect_op, ExpectParams{0},
                               {lax::convert_element_type(any_nan(order->keys, x), int32)});
  return control::make_case(index, {by_keys, merge}, x);
}

// The keys of a sort, and where they are among the arrays that are sorted in its place.
struct KeyedSort {
  ComparatorKeys parts;
  std::vector<size_t> at;  // of each operand: its position after sorting
  FunctionRef comparator;  // of all arrays that are sorted: the keys, and operands that are none
};

KeyedSort keyed(const Function& comparator) {
  KeyedSort out{.parts = keys_of_comparator(comparator), .at = {}, .comparator = {}};
  const Function& keys = out.parts.keys;
  Function order = out.parts.comparator;
  size_t arrays = keys.outputs.size();
  for (ValueId x : keys.inputs) {
    const auto key = std::find(keys.outputs.begin(), keys.outputs.end(), x);
    if (key != keys.outputs.end()) {
      out.at.push_back(static_cast<size_t>(key - keys.outputs.begin()));
      continue;
    }
    out.at.push_back(arrays++);
    for (int side = 0; side < 2; ++side) order.add_input(keys.type(x));
  }
  out.comparator = std::make_shared<const Function>(std::move(order));
  return out;
}

Arrays sorted_by_keys(const KeyedSort& sort, const std::optional<KnownOrder>& order,
                      const Arrays& x, int64_t dimension, bool sharded) {
  Arrays all = apply_body(sort.parts.keys, x);
  for (size_t k = 0; k < x.size(); ++k)
    if (sort.at[k] == all.size()) all.push_back(x[k]);
  all = sharded ? lax::sort(all, dimension, sort.comparator)
                : sorted(sort.comparator, order, all, dimension);
  Arrays out;
  for (size_t at : sort.at) out.push_back(all[at]);
  return out;
}

// Returns the function that replaces a sort; null if it stays.
FlatFn replacement(const Function& f, const Op& op) {
  const SortParams* p = as_sort(op);
  if (!p || !p->comparator || f.type(op.operands[0]).elements() == 0) return nullptr;
  const Function& comparator = *p->comparator;
  if (std::any_of(comparator.ops.begin(), comparator.ops.end(), has_effect)) return nullptr;
  const auto has_type = [&](auto&& is) {
    return std::any_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId v) { return is(f.type(v)); });
  };
  if (has_type([](const Type& type) { return is_narrow(type.dtype); })) return nullptr;
  const bool sharded = has_type([](const Type& type) { return !type.varying.empty(); });
  const int64_t rank = f.type(op.operands[0]).rank();
  const int64_t dimension = p->dimension + (p->dimension < 0 ? rank : 0);
  const std::optional<KnownOrder> known = known_order(comparator);
  if (known && !known->reversed) {
    const SortOrder& keys = known->keys;
    if (sharded || std::none_of(keys.begin(), keys.end(), is_unordered)) return nullptr;
    return
        [=, whole = p->comparator](const Arrays& x) { return sorted(whole, known, x, dimension); };
  }
  const KeyedSort sort = keyed(comparator);
  const std::optional<KnownOrder> order = known_order(*sort.comparator);
  if (sharded && (!order || order->reversed)) return nullptr;
  return [=](const Arrays& x) { return sorted_by_keys(sort, order, x, dimension, sharded); };
}

}  // namespace

Function merge_sorts(const Function& function) {
  return rewritten(function, [&](Function& out, const ValueIds& inputs) {
    return append_ops(function, inputs, [&](const Op& op, ValueIds operands) -> ValueIds {
      const FlatFn body = replacement(function, op);
      if (!body)
        return out.add_op(copy_of(op, map_control_regions(op, merge_sorts), std::move(operands)),
                          function.types_of(op.results));
      std::vector<Type> types;
      for (ValueId v : op.operands) {
        const Type& type = function.type(v);
        types.push_back({.dtype = type.dtype, .shape = type.shape, .varying = type.varying});
      }
      const Function ops = tracing::trace_function(body, types).function;
      return append_ops(ops, operands, [&](const Op& made, ValueIds of) -> ValueIds {
        return out.add_op(*made.def, made.params, std::move(of), ops.types_of(made.results),
                          op.source);
      });
    });
  });
}

}  // namespace tessera::fusion
