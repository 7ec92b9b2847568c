// Compares every function of the reference list, over dtypes, with JAX. golden/make_reference.py
// calls them under the same names. reference_options_test.cc tests their options.
#include "reference.h"

#include <set>
#include <sstream>

#include "tessera/numpy/attention.h"

namespace tessera::reference_test {

using namespace ops;

namespace {

using namespace tessera::test;

// Entries for a function of one array, or of two, under its own name.
#define UNARY(f) CALL(#f, f(a[0]))
#define BINARY(f) CALL(#f, f(a[0], a[1]))

Array matrix(const Array& x) { return reshape(x, {3, 4}); }
const IndexDims kRows{.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}};

const Calls& sweeps() {
  static const Calls table = {
      UNARY(negative),
      UNARY(positive),
      UNARY(abs),
      UNARY(fabs),
      UNARY(sign),
      UNARY(square),
      UNARY(reciprocal),
      UNARY(floor),
      UNARY(ceil),
      UNARY(trunc),
      UNARY(round),
      UNARY(rint),
      UNARY(clip),
      UNARY(sqrt),
      UNARY(cbrt),
      UNARY(exp),
      UNARY(exp2),
      UNARY(expm1),
      UNARY(log),
      UNARY(log1p),
      UNARY(log2),
      UNARY(log10),
      UNARY(sin),
      UNARY(cos),
      UNARY(tan),
      UNARY(arcsin),
      UNARY(arccos),
      UNARY(arctan),
      UNARY(sinh),
      UNARY(cosh),
      UNARY(tanh),
      UNARY(arcsinh),
      UNARY(arccosh),
      UNARY(arctanh),
      UNARY(sinc),
      UNARY(deg2rad),
      UNARY(rad2deg),
      UNARY(real),
      UNARY(imag),
      UNARY(conj),
      UNARY(angle),
      UNARY(nan_to_num),
      UNARY(logical_not),
      UNARY(bitwise_not),
      UNARY(bitwise_count),
      UNARY(isnan),
      UNARY(isinf),
      UNARY(isfinite),
      UNARY(isposinf),
      UNARY(isneginf),
      UNARY(signbit),
      UNARY(sum),
      UNARY(prod),
      UNARY(max),
      UNARY(min),
      UNARY(ptp),
      UNARY(any),
      UNARY(all),
      UNARY(count_nonzero),
      UNARY(mean),
      UNARY(var),
      UNARY(std),
      UNARY(argmax),
      UNARY(argmin),
      UNARY(nansum),
      UNARY(nanprod),
      UNARY(nanmean),
      UNARY(nanvar),
      UNARY(nanstd),
      UNARY(nanmax),
      UNARY(nanmin),
      UNARY(average),
      UNARY(median),
      UNARY(cumsum),
      UNARY(cumprod),
      UNARY(sort),
      UNARY(argsort),
      UNARY(zeros_like),
      UNARY(ones_like),
      UNARY(ravel),
      UNARY(flip),
      UNARY(diag),
      UNARY(atleast_1d),
      UNARY(atleast_2d),
      UNARY(relu),
      UNARY(relu6),
      UNARY(leaky_relu),
      UNARY(elu),
      UNARY(celu),
      UNARY(selu),
      UNARY(gelu),
      UNARY(sigmoid),
      UNARY(silu),
      UNARY(softplus),
      UNARY(soft_sign),
      UNARY(log_sigmoid),
      UNARY(mish),
      UNARY(hard_tanh),
      UNARY(hard_sigmoid),
      UNARY(hard_silu),
      UNARY(softmax),
      UNARY(log_softmax),
      UNARY(standardize),
      UNARY(logsumexp),
      UNARY(glu),
      UNARY(erf),
      UNARY(erfc),
      UNARY(cummax),
      UNARY(cummin),
      UNARY(cumlogsumexp),
      UNARY(erf_inv), UNARY(lgamma), UNARY(digamma), CALL("rsqrt", lax::rsqrt(a[0])), BINARY(mod),
      CALL("lax_erf", lax::erf(a[0])),
      CALL("lax_erf_inv", lax::erf_inv(a[0])),
      CALL("lax_lgamma", lax::lgamma(a[0])),
      CALL("lax_digamma", lax::digamma(a[0])),
      CALL_MANY("top_k", pair(top_k(a[0], 3))),
      CALL("quantile", quantile(a[0], 0.3)),
      CALL("percentile", percentile(a[0], 30)),
      CALL("one_hot", one_hot(a[0], 4)),
      CALL("unique", unique(a[0], 8)),
      CALL_MANY("nonzero", nonzero(a[0], 5)),
      CALL("bincount", bincount(a[0], 6)),
      CALL_MANY("histogram", pair(histogram(a[0], {.bins = 3, .range = std::pair(0.0, 4.0)}))),
      CALL("pad", pad(a[0], 2, {.mode = PadMode::kEdge})),
      CALL("repeat", repeat(a[0], 2)),
      CALL("full_like", full_like(a[0], 3)),
      CALL("trace", trace(reshape(slice_in_dim(a[0], 0, 4), {2, 2}))),
      CALL("einsum_sum", einsum("i->", {a[0]})),
      CALL("reshape", reshape(a[0], {3, 4})),
      CALL("transpose", transpose(matrix(a[0]))),
      CALL("swapaxes", swapaxes(reshape(a[0], {2, 3, 2}), 0, 2)),
      CALL("moveaxis", moveaxis(reshape(a[0], {2, 3, 2}), 2, 0)),
      CALL("expand_dims", expand_dims(a[0], {0, 2})),
      CALL("squeeze", squeeze(reshape(a[0], {1, 12, 1}), 0)),
      CALL_MANY("split", split(matrix(a[0]), 2, 1)),
      CALL_MANY("array_split", array_split(a[0], 5)),
      CALL("tile", tile(a[0], {2, 2})),
      CALL("broadcast_to", broadcast_to(slice_in_dim(matrix(a[0]), 0, 1, 1), {2, 3, 4})),
      CALL("roll", roll(matrix(a[0]), {1, -2}, {0, 1})),
      CALL("rot90", rot90(matrix(a[0]))),
      CALL_MANY("meshgrid", meshgrid({a[0], slice_in_dim(a[0], 0, 3)})),
      CALL("array", asarray(a[0])),
      CALL("empty_like", empty_like(a[0])),
      CALL("full", full({2, 12}, a[0])),
      CALL("zeros", zeros({2, 3}, a[0].dtype())),
      CALL("ones", ones({2, 3}, a[0].dtype())),
      CALL("empty", empty({2, 3}, a[0].dtype())),
      CALL("arange", arange(1, 5, 1, a[0].dtype())),
      CALL("logspace", logspace(slice_in_dim(a[0], 4, 7), 2, 3)),
      CALL("eye", eye(3, 4, 1, a[0].dtype())),
      CALL("identity", identity(3, a[0].dtype())),
      CALL("tri", tri(3, 4, 1, a[0].dtype())),
      CALL("sum_rows", sum(matrix(a[0]), {.axis = 1, .keepdims = true})),
      CALL("mean_rows", mean(matrix(a[0]), {.axis = 0})),
      CALL("argmax_rows", argmax(matrix(a[0]), {.axis = 1})),
      CALL("argmin_rows", argmin(matrix(a[0]), {.axis = 0})),
      CALL("sort_rows", sort(matrix(a[0]), {.axis = 0})),
      CALL("cumsum_rows", cumsum(matrix(a[0]), {.axis = 0})),
      CALL("cumprod_rows", cumprod(matrix(a[0]), {.axis = 1})),
      CALL("median_rows", median(matrix(a[0]), {.axis = 1})),
      CALL("softmax_rows", softmax(matrix(a[0]), 0)),
      CALL("logsumexp_rows", logsumexp(matrix(a[0]), {.axis = 1})),
      CALL("diagonal", diagonal(matrix(a[0]), {.offset = 1})),
      CALL("tril", tril(matrix(a[0]))),
      CALL("triu", triu(matrix(a[0]), 1)),
      CALL("at_set", at(a[0])[array({1, -2})].set(2)),
      CALL("at_add", at(a[0])[array({1, 1, 50})].add(2)),
      CALL("at_mul", at(a[0])[array({1, 5})].mul(2)),
      CALL("at_min", at(a[0])[Slice(2, 9)].min(1)),
      CALL("at_max", at(a[0])[Slice(2, 9)].max(1)),
      CALL("at_get",
           at(a[0])[array({1, -2, 50})].get({.mode = IndexMode::kFill, .fill_value = 0})),
      CALL("where_zero", where(a[0], a[0], 0)),
      CALL("dynamic_slice", dynamic_slice(a[0], {5}, {3})),
      CALL("dynamic_update_slice", dynamic_update_slice(a[0], slice_in_dim(a[0], 0, 2), {11})),
      CALL("dot_general", lax::dot_general(matrix(a[0]), matrix(a[0]),
                                           {.lhs_contract = {1}, .rhs_contract = {1}})),
      CALL("conv_general_dilated",
           lax::conv_general_dilated(reshape(a[0], {1, 2, 6}),
                                     reshape(slice_in_dim(a[0], 0, 4), {1, 2, 2}), {2},
                                     lax::Padding{{1, 0}})),
      {"reduce_window",
       [](const Arrays& a) -> Arrays {
         Windows windows = Windows::of_size({3});
         windows.strides = {2};
         return {lax::reduce_window_of(ReduceKind::kSum, a[0], windows)};
       }},
      CALL("gather", lax::gather(matrix(a[0]), array({{0}, {2}}), kRows, {1, 4})),
      CALL("scatter", lax::scatter(matrix(a[0]), array({{2}, {0}}),
                                   slice_in_dim(matrix(a[0]), 0, 2), kRows, ScatterKind::kSet)),
      CALL("stop_gradient", lax::stop_gradient(a[0])),
      CALL("convert_element_type", lax::convert_element_type(a[0], float32)),
      CALL("bitcast_convert_type", lax::bitcast_convert_type(a[0], a[0].dtype())),
      CALL("select_n", lax::select_n(equal(remainder(arange(12), 2), 0), {a[0], flip(a[0])})),
      CALL("iota", lax::iota(a[0].dtype(), {5})),
      BINARY(add),
      BINARY(subtract),
      BINARY(multiply),
      BINARY(divide),
      BINARY(floor_divide),
      BINARY(remainder),
      BINARY(fmod),
      BINARY(power),
      BINARY(float_power),
      BINARY(maximum),
      BINARY(minimum),
      BINARY(fmax),
      BINARY(fmin),
      BINARY(copysign),
      BINARY(nextafter),
      BINARY(heaviside),
      BINARY(arctan2),
      BINARY(hypot),
      BINARY(logaddexp),
      BINARY(logaddexp2),
      BINARY(equal),
      BINARY(not_equal),
      BINARY(less),
      BINARY(less_equal),
      BINARY(greater),
      BINARY(greater_equal),
      BINARY(logical_and),
      BINARY(logical_or),
      BINARY(logical_xor),
      BINARY(bitwise_and),
      BINARY(bitwise_or),
      BINARY(bitwise_xor),
      BINARY(left_shift),
      BINARY(right_shift),
      BINARY(isclose),
      BINARY(allclose),
      BINARY(array_equal),
      BINARY(dot),
      BINARY(vdot),
      BINARY(inner),
      BINARY(outer),
      BINARY(matmul),
      BINARY(kron),
      BINARY(vecdot),
      CALL("searchsorted", searchsorted(sort(a[0]), a[1])),
      CALL("digitize", digitize(a[0], sort(a[1]))),
      CALL("where", where(a[0] > a[1], a[0], a[1])),
      CALL("take", take(a[0], a[1])),
      CALL("concatenate", concatenate({a[0], a[1]})),
      CALL("linspace", linspace(a[0], a[1], 3)),
      CALL("stack", stack({a[0], a[1]}, 1)),
      CALL("hstack", hstack({a[0], a[1]})),
      CALL("vstack", vstack({a[0], a[1]})),
      CALL("tensordot", tensordot(matrix(a[0]), matrix(a[1]), {{1}, {1}})),
      CALL("einsum", einsum("ij,kj->ki", {matrix(a[0]), matrix(a[1])})),
      CALL("matmul_rows", matmul(matrix(a[0]), transpose(matrix(a[1])))),
      CALL("take_along_axis", take_along_axis(a[0], a[1], 0)),
      CALL("select", select({a[0] > a[1], a[0] < a[1]}, {a[0], a[1]}, 5)),
      CALL("clip_both", clip(a[0], a[1], 2)),
      CALL("dot_product_attention",
           dot_product_attention(reshape(a[0], {1, 3, 2, 2}), reshape(a[1], {1, 3, 2, 2}),
                                 reshape(a[0], {1, 3, 2, 2}))),
      CALL("average_weights", average(a[0], {.weights = a[1]})),
  };
  return table;
}

std::vector<Literal> vectors(const golden::Json& names) {
  std::vector<Literal> out;
  for (const std::string name : names)
    out.push_back(reference().array(reference()["vectors"][name.c_str()]));
  return out;
}

// The differences from JAX, by function and the dtype of the last input, or the dtypes of both.
using Exceptions = std::set<std::pair<std::string, std::string>>;
bool listed(const Exceptions& list, const std::string& name, const golden::Json& inputs) {
  std::string dtypes, last;
  for (const std::string input : inputs) {
    last = input.substr(0, input.find(' '));
    dtypes += (dtypes.empty() ? "" : " ") + last;
  }
  return list.contains({name, last}) || list.contains({name, dtypes});
}
// Tessera accepts more dtypes: cbrt those of StableHLO, kron those of numpy. Complex numbers are
// ordered as in sort, which the other functions need (standardize for its maximum with 0). A sum of
// bool is true if any is true, as in at().add, and a class that is bool is 0 or 1.
const Exceptions kTakesMore{{"cbrt", "complex64"},        {"kron", "bool"},
                            {"one_hot", "bool"},          {"top_k", "complex64"},
                            {"standardize", "complex64"}, {"reduce_window", "bool"}};
// Tessera refuses dtypes for which JAX's results make no sense: bins of complex numbers in complex
// counts; probabilities converted to integers, so that attention has weights 0 and 1; complex
// probabilities; and elements 0 and 1 for a mask, which is not a list of indices.
const Exceptions kRefuses{{"histogram", "complex64"},
                          {"dot_product_attention", "bool"},
                          {"dot_product_attention", "int32"},
                          {"dot_product_attention", "uint8"},
                          {"dot_product_attention", "complex64"},
                          {"take", "bool"}};
// Other values. JAX replaces x % 0 by 0 for integers before it promotes bool, so fmod(true, false)
// is 1 and remainder(true, false) is 0; here both are 0. The angle of (-0, x < 0) is on the branch
// cut: it is -pi here, as for real numbers, and pi in JAX, because its sum of squares loses the
// zero's sign.
const Exceptions kDiffers{{"fmod", "bool"}, {"arctan2", "float32 complex64"}};
// Some elements are NaN on one side only; the others are compared. 0 to a power that is not real is
// NaN in JAX, and here 0 if the power's real part is positive. In logaddexp, -inf adds nothing to a
// complex number, but JAX's logaddexp2 returns NaN, because the power of 2 is already NaN. sinc of
// an infinity is NaN in JAX 0.10, and 0 here and in JAX 0.12 (tests/derivatives/extremes_test.cc),
// and digamma of 0 an infinity.
const Exceptions kNanOnOneSide{{"power", "float32 complex64"},
                               {"float_power", "float32 complex64"},
                               {"logaddexp2", "float32 complex64"},
                               {"sinc", "float16"},
                               {"sinc", "bfloat16"},
                               {"sinc", "float32"},
                               {"sinc", "float64"},
                               {"digamma", "bool"},
                               {"digamma", "int32"},
                               {"digamma", "uint8"},
                               {"digamma", "float16"},
                               {"digamma", "bfloat16"},
                               {"digamma", "float32"},
                               {"digamma", "float64"},
                               {"lax_digamma", "float16"},
                               {"lax_digamma", "bfloat16"},
                               {"lax_digamma", "float32"},
                               {"lax_digamma", "float64"}};
// The same for derivatives at a point. x**0 is 1 for every x, so its derivative is 0 also at 0, as
// in JAX if the exponent is an integer; for a float exponent JAX computes 0 * inf. Below 1 arccosh
// has neither a value nor a derivative; JAX's rsqrt(x * x - 1) has a derivative below -1. That of
// lgamma at 0 is digamma's value.
const Exceptions kDerivativeNanOnOneSide{{"power", "ties"},      {"float_power", "ties"},
                                         {"arccosh", "generic"}, {"arccosh", "ties"},
                                         {"lgamma", "ties"},     {"lax_lgamma", "ties"}};

template <class T>
bool is_nan(T x) {
  if constexpr (requires { x.real(); }) {
    return std::isnan(x.real()) || std::isnan(x.imag());
  } else {
    return std::isnan(as_double(x));
  }
}

// Sets elements to the expected ones if one of the two, or a part of it, is NaN.
void take_numbers(std::vector<Result>& got, const std::vector<Result>& expected) {
  for (size_t k = 0; k < got.size() && k < expected.size(); ++k) {
    if (got[k].value.dtype() != expected[k].value.dtype() ||
        got[k].value.shape() != expected[k].value.shape())
      continue;
    visit_dtype(got[k].value.dtype(), [&]<class T>(TypeTag<T>) {
      T* g = got[k].value.mutable_data<T>();
      const T* e = expected[k].value.data<T>();
      for (int64_t i = 0; i < got[k].value.elements(); ++i)
        if (is_nan(g[i]) || is_nan(e[i])) g[i] = e[i];
    });
  }
}

// Functions run in both modes: traced and evaluated naively, and eagerly (compiled).
class ReferenceValues : public ::testing::TestWithParam<bool> {};

TEST_P(ReferenceValues, OverDtypes) {
  for (const golden::Json& f : reference()["sweeps"]) {
    const std::string name = f["function"];
    const auto call = sweeps().find(name);
    ASSERT_NE(call, sweeps().end()) << name;
    ResultReader reader(f["values"]);
    for (const golden::Json& c : f["cases"]) {
      SCOPED_TRACE(name + c["inputs"].dump());
      const X64 x64(c["inputs"].dump().find("float64") != std::string::npos);
      std::optional<std::vector<Result>> got;
      std::string error;
      try {
        got = (GetParam() ? eager_results : traced_results)(call->second, vectors(c["inputs"]));
      } catch (const UserError& e) {
        error = e.what();
      }
      if (c["outputs"].is_null()) {
        EXPECT_EQ(got.has_value(), listed(kTakesMore, name, c["inputs"])) << "JAX refuses these";
        continue;
      }
      const std::vector<Result> expected = reader.next(c["outputs"]);
      EXPECT_EQ(got.has_value(), !listed(kRefuses, name, c["inputs"])) << error;
      if (!got || listed(kDiffers, name, c["inputs"])) continue;
      if (listed(kNanOnOneSide, name, c["inputs"])) take_numbers(*got, expected);
      expect_results(*got, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Numpy, ReferenceValues, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Eager" : "Traced"; });

TEST(Reference, Gradients) {
  for (const golden::Json& c : reference()["gradients"]) {
    const std::string name = c["name"], point = c["point"];
    if (point == "call") continue;
    SCOPED_TRACE(name + " " + point);
    guarded([&] {
      std::vector<Result> got = gradients_of(sweeps().at(name), reference().arrays(c["inputs"]));
      const std::vector<Result> expected = ResultReader(c["values"]).next(c["outputs"]);
      if (kDerivativeNanOnOneSide.contains({name, point})) take_numbers(got, expected);
      expect_results(got, expected, 10);
    });
  }
}

// Returns vectors without special values, of floats if the function accepts them.
Arrays plain_inputs(const golden::Json& f) {
  const size_t count = f["cases"][0]["inputs"].size();
  const char* names[] = {"float32", "float32 second"};
  bool floats = false;
  for (const golden::Json& c : f["cases"])
    floats |= c["inputs"].back() == names[count - 1] && !c["outputs"].is_null();
  Arrays out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(Array(
        reference().array(floats ? reference()["points"]["generic"][i]
                                 : reference()["vectors"][i == 0 ? "int32" : "int32 second"])));
  return out;
}

TEST(Reference, VmapIsOneExampleAfterTheOther) {
  for (const golden::Json& f : reference()["sweeps"]) {
    const std::string name = f["function"];
    SCOPED_TRACE(name);
    guarded([&] { expect_vmap(sweeps().at(name), plain_inputs(f)); });
  }
}

TEST(Reference, ShardedInputsGiveTheSame) {
  initialize({.devices = "cpu:8"});
  const Mesh mesh(create_device_mesh({2, 4}), {"x", "y"});
  for (const golden::Json& f : reference()["sweeps"]) {
    const std::string name = f["function"];
    SCOPED_TRACE(name);
    guarded([&] { expect_sharded(sweeps().at(name), plain_inputs(f), mesh); });
  }
  initialize({.devices = "cpu:1"});
}

// The lines create to nn of the list of functions that users expect, except linalg and the
// initialisers (tests/nn). A function is missing if no call in the tables begins with its name.
TEST(Reference, NothingIsMissing) {
  std::istringstream list(R"(
      array zeros ones full empty zeros_like ones_like full_like empty_like arange linspace logspace
      eye identity tri meshgrid reshape ravel transpose swapaxes moveaxis expand_dims squeeze
      concatenate stack hstack vstack split array_split tile repeat broadcast_to flip roll rot90 pad
      atleast_1d atleast_2d add subtract multiply divide floor_divide mod power maximum minimum abs
      negative sign sqrt rsqrt cbrt square exp exp2 expm1 log log1p log2 log10 sin cos tan arcsin
      arccos arctan arctan2 sinh cosh tanh floor ceil round trunc clip reciprocal logaddexp hypot
      nan_to_num isnan isinf isfinite isclose equal not_equal less less_equal greater greater_equal
      logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not
      left_shift right_shift where select sum mean var std max min prod any all argmax argmin median
      quantile percentile count_nonzero nansum nanmean cumsum cumprod cummax ptp average logsumexp
      dot matmul vdot inner outer tensordot einsum kron trace diag diagonal tril triu take
      take_along_axis at_set at_add at_mul at_min at_max at_get searchsorted sort argsort unique
      nonzero bincount histogram digitize dot_general conv_general_dilated reduce_window gather
      scatter dynamic_slice dynamic_update_slice top_k iota select_n stop_gradient
      bitcast_convert_type convert_element_type erf erf_inv lgamma digamma relu gelu silu sigmoid
      softplus elu selu leaky_relu glu softmax log_softmax one_hot standardize
      dot_product_attention)");
  for (std::string name; list >> name;)
    EXPECT_TRUE(sweeps().contains(name)) << name << " has no call";
  EXPECT_EQ(sweeps().size(), reference()["sweeps"].size());
}

}  // namespace
}  // namespace tessera::reference_test
