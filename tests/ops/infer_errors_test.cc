// Errors for every constraint of elementwise ops and ops on shapes.
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::infer_errors_test {

using namespace ops;

namespace {

Array zeros(DType dtype, const Shape& shape) { return Array(Literal(dtype, shape)); }

class InferErrors : public HostTest {
 protected:
  const Array f3 = zeros(float32, {3}), f23 = zeros(float32, {2, 3}), i3 = zeros(int32, {3}),
              f = zeros(float32, {}), i = zeros(int32, {}), c3 = zeros(complex64, {3}),
              b3 = zeros(bool_, {3});
};

// With a collapsed dimension of size 0 the result would have elements although its windows are
// empty.
TEST_F(InferErrors, GatherOfEmptyWindows) {
  const GatherParams p{.offset_dims = {1},
                       .collapsed_slice_dims = {0},
                       .start_index_map = {0},
                       .index_vector_dim = 1,
                       .slice_sizes = {0, 3}};
  const std::vector<Array> two{zeros(float32, {5, 3}), zeros(int32, {2, 1})},
      none{zeros(float32, {5, 3}), zeros(int32, {0, 1})};
  EXPECT_USER_ERROR(bind_op(gather_op, p, two),
                    "[gather] expected a slice size of 1 in collapsed dimension 0 of a result with "
                    "elements, got 0 for float32[5,3]; take no windows");
  EXPECT_EQ(bind_op(gather_op, p, none)[0].shape(), (Shape{0, 3}));
}

TEST_F(InferErrors, Elementwise) {
  EXPECT_USER_ERROR(
      lax::sin(i3),
      "[sine] expected a floating-point or complex array (I1), got int32[3]; convert");
  EXPECT_USER_ERROR(lax::bitwise_not(f3), "[not] expected a bool or integer array");
  EXPECT_USER_ERROR(lax::abs(zeros(uint8, {3})),
                    "[abs] expected a signed integer, floating-point or complex array");
  EXPECT_USER_ERROR(lax::is_finite(c3), "[is_finite] expected a floating-point array");
  EXPECT_USER_ERROR(lax::rem(c3, c3), "[remainder] expected an integer or floating-point array");
  EXPECT_USER_ERROR(lax::add(f3, i3),
                    "[add] expected operands of one dtype (C1), got float32[3] and int32[3]");
  EXPECT_USER_ERROR(lax::add(f3, f23),
                    "[add] expected operands of one shape (C1), got float32[3] and float32[2,3]");
  EXPECT_USER_ERROR(lax::mul(f3, f), "expected operands of one shape (C1)");
  const std::vector<Array> one{f3};
  EXPECT_USER_ERROR(bind_op(add_op, NoParams{}, one), "[add] expected 2 operands, got 1");
  EXPECT_USER_ERROR(lax::integer_pow(i3, -1),
                    "[integer_pow] expected an exponent >= 0 for int32[3], got -1");
  EXPECT_USER_ERROR(lax::nextafter(i3, i3), "[next_after] expected a floating-point array");
}

TEST_F(InferErrors, EveryElementwiseOpRefusesOtherKindsShapesAndCounts) {
  int tested = 0;
  for (const OpDef* def : all_ops()) {
    if (!std::holds_alternative<Pointwise>(def->lower) || !def->samples ||
        def->samples()[0].operands.empty())
      continue;
    SCOPED_TRACE(def->name);
    const Sample sample = def->samples()[0];
    std::vector<Type> operands = sample.operands;
    operands.push_back(operands[0]);
    EXPECT_THROW(def->infer(operands, sample.params), UserError) << "one operand more";
    operands = sample.operands;
    if (operands.size() < 2) continue;
    operands[1].shape.push_back(7);
    operands[0].shape.push_back(6);
    EXPECT_THROW(def->infer(operands, sample.params), UserError) << "two shapes";
    operands = sample.operands;
    operands[1].dtype = operands[1].dtype == int16 ? int32 : int16;
    EXPECT_THROW(def->infer(operands, sample.params), UserError) << "two dtypes";
    ++tested;
  }
  EXPECT_GE(tested, 19);
}

TEST_F(InferErrors, Compare) {
  EXPECT_USER_ERROR(
      lax::lt(c3, c3),
      "[compare] expected EQ or NE for complex64[3], got LT: complex numbers are not ordered");
  EXPECT_USER_ERROR(lax::compare(f3, f3, Comparison::kLt, CompareType::kSigned),
                    "[compare] expected comparison type FLOAT for float32[3] (C3), got SIGNED");
  EXPECT_USER_ERROR(lax::compare(i3, i3, Comparison::kLt, CompareType::kTotalOrder), "(C3)");
  EXPECT_USER_ERROR(lax::eq(f3, f23), "expected operands of one shape (C1)");
}

TEST_F(InferErrors, SelectAndClamp) {
  EXPECT_USER_ERROR(lax::select(f3, f3, f3),
                    "[select] expected a bool predicate (I1), got float32[3]");
  EXPECT_USER_ERROR(
      lax::select(b3, f23, f23),
      "[select] expected a scalar predicate or one of shape (2, 3) (C1), got bool[3]");
  EXPECT_USER_ERROR(lax::select(b3, f3, i3), "[select] expected choices of one dtype (C2)");
  EXPECT_USER_ERROR(lax::select(b3, f3, f), "[select] expected choices of one shape (C2)");
  EXPECT_USER_ERROR(
      lax::clamp(f23, f3, f),
      "[clamp] expected scalar bounds or bounds of shape (3,) (C1), got float32[2,3]");
  EXPECT_USER_ERROR(lax::clamp(f, f3, f23), "(C2)");
  EXPECT_USER_ERROR(
      lax::clamp(i, f3, f),
      "[clamp] expected bounds of the operand's dtype (C3), got int32[] for float32[3]");
}

TEST_F(InferErrors, ComplexAndConvert) {
  EXPECT_USER_ERROR(lax::complex(zeros(float16, {}), zeros(float16, {})),
                    "[complex] expected float32 or float64 parts (I1)");
  EXPECT_USER_ERROR(lax::complex(f3, zeros(float64, {3})),
                    "[complex] expected operands of one dtype (C1)");
  EXPECT_USER_ERROR(lax::real(f3), "[real] expected a complex array (I1), got float32[3]");
  EXPECT_USER_ERROR(lax::bitcast_convert_type(f3, complex64),
                    "[bitcast_convert] expected complex both or neither (C2)");
  EXPECT_USER_ERROR(lax::bitcast_convert_type(f3, bool_),
                    "[bitcast_convert] expected bool both or neither (C2)");
  EXPECT_USER_ERROR(bind_op1(bitcast_convert_op, BitcastParams{int64}, {f3}),
                    "[bitcast_convert] expected a dtype as wide");
  EXPECT_USER_ERROR(lax::bitcast_convert_type(f3, float64),
                    "[bitcast_convert_type] expected a last dimension of 2 to make float64 (C1)");
  EXPECT_USER_ERROR(lax::bitcast_convert_type(f, float64), "expected a last dimension of 2");
}

TEST_F(InferErrors, ConstantAndIota) {
  EXPECT_USER_ERROR(
      bind_op1(constant_op, ConstantParams{Literal(float32, {2}), {3}}, {}),
      "[constant] expected a scalar or a value of shape (3,) (C1), got one of shape (2,)");
  EXPECT_USER_ERROR(lax::full({2}, Literal(float32, {2})),
                    "[full] expected a fill value of one element, got shape (2,)");
  EXPECT_USER_ERROR(lax::iota(int32, {2, 3}, 2),
                    "[iota] expected a dimension in [0, 2) (C1), got 2");
  EXPECT_USER_ERROR(lax::iota(int32, {}, 0), "(C1)");
  EXPECT_USER_ERROR(lax::iota(bool_, {2}, 0),
                    "[iota] expected an integer, floating-point or complex dtype (I1), got bool");
}

TEST_F(InferErrors, Broadcast) {
  EXPECT_USER_ERROR(
      lax::broadcast_in_dim(f3, {2, 3}, {}),
      "[broadcast_in_dim] expected one broadcast dimension for each of the operand's 1 (C2)");
  EXPECT_USER_ERROR(lax::broadcast_in_dim(f3, {2, 3}, {2}),
                    "expected broadcast dimensions in [0, 2) (C3), got (2,)");
  EXPECT_USER_ERROR(lax::broadcast_in_dim(zeros(float32, {3, 3}), {2, 3}, {1, 1}),
                    "expected each broadcast dimension once (C4)");
  EXPECT_USER_ERROR(lax::broadcast_in_dim(f3, {2, 4}, {1}),
                    "expected extent 1 or 4 in dimension 0 of the operand (C5), got float32[3]");
  EXPECT_USER_ERROR(lax::broadcast_in_dim(f, {-2}, {}), "expected extents >= 0");
}

TEST_F(InferErrors, ReshapeTransposeReverse) {
  EXPECT_USER_ERROR(
      lax::reshape(f23, {4}),
      "[reshape] expected a shape of 6 elements (C2), got (4,) of 4 for float32[2,3]");
  EXPECT_USER_ERROR(lax::reshape(f23, {-2, -3}), "[reshape] expected extents >= 0");
  EXPECT_USER_ERROR(
      lax::transpose(f23, {1, 1}),
      "[transpose] expected a permutation of (0, 1) (C2), got (1, 1) for float32[2,3]");
  EXPECT_USER_ERROR(lax::transpose(f23, {0}), "(C2)");
  EXPECT_USER_ERROR(lax::rev(f23, {2}), "[reverse] expected dimensions in [0, 2) (C3), got (2,)");
  EXPECT_USER_ERROR(lax::rev(f23, {1, 1}),
                    "[reverse] expected each dimension once (C2), got (1, 1)");
  EXPECT_USER_ERROR(lax::expand_dims(f23, {1, 1}), "[expand_dims] expected each dimension once");
  EXPECT_USER_ERROR(lax::squeeze(f23, {1}),
                    "[squeeze] expected extent 1 in dimension 1, got float32[2,3]");
  EXPECT_USER_ERROR(lax::move_dim(f23, 2, 0), "[move_dim] expected an axis in [-2, 2), got 2");
}

TEST_F(InferErrors, Slices) {
  EXPECT_USER_ERROR(lax::slice(f23, {0}, {2}),
                    "[slice] expected 2 starts, limits and strides (C2)");
  EXPECT_USER_ERROR(lax::slice(f23, {0, 2}, {2, 1}),
                    "[slice] expected 0 <= start <= limit <= 3 in dimension 1 (C3), got 2:1");
  EXPECT_USER_ERROR(lax::slice(f23, {-1, 0}, {2, 3}), "(C3)");
  EXPECT_USER_ERROR(lax::slice(f23, {0, 0}, {3, 3}), "(C3)");
  EXPECT_USER_ERROR(lax::slice(f23, {0, 0}, {2, 3}, {1, 0}),
                    "[slice] expected strides > 0 (C4), got (1, 0)");
  const std::vector<Array> none, one{i}, mixed{i, zeros(int8, {})}, vectors{i3, i3}, floats{f, f},
      two{i, i};
  EXPECT_USER_ERROR(lax::dynamic_slice(f23, one, {1, 1}),
                    "[dynamic_slice] expected 2 start indices (C2), one a dimension, got 1");
  EXPECT_USER_ERROR(lax::dynamic_slice(f23, two, {1}),
                    "[dynamic_slice] expected 2 slice sizes (C2), got (1,)");
  EXPECT_USER_ERROR(
      lax::dynamic_slice(f23, mixed, {1, 1}),
      "[dynamic_slice] expected start indices of one dtype (C3), got int32[] and int8[]");
  EXPECT_USER_ERROR(lax::dynamic_slice(f23, two, {1, 4}),
                    "[dynamic_slice] expected a size in [0, 3] in dimension 1 (C4), got 4");
  EXPECT_USER_ERROR(lax::dynamic_slice(f23, vectors, {1, 1}),
                    "expected integer scalars as start indices, got int32[3]");
  EXPECT_USER_ERROR(lax::dynamic_slice(f23, floats, {1, 1}),
                    "expected integer scalars as start indices, got float32[]");
  EXPECT_USER_ERROR(bind_op(dynamic_slice_op, DynamicSliceParams{}, none),
                    "expected an operand and its start indices");
  EXPECT_USER_ERROR(lax::dynamic_update_slice(f23, i3, two),
                    "[dynamic_update_slice] expected an update of the operand's dtype (C2)");
  EXPECT_USER_ERROR(lax::dynamic_update_slice(f23, f3, two),
                    "[dynamic_update_slice] expected an update of rank 2 (C3)");
  EXPECT_USER_ERROR(lax::dynamic_update_slice(f23, f23, one), "(C4)");
  EXPECT_USER_ERROR(lax::dynamic_update_slice(f23, f23, mixed), "(C5)");
  EXPECT_USER_ERROR(lax::dynamic_update_slice(f23, zeros(float32, {3, 1}), two),
                    "[dynamic_update_slice] expected an update within the operand (C6)");
  EXPECT_USER_ERROR(bind_op(dynamic_update_slice_op, NoParams{}, one),
                    "expected an operand, an update and start indices, got 1 operands");
}

TEST_F(InferErrors, Pad) {
  EXPECT_USER_ERROR(lax::pad(f23, f3, {0, 0}, {0, 0}),
                    "[pad] expected a scalar padding value, got float32[3]");
  EXPECT_USER_ERROR(lax::pad(f23, i, {0, 0}, {0, 0}),
                    "[pad] expected a padding value of the operand's dtype (C1)");
  EXPECT_USER_ERROR(lax::pad(f23, f, {0}, {0, 0}), "[pad] expected 2 amounts of each kind (C2)");
  EXPECT_USER_ERROR(lax::pad(f23, f, {0, 0}, {0, 0}, {0, -1}),
                    "[pad] expected interior amounts >= 0 (C3)");
  EXPECT_USER_ERROR(lax::pad(f23, f, {0, -2}, {0, -2}),
                    "[pad] expected a result of extent >= 0 in dimension 1 (C4), got -1");
}

TEST_F(InferErrors, Concatenate) {
  const std::vector<Array> none, dtypes{f3, i3}, ranks{f3, f23},
      shapes{f23, zeros(float32, {3, 3})}, two{f3, f3};
  EXPECT_USER_ERROR(lax::concatenate(none, 0),
                    "[concatenate] expected at least one operand (C3), got none");
  EXPECT_USER_ERROR(
      lax::concatenate(dtypes, 0),
      "[concatenate] expected operands of one dtype (C1), got float32[3] and int32[3]");
  EXPECT_USER_ERROR(lax::concatenate(ranks, 0),
                    "[concatenate] expected shapes that differ in dimension 0 only (C2)");
  EXPECT_USER_ERROR(lax::concatenate(shapes, 1), "(C2), got float32[2,3] and float32[3,3]");
  EXPECT_USER_ERROR(lax::concatenate(two, 1),
                    "[concatenate] expected a dimension in [0, 1) (C4), got 1 for float32[3]");
}

TEST_F(InferErrors, WeakTypesMeet) {
  const Array weak = host_array(Literal(float32, {3}), true);
  EXPECT_TRUE(lax::add(weak, weak).weak_type());
  EXPECT_FALSE(lax::add(weak, f3).weak_type());
  EXPECT_TRUE(lax::sin(weak).weak_type());
  EXPECT_FALSE(lax::eq(weak, weak).weak_type());
  EXPECT_TRUE(lax::select(b3, weak, weak).weak_type());
  EXPECT_FALSE(lax::convert_element_type(weak, float32).weak_type());
  EXPECT_TRUE(lax::convert_element_type(weak, float64, true).weak_type());
  EXPECT_TRUE(lax::reshape(weak, {3, 1}).weak_type());
  EXPECT_TRUE(lax::full_like(weak, 2).weak_type());
}

}  // namespace
}  // namespace tessera::testing_ops::infer_errors_test
