// Which comparators are recognised as orders by keys, and which orders they are.
#include "tessera/ops/structural/sort_order.h"

#include <cmath>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/structural/sort.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::sort_order_test {

using namespace ops;

namespace {

// Builds a comparator of two scalars for each operand, value by value.
class ComparatorOf {
 public:
  explicit ComparatorOf(std::vector<DType> dtypes) {
    for (DType dtype : dtypes) {
      f.add_input({dtype, {}});
      f.add_input({dtype, {}});
    }
  }
  ValueId a(size_t k = 0) const { return f.inputs[2 * k]; }
  ValueId b(size_t k = 0) const { return f.inputs[2 * k + 1]; }
  ValueId op(const OpDef& def, const OpParams& params, ValueIds operands) {
    const std::vector<Type> types = def.infer(f.types_of(operands), params);
    return f.add_op(def, params, std::move(operands), types)[0];
  }
  ValueId number(double value, DType dtype) {
    return op(constant_op, ConstantParams{convert_literal(Literal::scalar(value), dtype), {}}, {});
  }
  ValueId compare(Comparison direction, ValueId x, ValueId y) {
    return op(compare_op, CompareParams{direction, default_compare_type(f.type(x).dtype)}, {x, y});
  }
  ValueId total(Comparison direction, ValueId x, ValueId y) {
    return op(compare_op, CompareParams{direction, CompareType::kTotalOrder}, {x, y});
  }
  ValueId both(ValueId x, ValueId y) { return op(bitwise_and_op, NoParams{}, {x, y}); }
  ValueId either(ValueId x, ValueId y) { return op(bitwise_or_op, NoParams{}, {x, y}); }
  ValueId choose(ValueId p, ValueId x, ValueId y) { return op(select_op, NoParams{}, {p, x, y}); }
  std::optional<SortOrder> order(ValueId result) {
    f.outputs = {result};
    return order_of(f);
  }
  Function f;
};

// What is unordered becomes the largest; all else is read back.
TEST(SortOrderOf, ComparatorsOfOrders) {
  const std::vector<DType> dtypes{float32, int32, complex64};
  const SortOrder order{
      {.operand = 2,
       .part = KeyPart::kImaginary,
       .descending = true,
       .equal_zeros = true,
       .nans = NanOrder::kLargest},
      {.operand = 1, .descending = true},
      {.operand = 0, .nans = NanOrder::kByBits},
      {.operand = 2, .part = KeyPart::kReal, .equal_zeros = true, .nans = NanOrder::kUnordered}};
  SortOrder read = order;
  read[3].nans = NanOrder::kLargest;
  EXPECT_EQ(order_of(*comparator_of(order, dtypes)), read);
}

TEST(SortOrderOf, TheUsualComparators) {
  const std::vector<DType> all{float32, int32, complex64, bfloat16,   float64, uint8,
                               bool_,   int64, float16,   complex128, uint32};
  for (size_t first = 0; first < all.size(); ++first) {
    const std::vector<DType> dtypes(all.begin() + static_cast<ptrdiff_t>(first), all.end());
    for (int64_t keys = 1; keys <= std::min<int64_t>(4, static_cast<int64_t>(dtypes.size()));
         ++keys)
      for (bool descending : {false, true})
        for (bool total : {false, true})
          EXPECT_EQ(order_of(*sort_comparator(keys, descending, total, dtypes)),
                    default_order(keys, descending, total, dtypes));
  }
}

// MLIR gives JAX's comparator this form: each constant occurs once, before all other ops.
TEST(SortOrderOf, ConstantsThatAreShared) {
  for (bool nan_first : {false, true}) {
    ComparatorOf c({float32});
    const ValueId zero = c.number(0, float32), nan = c.number(std::nan(""), float32);
    ValueId keys[2];
    for (int side : {0, 1}) {
      const ValueId x = side ? c.b() : c.a();
      const ValueId is_zero = c.compare(Comparison::kEq, zero, x),
                    is_nan = c.compare(Comparison::kNe, x, x);
      keys[side] = nan_first ? c.choose(is_zero, zero, c.choose(is_nan, nan, x))
                             : c.choose(is_nan, nan, c.choose(is_zero, zero, x));
    }
    EXPECT_EQ(c.order(c.total(Comparison::kLt, keys[0], keys[1])),
              default_order(1, false, false, std::vector{float32}));
    EXPECT_EQ(c.order(c.total(Comparison::kGt, keys[0], keys[1])),
              default_order(1, true, false, std::vector{float32}));
    EXPECT_EQ(c.order(c.total(Comparison::kLt, keys[1], keys[0])),
              default_order(1, true, false, std::vector{float32}));
    EXPECT_EQ(c.order(c.total(Comparison::kLt, keys[0], c.b())), std::nullopt);
    EXPECT_EQ(c.order(c.total(Comparison::kLe, keys[0], keys[1])), std::nullopt);
  }
}

TEST(SortOrderOf, KeysInAnyOrderAndDirection) {
  ComparatorOf c({int32, uint8, float64});
  const SortOrder want{{.operand = 2, .equal_zeros = true, .nans = NanOrder::kUnordered},
                       {.operand = 0, .descending = true},
                       {.operand = 1}};
  const ValueId lt2 = c.compare(Comparison::kLt, c.a(2), c.b(2)),
                eq2 = c.compare(Comparison::kEq, c.b(2), c.a(2)),
                gt0 = c.compare(Comparison::kGt, c.a(0), c.b(0)),
                eq0 = c.compare(Comparison::kEq, c.a(0), c.b(0)),
                lt1 = c.compare(Comparison::kLt, c.a(1), c.b(1));
  const ValueId inner = c.either(gt0, c.both(eq0, lt1));
  EXPECT_EQ(c.order(c.either(lt2, c.both(eq2, inner))), want);
  EXPECT_EQ(c.order(c.either(c.both(inner, eq2), lt2)), want);
  const ValueId flat = c.either(c.either(lt2, c.both(eq2, gt0)), c.both(lt1, c.both(eq0, eq2)));
  EXPECT_EQ(c.order(flat), want);
  EXPECT_EQ(c.order(c.choose(eq2, c.choose(eq0, lt1, gt0), lt2)), want);
}

TEST(SortOrderOf, WhatIsNone) {
  ComparatorOf c({int32, float32, complex64});
  const ValueId lt0 = c.compare(Comparison::kLt, c.a(0), c.b(0)),
                eq0 = c.compare(Comparison::kEq, c.a(0), c.b(0)),
                lt1 = c.compare(Comparison::kLt, c.a(1), c.b(1)),
                eq1 = c.compare(Comparison::kEq, c.a(1), c.b(1)),
                total_lt1 = c.total(Comparison::kLt, c.a(1), c.b(1));
  EXPECT_EQ(c.order(eq0), std::nullopt);
  EXPECT_EQ(c.order(c.both(eq0, lt1)), std::nullopt);                 // only among equal ones
  EXPECT_EQ(c.order(c.either(lt0, c.both(eq1, lt1))), std::nullopt);  // another key's equality
  EXPECT_EQ(c.order(c.either(total_lt1, c.both(eq1, lt0))), std::nullopt);  // -0 is equal, and less
  EXPECT_EQ(c.order(c.either(lt0, lt1)), std::nullopt);
  EXPECT_EQ(c.order(c.both(lt0, lt1)), std::nullopt);
  EXPECT_EQ(c.order(c.choose(eq0, lt0, lt1)), std::nullopt);
  EXPECT_EQ(c.order(c.compare(Comparison::kLt, c.a(1), c.number(0, float32))), std::nullopt);
  EXPECT_EQ(c.order(c.compare(Comparison::kLt, c.a(1), c.a(1))), std::nullopt);
  EXPECT_EQ(c.order(c.compare(Comparison::kEq, c.a(2), c.b(2))), std::nullopt);
  // Keys that replace zeros or NaNs by numbers that change the order.
  const ValueId is_zero = c.compare(Comparison::kEq, c.a(1), c.number(0, float32)),
                is_nan = c.compare(Comparison::kNe, c.a(1), c.a(1));
  for (const ValueId key : {c.choose(is_zero, c.number(1, float32), c.a(1)),
                            c.choose(is_nan, c.number(-std::nan(""), float32), c.a(1)),
                            c.choose(is_nan, c.number(2, float32), c.a(1)),
                            c.choose(is_zero, c.number(0, float32), c.b(1))})
    EXPECT_EQ(c.order(c.total(Comparison::kLt, key, key)), std::nullopt);
}

}  // namespace
}  // namespace tessera::testing_ops::sort_order_test
