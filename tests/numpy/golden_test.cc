// Compares every function of the numpy layer with jax.numpy. golden/make_numpy.py makes the calls
// under the same names.
#include "../golden/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "run.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/pad.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/convert.h"

namespace tessera::golden_test {

using namespace ops;

namespace {

using tessera::test::Arrays;
using tessera::test::ArraysFn;

Arrays pair(const std::pair<Array, Array>& p) { return {p.first, p.second}; }

#define CALL(...)                 \
  [](const Arrays& a) -> Arrays { \
    (void)a;                      \
    return {__VA_ARGS__};         \
  }
#define CALL_MANY(...) [](const Arrays& a) -> Arrays { return __VA_ARGS__; }

const std::map<std::string, ArraysFn>& calls() {
  static const std::map<std::string, ArraysFn> table = {
      // math
      {"floor_divide_int", CALL(floor_divide(a[0], a[1]))},
      {"floor_divide_float", CALL(floor_divide(a[0], a[1]))},
      {"floor_divide_uint8", CALL(floor_divide(a[0], Array(Literal::scalar(uint8_t{7}))))},
      {"remainder_int", CALL(remainder(a[0], a[1]))},
      {"remainder_float", CALL(a[0] % a[1])},
      {"fmod_int", CALL(fmod(a[0], a[1]))},
      {"fmod_float", CALL(fmod(a[0], a[1]))},
      {"divmod_int", CALL_MANY(pair(divmod(a[0], a[1])))},
      {"divmod_float", CALL_MANY(pair(divmod(a[0], a[1])))},
      {"divide_int", CALL(a[0] / a[1])},
      {"power_int", CALL(power(a[0], 3))},
      {"power_int_array", CALL(power(a[0], a[1]))},
      {"power_float", CALL(power(a[0], 2.5))},
      {"power_negative", CALL(power(a[0], -2))},
      {"float_power", CALL(float_power(a[0], a[1]))},
      {"fmax", CALL(fmax(a[0], a[1]))},
      {"fmin", CALL(fmin(a[0], a[1]))},
      {"maximum_nan", CALL(maximum(a[0], a[1]))},
      {"minimum_nan", CALL(minimum(a[0], a[1]))},
      {"copysign", CALL(copysign(a[0], a[1]))},
      {"nextafter", CALL(nextafter(a[0], a[1]))},
      {"heaviside", CALL(heaviside(a[0], a[1]))},
      {"round", CALL(round(a[0]))},
      {"round_2", CALL(round(a[0], 2))},
      {"round_minus_1", CALL(round(a[0], -1))},
      {"rint", CALL(rint(a[0]))},
      {"rint_int", CALL(rint(a[0]))},
      {"trunc", CALL(trunc(a[0]))},
      {"floor", CALL(floor(a[0]))},
      {"ceil", CALL(ceil(a[0]))},
      {"clip", CALL(clip(a[0], -1, 1.5))},
      {"clip_min", CALL(clip(a[0], -1))},
      {"clip_max", CALL(clip(a[0], std::nullopt, 2))},
      {"log2", CALL(log2(a[0]))},
      {"log10", CALL(log10(a[0]))},
      {"log2_complex", CALL(log2(a[0]))},
      {"log10_complex", CALL(log10(a[0]))},
      {"exp2", CALL(exp2(a[0]))},
      {"sinc", CALL(sinc(a[0]))},
      {"deg2rad", CALL(deg2rad(a[0]))},
      {"rad2deg", CALL(rad2deg(a[0]))},
      {"arctan2", CALL(arctan2(a[0], a[1]))},
      {"hypot", CALL(hypot(a[0], a[1]))},
      {"logaddexp", CALL(logaddexp(a[0], a[1]))},
      {"logaddexp2", CALL(logaddexp2(a[0], a[1]))},
      {"logaddexp_inf", CALL(logaddexp(a[0], a[1]))},
      {"real", CALL(real(a[0]))},
      {"imag", CALL(imag(a[0]))},
      {"imag_real", CALL(imag(a[0]))},
      {"conj", CALL(conj(a[0]))},
      {"angle", CALL(angle(a[0]))},
      {"angle_deg", CALL(angle(a[0], true))},
      {"angle_real", CALL(angle(a[0]))},
      {"abs_complex", CALL(abs(a[0]))},
      {"sign_complex", CALL(sign(a[0]))},
      {"nan_to_num", CALL(nan_to_num(a[0]))},
      {"nan_to_num_values", CALL(nan_to_num(a[0], {.nan = 1.0, .posinf = 2.0, .neginf = -3.0}))},
      {"square_int", CALL(square(a[0]))},
      {"reciprocal", CALL(reciprocal(a[0]))},
      {"negative_uint8", CALL(-a[0])},
      {"sin_int", CALL(sin(a[0]))},
      {"add_bool", CALL(a[0] + a[1])},
      // logic
      {"less_complex", CALL(a[0] < a[1])},
      {"greater_equal_nan", CALL(a[0] >= a[1])},
      {"equal_broadcast", CALL(expand_dims(a[0], 1) == a[1])},
      {"isclose", CALL(isclose(a[0], a[1]))},
      {"isclose_nan", CALL(isclose(a[0], a[1], {.rtol = 0.1, .equal_nan = true}))},
      {"allclose", CALL(allclose(a[0], a[1]))},
      {"array_equal", CALL(array_equal(a[0], a[1]))},
      {"array_equal_nan", CALL(array_equal(a[0], a[1], true))},
      {"logical_and", CALL(logical_and(a[0], a[1]))},
      {"logical_or", CALL(logical_or(a[0], a[1]))},
      {"logical_xor", CALL(logical_xor(a[0], a[1]))},
      {"logical_not", CALL(logical_not(a[0]))},
      {"bitwise_and", CALL(a[0] & a[1])},
      {"bitwise_or", CALL(a[0] | a[1])},
      {"bitwise_xor", CALL(a[0] ^ a[1])},
      {"bitwise_not", CALL(~a[0])},
      {"left_shift", CALL(a[0] << 3)},
      {"right_shift", CALL(a[0] >> 1)},
      {"right_shift_uint8", CALL(a[0] >> 1)},
      {"bitwise_count", CALL(bitwise_count(a[0]))},
      {"isinf", CALL(isinf(a[0]))},
      {"isfinite", CALL(isfinite(a[0]))},
      {"isposinf", CALL(isposinf(a[0]))},
      {"isneginf", CALL(isneginf(a[0]))},
      {"signbit", CALL(signbit(a[0]))},
      {"where", CALL(where(a[0], a[1], -1))},
      {"where_broadcast", CALL(where(a[0] > 0, a[0], expand_dims(a[1], 1)))},
      {"select", CALL(select({a[0] < -1, a[0] < 1}, {a[0], a[0] * 10}, -5))},
      // reductions
      {"sum", CALL(sum(a[0]))},
      {"sum_axis", CALL(sum(a[0], {.axis = 1}))},
      {"sum_axes", CALL(sum(a[0], {.axis = {0, -1}, .keepdims = true}))},
      {"sum_where", CALL(sum(a[0], {.axis = 0, .where = a[1], .initial = 2}))},
      {"sum_uint8", CALL(sum(a[0]))},
      {"sum_bool", CALL(sum(a[0], {.axis = 1}))},
      {"sum_int8_dtype", CALL(sum(a[0], {.dtype = int8}))},
      {"prod", CALL(prod(a[0], {.axis = 1}))},
      {"max", CALL(max(a[0], {.axis = 1}))},
      {"max_nan", CALL(max(a[0], {.axis = 1}))},
      {"max_where", CALL(max(a[0], {.axis = 1, .where = a[1], .initial = -9}))},
      {"max_int", CALL(max(a[0], {.axis = 0, .keepdims = true}))},
      {"max_bool", CALL(max(a[0], {.axis = 0}))},
      {"min", CALL(min(a[0], {.axis = {0, 1}}))},
      {"ptp", CALL(ptp(a[0], {.axis = 1}))},
      {"any", CALL(any(a[0], {.axis = 1}))},
      {"all", CALL(all(a[0], {.axis = 1, .keepdims = true}))},
      {"count_nonzero", CALL(count_nonzero(a[0], {.axis = 1}))},
      {"mean", CALL(mean(a[0], {.axis = -1}))},
      {"mean_int", CALL(mean(a[0]))},
      {"mean_where", CALL(mean(a[0], {.axis = 1, .where = a[1]}))},
      {"var", CALL(var(a[0], {.axis = 0}))},
      {"var_ddof", CALL(var(a[0], {.axis = 1, .keepdims = true, .ddof = 1}))},
      {"var_complex", CALL(var(a[0]))},
      {"var_empty", CALL(var(a[0], {.ddof = 1}))},
      {"std", CALL(std(a[0]))},
      {"argmax", CALL(argmax(a[0]))},
      {"argmax_axis", CALL(argmax(a[0], {.axis = 0}))},
      {"argmax_nan", CALL(argmax(a[0], {.axis = 1, .keepdims = true}))},
      {"argmin_ties", CALL(argmin(a[0]))},
      {"nansum", CALL(nansum(a[0], {.axis = 1}))},
      {"nanprod", CALL(nanprod(a[0], {.axis = 1}))},
      {"nanmean", CALL(nanmean(a[0], {.axis = 0}))},
      {"nanvar", CALL(nanvar(a[0], {.axis = 0}))},
      {"nanstd", CALL(nanstd(a[0], {.axis = 0}))},
      {"nanmax", CALL(nanmax(a[0], {.axis = 1}))},
      {"nanmin", CALL(nanmin(a[0], {.axis = 0}))},
      {"average", CALL(average(a[0]))},
      {"average_weights", CALL(average(a[0], {.axis = 1, .weights = a[1]}))},
      {"average_order", CALL(average(a[0], {.axis = {2, 0}, .weights = a[1]}))},
      {"logsumexp", CALL(logsumexp(a[0], {.axis = 1}))},
      {"logsumexp_inf", CALL(logsumexp(a[0], {.axis = 1, .keepdims = true}))},
      // creation
      {"arange", CALL(arange(7))},
      {"arange_start", CALL(arange(-3, 9, 2))},
      {"arange_down", CALL(arange(9, -3, -4))},
      {"arange_float", CALL(arange(5.0))},
      {"arange_step", CALL(arange(0.5, 3, 0.1))},
      {"arange_empty", CALL(arange(5, 2))},
      {"linspace", CALL(linspace(0, 1, 7))},
      {"linspace_open", CALL(linspace(-2, 5, 6, {.endpoint = false}))},
      {"linspace_int", CALL(linspace(0, 10, 4, {.dtype = int32}))},
      {"linspace_arrays", CALL(linspace(a[0], a[1], 3, {.axis = -1}))},
      {"linspace_1", CALL(linspace(3, 4, 1))},
      {"logspace", CALL(logspace(0, 3, 4))},
      {"eye", CALL(eye(3, 5, 1))},
      {"tri", CALL(tri(3, 4, -1))},
      {"meshgrid", CALL_MANY(meshgrid({a[0], a[1]}))},
      {"meshgrid_sparse", CALL_MANY(meshgrid({a[0], a[1]}, {.xy = false, .sparse = true}))},
      {"full", CALL(full({2, 3}, 7))},
      // manipulation
      {"reshape", CALL(reshape(a[0], {4, -1}))},
      {"transpose", CALL(transpose(a[0]))},
      {"transpose_axes", CALL(transpose(a[0], {1, 2, 0}))},
      {"swapaxes", CALL(swapaxes(a[0], 0, -1))},
      {"moveaxis", CALL(moveaxis(a[0], {0, 1}, {-1, 0}))},
      {"expand_dims", CALL(expand_dims(a[0], {0, -1}))},
      {"squeeze", CALL(squeeze(reshape(a[0], {1, 4, 1}), 0))},
      {"concatenate", CALL(concatenate({a[0], a[1]}, 1))},
      {"concatenate_none", CALL(concatenate({a[0], a[1]}, None))},
      {"stack", CALL(stack({a[0], a[1]}, 1))},
      {"vstack", CALL(vstack({a[0], a[1]}))},
      {"hstack", CALL(hstack({a[0], a[1]}))},
      {"dstack", CALL(dstack({a[0], a[1]}))},
      {"column_stack", CALL(column_stack({a[0], a[1]}))},
      {"split", CALL_MANY(split(a[0], 2, 1))},
      {"split_at", CALL_MANY(split(a[0], {1, 3}, 2))},
      {"array_split", CALL_MANY(array_split(a[0], 3))},
      {"unstack", CALL_MANY(unstack(a[0], 1))},
      {"tile", CALL(tile(a[0], {2, 1, 3}))},
      {"repeat", CALL(repeat(a[0], 3, 1))},
      {"repeat_flat", CALL(repeat(a[0], 2))},
      {"flip", CALL(flip(a[0]))},
      {"flip_axis", CALL(flip(a[0], 1))},
      {"roll", CALL(roll(a[0], 3))},
      {"roll_axes", CALL(roll(a[0], {1, -2}, {0, 1}))},
      {"rot90", CALL(rot90(a[0]))},
      {"rot90_3", CALL(rot90(a[0], 3, {1, 2}))},
      {"pad", CALL(pad(a[0], {{1, 2}, {0, 3}}, {.value = 9}))},
      {"pad_edge", CALL(pad(a[0], 2, {.mode = PadMode::kEdge}))},
      {"pad_reflect", CALL(pad(a[0], {{3, 4}, {1, 2}}, {.mode = PadMode::kReflect}))},
      {"pad_symmetric", CALL(pad(a[0], {{5, 4}, {1, 2}}, {.mode = PadMode::kSymmetric}))},
      {"pad_wrap", CALL(pad(a[0], {{4, 2}, {1, 5}}, {.mode = PadMode::kWrap}))},
      {"broadcast_to", CALL(broadcast_to(a[0], {2, 3, 4}))},
      // linear
      {"matmul", CALL(matmul(a[0], a[1]))},
      {"matmul_vector", CALL(matmul(a[0], a[1]))},
      {"vector_matmul", CALL(matmul(a[0], a[1]))},
      {"vector_vector", CALL(matmul(a[0], a[1]))},
      {"matmul_batch", CALL(matmul(a[0], a[1]))},
      {"matmul_batch_left", CALL(matmul(a[0], a[1]))},
      {"matmul_batch_right", CALL(matmul(a[0], a[1]))},
      {"matmul_vector_batch", CALL(matmul(a[0], a[1]))},
      {"matmul_batch_vector", CALL(matmul(a[0], a[1]))},
      {"matmul_broadcast", CALL(matmul(a[0], a[1]))},
      {"matmul_int", CALL(matmul(a[0], a[1]))},
      {"matmul_mixed", CALL(matmul(a[0], a[1]))},
      {"dot", CALL(dot(a[0], a[1]))},
      {"dot_high", CALL(dot(a[0], a[1]))},
      {"dot_scalar", CALL(dot(a[0], 3))},
      {"vdot", CALL(vdot(a[0], a[1]))},
      {"vecdot", CALL(vecdot(a[0], a[1]))},
      {"inner", CALL(inner(a[0], a[1]))},
      {"outer", CALL(outer(a[0], a[1]))},
      {"tensordot", CALL(tensordot(a[0], a[1]))},
      {"tensordot_axes", CALL(tensordot(a[0], a[1], {{1, 2}, {1, 0}}))},
      {"kron", CALL(kron(a[0], a[1]))},
      {"kron_ranks", CALL(kron(a[0], a[1]))},
      {"trace", CALL(trace(a[0], {.offset = 1}))},
      {"trace_axes", CALL(trace(a[0], {.axis1 = 0, .axis2 = 2}))},
      {"diagonal", CALL(diagonal(a[0], {.offset = -1}))},
      {"diagonal_axes", CALL(diagonal(a[0], {.offset = 1, .axis1 = 2, .axis2 = 0}))},
      {"diag", CALL(diag(a[0]))},
      {"diag_vector", CALL(diag(a[0], -2))},
      {"diag_vector_up", CALL(diag(a[0], 1))},
      {"tril", CALL(tril(a[0], 1))},
      {"triu", CALL(triu(a[0], -1))},
      {"einsum_matmul", CALL(einsum("ij,kj->ik", {a[0], a[1]}))},
      {"einsum_implicit", CALL(einsum("ij,jk", {a[0], a[1]}))},
      {"einsum_batch", CALL(einsum("bij,bkj->bik", {a[0], a[1]}))},
      {"einsum_transposed", CALL(einsum("bij, bkj -> ikb", {a[0], a[1]}))},
      {"einsum_sum", CALL(einsum("ijk->j", {a[0]}))},
      {"einsum_trace", CALL(einsum("ii", {a[0]}))},
      {"einsum_diagonal", CALL(einsum("iij->ji", {a[0]}))},
      {"einsum_outer", CALL(einsum("i,j->ji", {a[0], a[1]}))},
      {"einsum_ellipsis", CALL(einsum("...ij,...jk->...ik", {a[0], a[1]}))},
      {"einsum_ellipsis_broadcast", CALL(einsum("...i,...i", {a[0], a[1]}))},
      {"einsum_three", CALL(einsum("ij,jk,kl->il", {a[0], a[1], a[2]}))},
      {"einsum_private", CALL(einsum("ij,k->i", {a[0], a[1]}))},
      {"einsum_attention", CALL(einsum("bqd,bkd,bke->bqe", {a[0], a[1], a[2]}))},
      {"einsum_elementwise", CALL(einsum("ij,ij->ij", {a[0], a[1]}))},
      // index
      {"dynamic_slice", CALL(dynamic_slice(a[0], {a[1], 1}, {2, 2}))},
      {"dynamic_slice_in_dim", CALL(dynamic_slice_in_dim(a[0], a[1], 2, 1))},
      {"dynamic_slice_far", CALL(dynamic_slice_in_dim(a[0], a[1], 2, 1))},
      {"dynamic_index", CALL(dynamic_index_in_dim(a[0], a[1], 0, false))},
      {"dynamic_index_keep", CALL(dynamic_index_in_dim(a[0], a[1], 1))},
      {"dynamic_update", CALL(dynamic_update_slice(a[0], a[1], {a[2], -2}))},
      {"dynamic_update_index", CALL(dynamic_update_index_in_dim(a[0], a[1], a[2], 0))},
      {"slice_in_dim", CALL(slice_in_dim(a[0], 1, -1, 2, 2))},
      // nn
      {"relu", CALL(relu(a[0]))},
      {"relu6", CALL(relu6(a[0]))},
      {"leaky_relu", CALL(leaky_relu(a[0]))},
      {"elu", CALL(elu(a[0], 0.5))},
      {"celu", CALL(celu(a[0], 2.0))},
      {"selu", CALL(selu(a[0]))},
      {"gelu", CALL(gelu(a[0]))},
      {"gelu_exact", CALL(gelu(a[0], false))},
      {"sigmoid", CALL(sigmoid(a[0]))},
      {"silu", CALL(silu(a[0]))},
      {"softplus", CALL(softplus(a[0]))},
      {"soft_sign", CALL(soft_sign(a[0]))},
      {"log_sigmoid", CALL(log_sigmoid(a[0]))},
      {"mish", CALL(mish(a[0]))},
      {"hard_tanh", CALL(hard_tanh(a[0]))},
      {"hard_sigmoid", CALL(hard_sigmoid(a[0]))},
      {"hard_silu", CALL(hard_silu(a[0]))},
      {"glu", CALL(glu(a[0]))},
      {"glu_axis", CALL(glu(a[0], 0))},
      {"softmax", CALL(softmax(a[0]))},
      {"softmax_axes", CALL(softmax(a[0], {0, 2}))},
      {"log_softmax", CALL(log_softmax(a[0], 0))},
      {"standardize", CALL(standardize(a[0]))},
      {"one_hot", CALL(one_hot(a[0], 5))},
      {"one_hot_axis", CALL(one_hot(a[0], 3, {.dtype = int32, .axis = 0}))},
  };
  return table;
}

// Returns the largest finite magnitude in x, at least 1: rounding errors of sums are relative to
// it.
double largest(const Literal& x) {
  double out = 1;
  for (float v : to_vector<float>(
           Array(is_complex(x.dtype()) ? convert_literal(x, real_dtype(x.dtype())) : x)))
    if (std::isfinite(v)) out = std::max(out, std::abs(static_cast<double>(v)));
  return out;
}

class GoldenTest : public ::testing::TestWithParam<bool> {};

TEST_P(GoldenTest, NumpyFunctions) {
  const golden::Topic topic("numpy");
  size_t tested = 0;
  for (const golden::Json& c : topic["cases"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    const auto call = calls().find(name);
    ASSERT_NE(call, calls().end());
    ++tested;
    const std::vector<Literal> inputs = topic.arrays(c["inputs"]),
                               expected = topic.arrays(c["outputs"]);
    std::vector<Literal> got;
    try {
      got = GetParam() ? test::run_eagerly(call->second, inputs)
                       : test::run_traced(call->second, inputs);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
      continue;
    }
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i)
      test::expect_close(got[i], expected[i], 2e-6, 2e-6 * largest(expected[i]));
  }
  EXPECT_EQ(tested, calls().size());
}

INSTANTIATE_TEST_SUITE_P(Numpy, GoldenTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Eager" : "Traced"; });

}  // namespace
}  // namespace tessera::golden_test
