// Jax.lax: values and derivatives as in JAX.
#include "tessera/numpy/lax.h"

#include "derivatives.h"
#include "tessera/numpy/custom_solve.h"
#include "tessera/numpy/lax_shapes.h"
#include "tessera/ops/core/reduce_precision.h"
#include "tessera/ops/fourier/fft.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/tessera.h"

namespace tessera::derivatives_lax_test {
namespace {

using namespace derivatives_test;

const IndexDims kElements{.offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};

Array solved(const Array& a, const Array& b) {
  const auto product = [&](const Array& v) { return matmul(a, v); };
  return lax::custom_linear_solve(
      product, b,
      [&](const auto&, const Array& v) { return linalg::solve(lax::stop_gradient(a), v); },
      [&](const auto&, const Array& v) {
        return linalg::solve(matrix_transpose(lax::stop_gradient(a)), v);
      });
}
Array cube_root_by_root(const Array& a) {
  return lax::custom_root(
      [&](const Array& v) { return v * v * v - a; }, Array(1.0),
      [](const auto& f, const Array& start) {
        return fori_loop(
            0, 60, [&](const Array&, const Array& v) { return v - f(v) / (3 * v * v); }, start);
      },
      [](const auto& g, const Array& y) { return y / g(Array(1.0)); });
}
Array pooled(const Array& x) {
  return lax::reduce_window_of(ReduceKind::kMax, x, Windows::of_size({2, 2}));
}
Array three_sines(const Array& x) {
  return while_loop(
             [](const std::pair<Array, Array>& c) { return c.first < 3; },
             [](const std::pair<Array, Array>& c) { return std::pair(c.first + 1, sin(c.second)); },
             std::pair(Array(0), x))
      .second;
}
using derivatives_test::results;

const std::vector<Row> kRows = {
    CALL("jax.lax.sin", lax::sin(x[0])),
    CALL("jax.lax.cos", lax::cos(x[0])),
    CALL("jax.lax.tan", lax::tan(x[0])),
    CALL("jax.lax.sinh", lax::sinh(x[0])),
    CALL("jax.lax.cosh", lax::cosh(x[0])),
    CALL("jax.lax.tanh", lax::tanh(x[0])),
    CALL("jax.lax.atan", lax::atan(x[0])),
    CALL("jax.lax.asinh", lax::asinh(x[0])),
    CALL("jax.lax.exp", lax::exp(x[0])),
    CALL("jax.lax.exp2", lax::exp2(x[0])),
    CALL("jax.lax.expm1", lax::expm1(x[0])),
    CALL("jax.lax.square", lax::square(x[0])),
    CALL("jax.lax.neg", lax::neg(x[0])),
    CALL("jax.lax.erf", lax::erf(x[0])),
    CALL("jax.lax.erfc", lax::erfc(x[0])),
    CALL("jax.lax.logistic", lax::logistic(x[0])),
    CALL("jax.lax.sign", lax::sign(x[0])),
    CALL("jax.lax.floor", lax::floor(x[0])),
    CALL("jax.lax.ceil", lax::ceil(x[0])),
    CALL("jax.lax.round", lax::round(x[0])),
    CALL("jax.lax.abs", lax::abs(x[0])),
    CALL("jax.lax.one_minus_square", lax::one_minus_square(x[0])),
    CALL("jax.lax.reciprocal", lax::reciprocal(x[0])),
    CALL("jax.lax.stop_gradient", lax::stop_gradient(x[0])),
    CALL("jax.lax.optimization_barrier", lax::optimization_barrier(x[0])),
    CALL("jax.lax.cbrt", lax::cbrt(x[0])),
    CALL("jax.lax.log", lax::log(x[0])),
    CALL("jax.lax.log1p", lax::log1p(x[0])),
    CALL("jax.lax.sqrt", lax::sqrt(x[0])),
    CALL("jax.lax.rsqrt", lax::rsqrt(x[0])),
    CALL("jax.lax.digamma", lax::digamma(x[0])),
    CALL("jax.lax.lgamma", lax::lgamma(x[0])),
    CALL("jax.lax.log2", log2(x[0])),
    CALL("jax.lax.asin", lax::asin(x[0])),
    CALL("jax.lax.acos", lax::acos(x[0])),
    CALL("jax.lax.atanh", lax::atanh(x[0])),
    CALL("jax.lax.erf_inv", lax::erf_inv(x[0])),
    CALL("jax.lax.acosh", lax::acosh(x[0])),
    CALL("jax.lax.real", lax::real(x[0])),
    CALL("jax.lax.imag", lax::imag(x[0])),
    CALL("jax.lax.conj", lax::conj(x[0])),
    CALL("jax.lax.is_finite", lax::is_finite(x[0])),
    CALL("jax.lax.add", lax::add(x[0], x[1])),
    CALL("jax.lax.sub", lax::sub(x[0], x[1])),
    CALL("jax.lax.mul", lax::mul(x[0], x[1])),
    CALL("jax.lax.div", lax::div(x[0], x[1])),
    CALL("jax.lax.max", lax::max(x[0], x[1])),
    CALL("jax.lax.min", lax::min(x[0], x[1])),
    CALL("jax.lax.atan2", lax::atan2(x[0], x[1])),
    CALL("jax.lax.rem", lax::rem(x[0], x[1])),
    CALL("jax.lax.pow", lax::pow(x[0], x[1])),
    CALL("jax.lax.nextafter", lax::nextafter(x[0], x[1])),
    CALL("jax.lax.eq", lax::eq(x[0], x[1])),
    CALL("jax.lax.ne", lax::ne(x[0], x[1])),
    CALL("jax.lax.ge", lax::ge(x[0], x[1])),
    CALL("jax.lax.gt", lax::gt(x[0], x[1])),
    CALL("jax.lax.le", lax::le(x[0], x[1])),
    CALL("jax.lax.lt", lax::lt(x[0], x[1])),
    CALL("jax.lax.complex", lax::complex(x[0], x[1])),
    CALL("jax.lax.bitwise_and", lax::bitwise_and(x[0], x[1])),
    CALL("jax.lax.bitwise_or", lax::bitwise_or(x[0], x[1])),
    CALL("jax.lax.bitwise_xor", lax::bitwise_xor(x[0], x[1])),
    CALL("jax.lax.shift_left", lax::shift_left(x[0], x[1])),
    CALL("jax.lax.shift_right_arithmetic", lax::shift_right_arithmetic(x[0], x[1])),
    CALL("jax.lax.shift_right_logical", lax::shift_right_logical(x[0], x[1])),
    CALL("jax.lax.mulhi", lax::mulhi(x[0], x[1])),
    CALL("jax.lax.bitwise_not", lax::bitwise_not(x[0])),
    CALL("jax.lax.population_count", lax::population_count(x[0])),
    CALL("jax.lax.clz", lax::clz(x[0])),
    CALL("jax.lax.integer_pow", lax::integer_pow(x[0], 3)),
    CALL("jax.lax.integer_pow/negative", lax::integer_pow(x[0], -2)),
    CALL("jax.lax.clamp", lax::clamp(x[0], x[1], x[2])),
    CALL("jax.lax.polynomial", lax::polynomial(x[0], {2.0, -1.0, 0.5})),
    CALL("jax.lax.select", lax::select(x[0], x[1], x[2])),
    CALL("jax.lax.select_n", lax::select_n(x[0], {x[1], x[2]})),
    CALL("jax.lax.approx_max_k", lax::approx_max_k(x[0], 2)),
    CALL("jax.lax.approx_min_k", lax::approx_min_k(x[0], 2)),
    CALL("jax.lax.argmax", lax::argmax(x[0], 1)),
    CALL("jax.lax.argmin", lax::argmin(x[0], 1)),
    CALL("jax.lax.associative_scan",
         associative_scan([](const Array& u, const Array& v) { return u * v; }, x[0])),
    CALL("jax.lax.batch_matmul", lax::batch_matmul(x[0], x[1])),
    CALL("jax.lax.bitcast_convert_type", lax::bitcast_convert_type(x[0], int64)),
    CALL("jax.lax.broadcast", lax::broadcast(x[0], {2})),
    CALL("jax.lax.broadcast_in_dim", lax::broadcast_in_dim(x[0], {6, 2}, {0})),
    CALL("jax.lax.broadcast_like", lax::broadcast_like(x[0], x[1])),
    CALL("jax.lax.broadcast_to_rank", lax::broadcast_to_rank(x[0], 3)),
    CALL("jax.lax.broadcasted_iota", lax::broadcasted_iota(int32, {2, 3}, 1)),
    CALL("jax.lax.iota", lax::iota(int32, {4})),
    CALL("jax.lax.full_like", lax::full_like(x[0], 1.5)),
    CALL("jax.lax.full", lax::full({2}, 1.5, float64)),
    CALL("jax.lax.shape_as_value", lax::shape_as_value({3, 0, 5})),
    CALL("jax.lax.collapse", lax::collapse(x[0], 1)),
    CALL("jax.lax.concatenate", lax::concatenate(Arrays{x[0], x[1]}, 0)),
    CALL("jax.lax.cond", cond(
                             x[0] > 0, [](const Array& v) { return sin(v); },
                             [](const Array& v) { return exp(v); }, x[0])),
    CALL("jax.lax.conv", lax::conv(x[0], x[1], {1}, "SAME")),
    CALL("jax.lax.conv_general_dilated",
         lax::conv_general_dilated(x[0], x[1], {2}, "SAME", {.rhs_dilation = {2}})),
    CALL("jax.lax.conv_general_dilated/groups",
         lax::conv_general_dilated(x[0], x[1], {1}, lax::Padding{{1, 0}},
                                   {.lhs_dilation = {2}, .feature_group_count = 3})),
    CALL("jax.lax.conv_general_dilated_local",
         lax::conv_general_dilated_local(x[0], x[1], {1}, lax::Padding{{0, 0}}, {2})),
    CALL("jax.lax.conv_general_dilated_patches",
         lax::conv_general_dilated_patches(x[0], {2}, {1}, "SAME")),
    CALL("jax.lax.conv_transpose", lax::conv_transpose(x[0], x[1], {2}, "SAME")),
    CALL("jax.lax.conv_with_general_padding",
         lax::conv_with_general_padding(x[0], x[1], {1}, lax::Padding{{1, 2}})),
    CALL("jax.lax.convert_element_type", lax::convert_element_type(x[0], float32)),
    CALL("jax.lax.cumlogsumexp", lax::cumlogsumexp(x[0])),
    CALL("jax.lax.cummax", lax::cummax(x[0])),
    CALL("jax.lax.cummin", lax::cummin(x[0])),
    CALL("jax.lax.cumprod", lax::cumprod(x[0])),
    CALL("jax.lax.cumsum", lax::cumsum(x[0])),
    CALL("jax.lax.custom_linear_solve", solved(x[0], x[1])),
    CALL("jax.lax.custom_root", cube_root_by_root(x[0])),
    CALL("jax.lax.dot", lax::dot(x[0], x[1])),
    CALL("jax.lax.dot_general",
         lax::dot_general(
             x[0], x[1],
             {.lhs_contract = {2}, .rhs_contract = {1}, .lhs_batch = {0}, .rhs_batch = {0}})),
    CALL("jax.lax.dynamic_index_in_dim", dynamic_index_in_dim(x[0], x[1], 1)),
    CALL("jax.lax.dynamic_slice", lax::dynamic_slice(x[0], Arrays{x[1], zeros_like(x[1])}, {2, 2})),
    CALL("jax.lax.dynamic_slice_in_dim", lax::dynamic_slice_in_dim(x[0], x[1], 2, 1)),
    CALL("jax.lax.dynamic_update_index_in_dim", dynamic_update_index_in_dim(x[0], x[1], x[2], 0)),
    CALL("jax.lax.dynamic_update_slice",
         lax::dynamic_update_slice(x[0], x[1], Arrays{x[2], zeros_like(x[2])})),
    CALL("jax.lax.dynamic_update_slice_in_dim",
         lax::dynamic_update_slice_in_dim(x[0], x[1], x[2], 0)),
    CALL("jax.lax.empty", empty({0, 2})),
    CALL("jax.lax.expand_dims", lax::expand_dims(x[0], {1})),
    CALL("jax.lax.fft", lax::fft(x[0], lax::FftType::kFft, {4})),
    CALL("jax.lax.fori_loop",
         fori_loop(
             0, 3, [](const Array& i, const Array& v) { return sin(v) + i; }, x[0])),
    CALL("jax.lax.gather",
         lax::gather(x[0], x[1],
                     {.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}},
                     {1, 4})),
    CALL("jax.lax.index_in_dim", index_in_dim(x[0], 1, 1)),
    CALL("jax.lax.index_take", lax::index_take(x[0], {x[1]}, {0})),
    CALL("jax.lax.map", map([](const Array& v) { return sin(v); }, x[0])),
    CALL("jax.lax.pad", lax::pad(x[0], x[1], {1}, {-1}, {2})),
    CALL("jax.lax.ragged_dot", lax::ragged_dot(x[0], x[1], x[2])),
    CALL("jax.lax.reduce",
         lax::reduce(Arrays{x[0]}, Arrays{Array(0.0)},
                     [](std::span<const Array> v) { return Arrays{v[0] + v[1]}; }, {1})),
    CALL("jax.lax.reduce_and", lax::reduce_and(x[0], {1})),
    CALL("jax.lax.reduce_or", lax::reduce_or(x[0], {1})),
    CALL("jax.lax.reduce_xor", lax::reduce_xor(x[0], {0})),
    CALL("jax.lax.reduce_max", lax::reduce_max(x[0], {1})),
    CALL("jax.lax.reduce_min", lax::reduce_min(x[0], {1})),
    CALL("jax.lax.reduce_prod", lax::reduce_prod(x[0], {1})),
    CALL("jax.lax.reduce_sum", lax::reduce_sum(x[0], {1})),
    CALL("jax.lax.reduce_precision", lax::reduce_precision(x[0], 8, 10)),
    CALL("jax.lax.reduce_window", pooled(x[0])),
    CALL("jax.lax.reshape", lax::reshape(x[0], {4, 3})),
    CALL("jax.lax.rev", lax::rev(x[0], {1})),
    CALL("jax.lax.rng_bit_generator", lax::rng_bit_generator(x[0], {3})),
    CALL("jax.lax.scan",
         scan([](const Array& c, const Array& v) { return std::pair(sin(c) * v, c + v); }, x[0],
              x[1])),
    CALL("jax.lax.scatter", lax::scatter(x[0], x[1], x[2], kElements, ScatterKind::kSet)),
    CALL("jax.lax.scatter_add", lax::scatter_add(x[0], x[1], x[2], kElements)),
    CALL("jax.lax.scatter_sub", lax::scatter_sub(x[0], x[1], x[2], kElements)),
    CALL("jax.lax.scatter_mul",
         lax::scatter_mul(x[0], x[1], x[2], kElements, {.unique_indices = true})),
    CALL("jax.lax.scatter_min", lax::scatter_min(x[0], x[1], x[2], kElements)),
    CALL("jax.lax.scatter_max", lax::scatter_max(x[0], x[1], x[2], kElements)),
    CALL("jax.lax.scatter_apply",
         lax::scatter_apply(x[0], x[1], [](const Array& v) { return lax::sin(v); }, kElements,
                            {.update_shape = {2}})),
    CALL("jax.lax.slice", lax::slice(x[0], {1}, {6}, {2})),
    CALL("jax.lax.slice_in_dim", lax::slice_in_dim(x[0], 1, 6, 2)),
    CALL("jax.lax.sort", lax::sort(Arrays{x[0]})[0]),
    CALL("jax.lax.sort_key_val", lax::sort_key_val(x[0], x[1])),
    CALL("jax.lax.split", split(x[0], Dims{2})),
    CALL("jax.lax.squeeze", lax::squeeze(x[0], {0})),
    CALL("jax.lax.stack", stack({x[0], x[1]})),
    CALL("jax.lax.switch", switch_(Array(1),
                                   std::tuple([](const Array& v) { return sin(v); },
                                              [](const Array& v) { return exp(v); }),
                                   x[0])),
    CALL("jax.lax.tile", tile(x[0], {2, 1})),
    CALL("jax.lax.top_k", lax::top_k(x[0], 2)),
    CALL("jax.lax.transpose", lax::transpose(x[0], {1, 0})),
    CALL("jax.lax.unstack", unstack(x[0])),
    CALL("jax.lax.while_loop", three_sines(x[0])),
};

TEST(Derivatives, Lax) { check_section("lax", kRows); }

}  // namespace
}  // namespace tessera::derivatives_lax_test

const std::vector<tessera::derivatives_test::Row>& tessera::derivatives_test::lax_rows() {
  return derivatives_lax_test::kRows;
}
