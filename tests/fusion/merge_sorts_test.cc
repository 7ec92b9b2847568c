#include "tessera/fusion/rewrites/merge_sorts.h"

#include <cmath>

#include "fusion_testing.h"
#include "tessera/control/control_flow_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/ops/structural/sort_order.h"

namespace tessera::fusion_testing::merge_sorts_test {

using namespace fusion;

namespace {

using ops::as_sort;
using ops::NanOrder;
using ops::SortOrder;

template <class F>
FunctionRef comparator_of(const std::vector<DType>& dtypes, F body) {
  std::vector<Type> types;
  for (DType dtype : dtypes) types.insert(types.end(), 2, array_type(dtype, {}));
  return std::make_shared<const Function>(
      trace(types, [&](const Arrays& x) { return Arrays{body(x)}; }));
}

Function sort_function(const std::vector<Type>& types, const FunctionRef& comparator,
                       int64_t dimension) {
  return trace(types,
               [&](const Arrays& x) { return lax::sort(std::span(x), dimension, comparator); });
}

bool has_loop(const Function& f) {
  return std::any_of(f.ops.begin(), f.ops.end(), [](const Op& op) {
    return holds_within(op, [](const Op& inner) { return inner.def == &ops::while_op; });
  });
}
// Returns whether the function has a sort. Expects that its order is known, also of NaNs.
bool has_sort(const Function& f) {
  bool found = false;
  for (const Op& op : f.ops)
    holds_within(op, [&](const Op& inner) {
      if (const ops::SortParams* p = as_sort(inner)) {
        found = true;
        const std::optional<SortOrder> order =
            p->comparator ? ops::order_of(*p->comparator) : std::nullopt;
        EXPECT_TRUE(!p->comparator || order);
        for (const ops::SortKey& key : order.value_or(SortOrder()))
          EXPECT_NE(key.nans, NanOrder::kUnordered);
      }
      return false;
    });
  return found;
}

// Expects the results of evaluating the sort, bit for bit; returns the function after the pass.
Function expect_same(const std::vector<Type>& types, const FunctionRef& comparator,
                     int64_t dimension, std::vector<Literal> inputs = {}) {
  const Function f = sort_function(types, comparator, dimension), merged = merge_sorts(f);
  if (inputs.empty()) inputs = random_inputs(f);
  EXPECT_EQ(evaluate(merged, inputs), evaluate(f, inputs));
  if (!has_sort(merged)) check(f, inputs);
  return merged;
}

// For integers there is no NaN, so nothing needs a loop.
TEST(MergeSorts, OrdersOfComputedKeysAreSortedByKeys) {
  const FunctionRef absolute = comparator_of(
      {int32}, [](const Arrays& x) { return lax::gt(lax::abs(x[0]), lax::abs(x[1])); });
  const Function merged = expect_same({array_type(int32, {3, 20})}, absolute, 1);
  EXPECT_TRUE(has_sort(merged));
  EXPECT_FALSE(has_loop(merged));
  const FunctionRef parity = comparator_of({int32, float32}, [](const Arrays& x) {
    const Array two(Literal::scalar<int32_t>(2));
    const Array p = lax::rem(x[0], two), q = lax::rem(x[1], two);
    return lax::bitwise_or(lax::gt(p, q), lax::bitwise_and(lax::eq(p, q), lax::lt(x[0], x[1])));
  });
  const Function two_keys = expect_same({array_type(int32, {30}), f32({30})}, parity, 0);
  EXPECT_TRUE(has_sort(two_keys));
  EXPECT_FALSE(has_loop(two_keys));
}

// Comparisons of floats are no order if there are NaNs. Then a conditional merges.
TEST(MergeSorts, NansAreMerged) {
  const FunctionRef plain =
      comparator_of({float32}, [](const Arrays& x) { return lax::lt(x[0], x[1]); });
  const FunctionRef absolute = comparator_of(
      {complex64}, [](const Arrays& x) { return lax::lt(lax::abs(x[0]), lax::abs(x[1])); });
  const FunctionRef parts = comparator_of(
      {complex64}, [](const Arrays& x) { return lax::gt(lax::imag(x[0]), lax::imag(x[1])); });
  for (bool with_nan : {false, true}) {
    Literal x = random_literal(f32({41}), 3);
    Literal z = random_literal(array_type(complex64, {41}), 4);
    if (with_nan)
      for (int64_t i = 0; i < 41; i += 4) {
        x.mutable_data<float>()[i] = std::nanf("");
        z.mutable_data<std::complex<float>>()[i] = {0, std::nanf("")};
      }
    for (const Function& merged : {expect_same({f32({41})}, plain, 0, {x}),
                                   expect_same({array_type(complex64, {41})}, absolute, 0, {z}),
                                   expect_same({array_type(complex64, {41})}, parts, 0, {z})}) {
      EXPECT_TRUE(has_sort(merged));
      EXPECT_TRUE(has_loop(merged));
    }
  }
}

// <= is no strict order: the library of C++ then reverses equal elements.
TEST(MergeSorts, EqualElementsOfLessOrEqualAreReversed) {
  Literal x(int32, {29}), place(int32, {29});
  for (int32_t i = 0; i < 29; ++i) {
    x.mutable_data<int32_t>()[i] = i * 7 % 4;
    place.mutable_data<int32_t>()[i] = i;
  }
  const std::vector<Type> types(2, array_type(int32, {29}));
  for (auto compare : {lax::le, lax::ge}) {
    const FunctionRef comparator =
        comparator_of({int32, int32}, [&](const Arrays& in) { return compare(in[0], in[1]); });
    const Function merged = expect_same(types, comparator, 0, {x, place});
    EXPECT_TRUE(has_sort(merged));
    EXPECT_FALSE(has_loop(merged));
  }
  // Only if the whole comparator is one comparison.
  const FunctionRef negated = comparator_of(
      {int32, int32}, [&](const Arrays& in) { return lax::bitwise_not(lax::le(in[0], in[1])); });
  EXPECT_TRUE(has_loop(expect_same(types, negated, 0, {x, place})));
}

TEST(MergeSorts, OtherComparatorsAreLoops) {
  const FunctionRef fractions = comparator_of({float32, float32}, [](const Arrays& x) {
    return lax::lt(lax::mul(x[0], x[3]), lax::mul(x[1], x[2]));
  });
  const Function merged = expect_same({f32({23, 3}), f32({23, 3})}, fractions, 0);
  EXPECT_FALSE(has_sort(merged));
  EXPECT_TRUE(has_loop(merged));
  const FunctionRef distance = comparator_of({float32, int32}, [](const Arrays& x) {
    const Array half(Literal::scalar(0.5F));
    return lax::lt(lax::sub(lax::exp(x[0]), lax::exp(x[1])), half);
  });
  const Function keyed = expect_same({f32({30}), array_type(int32, {30})}, distance, -1);
  EXPECT_FALSE(has_sort(keyed));
  EXPECT_TRUE(std::any_of(keyed.ops.begin(), keyed.ops.end(), [](const Op& op) {
    return op.def == &ops::exp_op;
  })) << "keys are computed once for each element";
}

TEST(MergeSorts, KnownOrdersStay) {
  for (bool total : {false, true}) {
    const DType dtypes[] = {float32, complex64};
    const Function f = sort_function({f32({9}), array_type(complex64, {9})},
                                     ops::sort_comparator(2, true, total, dtypes), 0);
    EXPECT_EQ(merge_sorts(f), f);
  }
  const Function unnamed =
      trace({f32({9})}, [](const Arrays& x) { return lax::sort(std::span(x), 0); });
  EXPECT_EQ(merge_sorts(unnamed), unnamed);
  const Function none = sort_function(
      {f32({0})}, comparator_of({float32}, [](const Arrays& x) { return lax::lt(x[0], x[1]); }), 0);
  EXPECT_EQ(merge_sorts(none), none);
}

// Devices would take different branches and trips, so sharded values only get keys.
TEST(MergeSorts, ShardedValues) {
  const std::vector<Type> sharded{array_type(int32, {10}).with_varying({"x"})};
  const FunctionRef absolute = comparator_of(
      {int32}, [](const Arrays& x) { return lax::lt(lax::abs(x[0]), lax::abs(x[1])); });
  const Function keyed = merge_sorts(sort_function(sharded, absolute, 0));
  EXPECT_TRUE(has_sort(keyed));
  EXPECT_EQ(keyed.type(keyed.outputs[0]).varying, AxisNames{"x"});
  const FunctionRef distance = comparator_of({int32}, [](const Arrays& x) {
    return lax::lt(lax::sub(x[0], x[1]), Array(Literal::scalar<int32_t>(0)));
  });
  const Function f = sort_function(sharded, distance, 0);
  EXPECT_EQ(merge_sorts(f), f);
}

TEST(MergeSorts, InsideOfRegions) {
  const FunctionRef distance = comparator_of({int32}, [](const Arrays& x) {
    return lax::lt(lax::sub(x[0], x[1]), Array(Literal::scalar<int32_t>(0)));
  });
  ops::ScanParams scan{.length = 3, .num_consts = 0, .num_carry = 1};
  const std::vector<Type> types{array_type(int32, {20})};
  scan.body = std::make_shared<const Function>(trace(types, [&](const Arrays& x) {
    return Arrays{lax::neg(lax::sort(std::span(x), 0, distance)[0])};
  }));
  const Function f =
      trace(types, [&](const Arrays& x) { return bind_op(ops::scan_op, scan, std::span(x)); });
  const Function merged = merge_sorts(f);
  EXPECT_FALSE(has_sort(merged));
  const std::vector<Literal> inputs = random_inputs(f);
  EXPECT_EQ(evaluate(merged, inputs), evaluate(f, inputs));
}

}  // namespace
}  // namespace tessera::fusion_testing::merge_sorts_test
