// Compares functions, with their options, with JAX. golden/make_reference.py calls them under the
// same names.
#include <set>

#include "reference.h"

namespace tessera::reference_options_test {

using namespace ops;

namespace {

using namespace tessera::test;

const Calls& calls() {
  static const Calls table = {
      CALL("sum_dtype", sum(a[0], {.axis = 0, .dtype = float16})),
      CALL("sum_initial", sum(a[0], {.keepdims = true, .initial = 3})),
      CALL("sum_where", sum(a[0], {.axis = {0, 1}, .keepdims = true, .where = a[1]})),
      CALL("prod_all", prod(a[0], {.axis = 1, .keepdims = true, .where = a[1], .initial = 2})),
      CALL("mean_dtype", mean(a[0], {.axis = 0, .dtype = float16})),
      CALL("mean_where", mean(a[0], {.axis = -1, .keepdims = true, .where = a[1]})),
      CALL("var_where", var(a[0], {.axis = 0, .ddof = 1, .where = a[1]})),
      CALL("std_keepdims", std(a[0], {.axis = {0, 2}, .keepdims = true, .ddof = 2})),
      CALL("max_where", max(a[0], {.axis = 0, .where = a[1], .initial = -1})),
      CALL("min_initial", min(a[0], {.axis = 0, .keepdims = true, .initial = -3})),
      CALL("any_where", any(a[0], {.axis = 0, .where = a[1]})),
      CALL("all_where", all(a[0], {.axis = 1, .keepdims = true, .where = a[1]})),
      CALL("argmin_keepdims", argmin(a[0], {.keepdims = true})),
      CALL("count_nonzero_axes", count_nonzero(a[0], {.axis = {0, 2}, .keepdims = true})),
      CALL("ptp_keepdims", ptp(a[0], {.keepdims = true})),
      CALL("nansum_options", nansum(a[0], {.axis = 0, .keepdims = true, .initial = 2})),
      CALL("nanmean_options", nanmean(a[0], {.axis = 1, .keepdims = true})),
      CALL("logsumexp_b", logsumexp(a[0], {.axis = 0, .b = a[1]})),
      CALL("logsumexp_where", logsumexp(a[0], {.axis = 1, .keepdims = true, .where = a[1]})),
      CALL("logsumexp_negative", logsumexp(a[0], {.axis = 1, .b = a[1]})),
      CALL("median_axes", median(a[0], {.axis = {0, 2}, .keepdims = true})),
#define QUANTILE(name, m)                                                                      \
  CALL("quantile_" name, quantile(a[0], a[1], {.axis = {0, 1}, .method = QuantileMethod::m})), \
      CALL("percentile_" name,                                                                 \
           percentile(a[0], 40, {.axis = -1, .keepdims = true, .method = QuantileMethod::m}))
      QUANTILE("linear", kLinear),
      QUANTILE("lower", kLower),
      QUANTILE("higher", kHigher),
      QUANTILE("midpoint", kMidpoint),
      QUANTILE("nearest", kNearest),
      QUANTILE("inverted_cdf", kInvertedCdf),
#undef QUANTILE
      CALL("quantile_int", quantile(a[0], 0.25, {.axis = 1})),
      CALL("cumsum_dtype", cumsum(a[0], {.axis = 1, .dtype = float32})),
      CALL("cumprod_axis", cumprod(a[0], {.axis = -1})),
      CALL("cummax_reverse", cummax(a[0], {.axis = 1, .reverse = true})),
      CALL("cummin_reverse", cummin(a[0], {.axis = 0, .reverse = true})),
      CALL("cumlogsumexp_reverse", cumlogsumexp(a[0], {.axis = 1, .reverse = true})),
      CALL("cummax_complex", cummax(a[0])),
      CALL("cummin_complex", cummin(a[0], {.reverse = true})),
      CALL("cumlogsumexp_complex", cumlogsumexp(a[0])),
      CALL("logaddexp_complex", logaddexp(a[0], a[1])),
      CALL("sort_descending_ties", sort(a[0], {.descending = true})),
      CALL("sort_descending", sort(a[0], {.axis = 0, .descending = true})),
      CALL("sort_flat", sort(a[0], {.axis = std::nullopt})),
      CALL("sort_complex", sort(a[0])),
      CALL("argsort_descending", argsort(a[0], {.descending = true})),
      CALL("argsort_axis", argsort(a[0], {.axis = 0})),
      CALL_MANY("top_k_axis", pair(top_k(a[0], 2, 0))),
      CALL("searchsorted_right", searchsorted(a[0], a[1], {.side = Side::kRight})),
      CALL("searchsorted_sorter", searchsorted(a[0], a[1], {.sorter = argsort(a[0])})),
      CALL("searchsorted_long", searchsorted(a[0], a[1])),
      CALL("searchsorted_scan",
           searchsorted(a[0], a[1], {.side = Side::kRight, .method = SearchMethod::kScan})),
      CALL("searchsorted_scan_unrolled",
           searchsorted(a[0], a[1], {.side = Side::kRight, .method = SearchMethod::kScanUnrolled})),
      CALL("searchsorted_sort",
           searchsorted(a[0], a[1], {.side = Side::kRight, .method = SearchMethod::kSort})),
      CALL("searchsorted_compare_all",
           searchsorted(a[0], a[1], {.side = Side::kRight, .method = SearchMethod::kCompareAll})),
      CALL("searchsorted_nan", searchsorted(a[0], a[1])),
      CALL("digitize_descending", digitize(a[0], a[1])),
      CALL("digitize_descending_right", digitize(a[0], a[1], true)),
      CALL("bincount_minlength", bincount(a[0], 7)),
      CALL("bincount_negative", bincount(a[0], 4)),
      CALL("bincount_weights", bincount(a[0], 4, a[1])),
      CALL_MANY("histogram_edges", pair(histogram(a[0], {.bins = a[1]}))),
      CALL_MANY("histogram_density", pair(histogram(a[0], {.bins = 4, .density = true}))),
      CALL_MANY("histogram_weights", pair(histogram(a[0], {.bins = 3, .weights = a[1]}))),
      CALL_MANY("histogram_int", pair(histogram(a[0], {.bins = 5}))),
      CALL_MANY("histogram_range",
                pair(histogram(a[0], {.bins = 2, .range = std::pair(0.0, 3.0)}))),
      CALL_MANY("nonzero_fill", nonzero(a[0], 8, -7)),
      CALL("unique_fill", unique(a[0], 8, {.fill_value = 9})),
      {"unique_all",
       [](const Arrays& a) -> Arrays {
         const UniqueAll u = unique_all(a[0], 7);
         return {u.values, u.indices, u.inverse_indices, u.counts};
       }},
      CALL("unique_axis", unique(a[0], 3, {.axis = 0})),
      CALL("unique_nan", unique(a[0], 6)),
      CALL("take_fill", take(a[0], a[1], {.axis = 1, .fill_value = 7})),
      CALL("take_clip", take(a[0], a[1], {.axis = 0, .mode = IndexMode::kClip})),
      CALL("take_wrap", take(a[0], a[1], {.axis = 0, .mode = IndexMode::kWrap})),
      CALL("take_flat", take(a[0], a[1])),
      CALL("take_int", take(a[0], a[1], {.axis = 1})),
      CALL("take_bool", take(a[0], a[1], {.axis = 1})),
      CALL("take_uint8", take(a[0], a[1])),
      CALL("take_scalar", take(a[0], 2, {.axis = 1})),
      CALL("take_along_axis", take_along_axis(a[0], a[1], 1)),
      CALL("take_along_axis_flat", take_along_axis(a[0], a[1], None)),
      CALL("take_along_axis_fill",
           take_along_axis(a[0], a[1], 1, {.mode = IndexMode::kFill, .fill_value = -5})),
      CALL("at_set", at(a[0])[a[1]].set(9)),
      CALL("at_add", at(a[0])[{Slice(), a[1]}].add(2.5)),
      CALL("at_mul", at(a[0])[a[1]].mul(3)),
      CALL("at_divide", at(a[0])[a[1]].divide(4)),
      CALL("at_power", at(a[0])[a[1]].power(2)),
      CALL("at_min", at(a[0])[{a[1], a[1]}].min(-9)),
      CALL("at_max", at(a[0])[{Ellipsis, a[1]}].max(2)),
      CALL("at_min_complex", at(a[0])[a[1]].min(a[2])),
      CALL("at_max_complex", at(a[0])[a[1]].max(a[2])),
      CALL("at_get", at(a[0])[a[1]].get()),
      CALL("at_get_fill", at(a[0])[a[1]].get({.mode = IndexMode::kFill, .fill_value = -1})),
      CALL("at_set_clip", at(a[0])[a[1]].set(9, {.mode = IndexMode::kClip})),
      CALL("at_add_promised", at(a[0])[a[1]].add(9, {.mode = IndexMode::kPromiseInBounds})),
      CALL("at_set_int", at(a[0])[1].set(2.9)),
      CALL("at_mask", at(a[0])[a[1]].set(-1)),
      CALL("repeat_each", repeat(a[0], {1, 0, 2}, 0)),
      CALL("repeat_total", repeat(a[0], a[1], 0, 7)),
      CALL("repeat_total_less", repeat(a[0], a[1], None, 4)),
      CALL("roll_traced", roll(a[0], a[1], 1)),
      CALL("roll_traced_flat", roll(a[0], a[1])),
      CALL("pad_maximum", pad(a[0], {{1, 2}, {2, 1}}, {.mode = PadMode::kMaximum})),
      CALL("pad_minimum", pad(a[0], {{1, 0}, {0, 3}}, {.mode = PadMode::kMinimum})),
      CALL("pad_mean", pad(a[0], 2, {.mode = PadMode::kMean})),
      CALL("pad_mean_int", pad(a[0], 1, {.mode = PadMode::kMean})),
      CALL("pad_median", pad(a[0], {{1, 1}, {2, 2}}, {.mode = PadMode::kMedian})),
      CALL("pad_linear_ramp",
           pad(a[0], {{2, 3}, {1, 2}}, {.mode = PadMode::kLinearRamp, .value = 5})),
      CALL("pad_linear_ramp_int", pad(a[0], 3, {.mode = PadMode::kLinearRamp})),
      CALL("pad_empty", pad(a[0], 1, {.mode = PadMode::kEmpty})),
      CALL("pad_values", pad(a[0], 1, {.values = {{1, 2}, {3, 4}}})),
      CALL("squeeze_all", squeeze(expand_dims(slice_in_dim(a[0], 0, 1), 1))),
      CALL_MANY("split_empty", split(a[0], Dims{0, 2, 2, 4}, 1)),
      CALL("moveaxis_one", moveaxis(a[0], 0, -1)),
      CALL("atleast_2d", atleast_2d(a[0])),
      CALL("broadcast_int", broadcast_to(a[0], {2, 2, 4})),
      CALL("arange_uint8", arange(3, 9, 2, uint8)),
      CALL("arange_float16", arange(0, 1, 0.25, float16)),
      CALL("linspace_none", linspace(0, 1, 0)),
      CALL("linspace_down", linspace(5, -6, 8, {.dtype = int8})),
      CALL("logspace_base", logspace(0, 4, 5, {.endpoint = false, .base = 2})),
      CALL("eye_int", eye(2, 4, -1, int32)),
      CALL("tri_square", tri(3, {}, 0, bool_)),
      CALL("full_array", full(Shape{2, 4}, a[0])),
      CALL("full_like_shape", full_like(a[0], 2.5, {.shape = Shape{2}})),
      CALL("zeros_like_dtype", zeros_like(a[0], {.dtype = int8, .shape = Shape{3}})),
      CALL("softmax_where", softmax(a[0], 1, a[1])),
      CALL("log_softmax_where", log_softmax(a[0], 1, a[1])),
      CALL("softmax_inf", softmax(a[0])),
      CALL("standardize_all", standardize(a[0], {.axis = None, .epsilon = 0.5})),
      CALL("standardize_moments", standardize(a[0], {.mean = a[1], .variance = a[2]})),
      CALL("standardize_where", standardize(a[0], {.axis = 1, .where = a[1]})),
      CALL("one_hot_float", one_hot(a[0], 3, {.axis = 0})),
      CALL("leaky_relu_slope", leaky_relu(a[0], 0.3)),
      CALL("nan_to_num_copy", nan_to_num(a[0], {.nan = 7})),
      CALL("clip_arrays", clip(a[0], a[1], 2 * a[1])),
      CALL("round_half", round(a[0], 1)),
      CALL("einsum_preferred", einsum("ij,kj->ik", {a[0], a[1]}, float32)),
      CALL("einsum_bool", einsum("ij,kj->ik", {a[0], a[1]})),
      CALL("dot_bool_preferred",
           lax::dot_general(a[0], a[1], {.lhs_contract = {1}, .rhs_contract = {1}}, int32)),
      CALL("matmul_preferred", matmul(a[0], a[1], float32)),
      CALL("trace_dtype", trace(a[0], {.offset = -1, .dtype = float32})),
      CALL("tensordot_0", tensordot(a[0], a[1], 0)),
      CALL("diagonal_batch", diagonal(a[0], {.offset = 1, .axis1 = -2, .axis2 = -1})),
      CALL("tril_bool", tril(a[0], -1)),
      CALL("select_n_bool", lax::select_n(a[0], {a[1], a[2]})),
      CALL("select_n_scalar", lax::select_n(Array(true), {a[0], a[1]})),
      CALL("select_n_int",
           lax::select_n(a[0], {a[1], a[1] + 1, a[1] + 2, a[1] * 10, a[1] * 20})),
      CALL("select_n_one", lax::select_n(a[0], {a[1]})),
      CALL("bitcast_wider", lax::bitcast_convert_type(a[0], uint8)),
      CALL("bitcast_narrow", lax::bitcast_convert_type(a[0], int32)),
      CALL("convert_saturate", lax::convert_element_type(a[0], int8)),
      CALL("dynamic_slice", dynamic_slice(a[0], {a[1], 0}, {2, 3})),
      CALL("dynamic_update_slice", dynamic_update_slice(a[0], a[1], {0, a[2]})),
      {"reduce_window",
       [](const Arrays& a) -> Arrays {
         Windows windows = Windows::of_size({2, 2});
         windows.strides = {1, 2};
         std::tie(windows.low, windows.high) = same_padding(a[0].shape(), windows);
         return {lax::reduce_window_of(ReduceKind::kMax, a[0], windows)};
       }},
      CALL("iota", lax::iota(int16, {2, 3}, 1)),
  };
  return table;
}

class ReferenceOptions : public ::testing::TestWithParam<bool> {};

TEST_P(ReferenceOptions, Values) {
  for (const golden::Json& c : reference()["calls"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    const auto call = calls().find(name);
    ASSERT_NE(call, calls().end()) << name;
    guarded([&] {
      expect_results((GetParam() ? eager_results : traced_results)(call->second,
                                                                   reference().arrays(c["inputs"])),
                     ResultReader(c["values"]).next(c["outputs"]));
    });
  }
  EXPECT_EQ(calls().size(), reference()["calls"].size());
}

INSTANTIATE_TEST_SUITE_P(Numpy, ReferenceOptions, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Eager" : "Traced"; });

// For indices out of bounds, JAX's results are undefined or implementation-defined, and its
// derivatives do not match its values: an index reads the last element, and a selector the last
// case, but these get no derivative. Here the element and the case that are read get it.
const std::set<std::string> kOtherDerivatives{"at_get", "select_n_int", "select_n_one"};

TEST(ReferenceOptionsOf, Gradients) {
  for (const golden::Json& c : reference()["gradients"]) {
    const std::string name = c["name"];
    if (c["point"] != "call" || kOtherDerivatives.contains(name)) continue;
    SCOPED_TRACE(name);
    guarded([&] {
      expect_results(gradients_of(calls().at(name), reference().arrays(c["inputs"])),
                     ResultReader(c["values"]).next(c["outputs"]), 10);
    });
  }
}

TEST(ReferenceOptionsOf, VmapIsOneExampleAfterTheOther) {
  for (const golden::Json& c : reference()["calls"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    guarded([&] { expect_vmap(calls().at(name), arrays_of(reference().arrays(c["inputs"]))); });
  }
}

TEST(ReferenceOptionsOf, ShardedInputsGiveTheSame) {
  initialize({.devices = "cpu:8"});
  const Mesh mesh(create_device_mesh({2, 4}), {"x", "y"});
  for (const golden::Json& c : reference()["calls"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    guarded([&] {
      expect_sharded(calls().at(name), arrays_of(reference().arrays(c["inputs"])), mesh);
    });
  }
  initialize({.devices = "cpu:1"});
}

}  // namespace
}  // namespace tessera::reference_options_test
