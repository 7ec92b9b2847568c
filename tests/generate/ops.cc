#include "ops.h"

#include <unordered_map>

namespace tessera::generate {

using namespace ops;

namespace {

struct Operands {
  explicit Operands(const Arrays& a)
      : x(a.empty() ? Array() : a[0]),
        y(a.size() > 1 ? a[1] : Array()),
        z(a.size() > 2 ? a[2] : Array()) {}
  Array x, y, z;
};

// These macros are variadic, because an expression may contain commas.
#define OP_WITH(collective, name, ...)                                                    \
  OpSpec {                                                                                \
    name, #__VA_ARGS__,                                                                   \
        [](const Arrays& list, const Attributes& p) {                                     \
          [[maybe_unused]] const Operands operands(list);                                 \
          [[maybe_unused]] const Array &x = operands.x, &y = operands.y, &z = operands.z; \
          [[maybe_unused]] const Attributes& unused = p;                                  \
          return Arrays{__VA_ARGS__};                                                     \
        },                                                                                \
        Collective::collective                                                            \
  }
#define OP(name, ...) OP_WITH(kNone, name, __VA_ARGS__)

std::vector<OpSpec> make_specs() {
  return {
      // clang-format off
      // --- one real number ---
      OP("tanh", tanh(x)), OP("sin", sin(x)), OP("cos", cos(x)), OP("neg", -x), OP("scale", x * p.f),
      OP("shift", x + p.f), OP("exp", exp(x * 0.5)), OP("gauss", exp(-square(x))),
      OP("log1p", log1p(square(x))), OP("sqrt", sqrt(square(x) + 0.3)), OP("rsqrt", rsqrt(square(x) + 0.7)),
      OP("cbrt", cbrt(square(x) + 0.2)), OP("abs", abs(x)), OP("square", square(x)), OP("sigmoid", sigmoid(x)),
      OP("relu", relu(x)), OP("gelu", gelu(x)), OP("silu", silu(x)), OP("softplus", softplus(x)), OP("elu", elu(x)),
      OP("leaky_relu", leaky_relu(x, p.f)), OP("selu", selu(x)), OP("mish", mish(x)), OP("hard_tanh", hard_tanh(x)),
      OP("log_sigmoid", log_sigmoid(x)), OP("soft_sign", soft_sign(x)), OP("sinc", sinc(x)), OP("erf", erf(x)),
      OP("erfc", erfc(x)), OP("arctan", arctan(x)), OP("arcsinh", arcsinh(x)), OP("arcsin", arcsin(0.9 * tanh(x))),
      OP("arccos", arccos(0.8 * sin(x))), OP("arccosh", arccosh(square(x) + 1.2)), OP("arctanh", arctanh(0.7 * sin(x))),
      OP("sinh", sinh(tanh(x))), OP("cosh", cosh(tanh(x))), OP("tan", tan(0.9 * sin(x))), OP("expm1", expm1(tanh(x))),
      OP("exp2", exp2(tanh(x))), OP("log", log(square(x) + 0.4)), OP("log2", log2(square(x) + 0.6)),
      OP("reciprocal", reciprocal(square(x) + 0.6)), OP("lgamma", lgamma(square(x) + 0.5)),
      OP("digamma", digamma(square(x) + 0.5)), OP("sign", sign(x) * sin(x)), OP("clip", clip(x, p.f, p.f + 0.8)),
      OP("power_f", power(square(x) + 0.3, p.f)), OP("power_i", power(x, p.i)), OP("cube", x * x * x),
      OP("where_self", where(x > p.f, x, sin(x))), OP("floor", floor(x * 2) + x), OP("round", round(x * 2) - x),
      OP("stop_gradient", stop_gradient(x)), OP("checkpoint_name", checkpoint_name(x, "saved")),
      OP("nan_to_num", nan_to_num(x)), OP("barrier", lax::optimization_barrier(x)),
      // --- two ---
      OP("add", x + y), OP("sub", x - y), OP("mul", x * y), OP("div", x / (square(y) + 0.8)), OP("maximum", maximum(x, y)),
      OP("minimum", minimum(x, y)), OP("arctan2", arctan2(x, square(y) + 0.5)), OP("hypot", hypot(x, square(y) + 0.3)),
      OP("logaddexp", logaddexp(x, y)), OP("where_less", where(x < y, x, y)), OP("power", power(square(x) + 0.3, y)),
      OP("remainder", remainder(x, square(y) + 1.1)), OP("fma", x * y + z), OP("select", where(x, y, z)),
      OP("lerp", x + sigmoid(z) * (y - x)),
      // --- shapes ---
      OP("broadcast_to", broadcast_to(x, p.dims)), OP("reshape", reshape(x, p.dims)), OP("transpose", transpose(x, p.dims)),
      OP("expand_dims", expand_dims(x, p.i)), OP("squeeze", squeeze(x, p.i)), OP("flip", flip(x, p.i)),
      OP("roll", roll(x, p.i, p.j)), OP("roll_by", roll(x, y, p.j)), OP("tile", tile(x, p.dims)),
      OP("repeat", repeat(x, p.i, p.j)), OP("concatenate", concatenate({x, y}, p.i)),
      OP("concatenate3", concatenate({x, y, x}, p.i)), OP("stack", stack({x, y}, p.i)),
      OP("lax_pad", lax::pad(x, astype(p.f, x.dtype()), p.dims, p.dims2, p.dims3)),
      OP("pad_edge", pad(x, p.i, {.mode = PadMode::kEdge})), OP("pad_wrap", pad(x, p.i, {.mode = PadMode::kWrap})),
      OP("slice", slice(x, p.dims, p.dims2, p.dims3)), OP("split", split(x, p.i, p.j)[1]), OP("tril", tril(x, p.i)),
      OP("triu", triu(x, p.i)), OP("diagonal", diagonal(x)), OP("swapaxes", swapaxes(x, p.i, p.j)),
      OP("index_row", index(x, {p.i})), OP("index_last", index(x, {Ellipsis, p.i})),
      OP("index_slice", index(x, {Slice(p.i, p.j, p.k)})), OP("index_reverse", index(x, {Slice({}, {}, -1)})),
      OP("diag", diag(x)), OP("ravel", ravel(x)), OP("rot90", rot90(x)),
      // --- places ---
      OP("dynamic_slice", dynamic_slice_in_dim(x, y, p.i, p.j)),
      OP("dynamic_index", dynamic_index_in_dim(x, y, p.j, false)),
      OP("dynamic_update", dynamic_update_slice_in_dim(x, z, y, p.j)), OP("take", take(x, y, {.axis = p.i})),
      OP("take_clip", take(x, y, {.axis = p.i, .mode = IndexMode::kClip})), OP("gather_rows", index(x, {y})),
      OP("at_set", at(x)[{y}].set(z)), OP("at_add", at(x)[{y}].add(z)), OP("at_mul", at(x)[{y}].multiply(z, {.unique_indices = true})),
      OP("at_max", at(x)[{y}].max(z)), OP("at_min", at(x)[{y}].min(z)), OP("at_slice", at(x)[{Slice(p.i, p.j)}].add(y)),
      OP("take_along", take_along_axis(x, argsort(x, {.axis = p.i}), p.i)), OP("one_hot", one_hot(x, p.i, {.dtype = p.dtype})),
      // --- reductions ---
      OP("sum", sum(x, {.axis = p.dims, .keepdims = p.flag})), OP("sum_all", sum(x)),
      OP("prod", prod(x, {.axis = p.dims, .keepdims = p.flag})), OP("mean", mean(x, {.axis = p.dims, .keepdims = p.flag})),
      OP("max", max(x, {.axis = p.dims, .keepdims = p.flag})), OP("min", min(x, {.axis = p.dims, .keepdims = p.flag})),
      OP("max_initial", max(x, {.axis = p.dims, .initial = p.f})),
      OP("var", var(x, {.axis = p.dims, .keepdims = p.flag})), OP("std", sqrt(var(x, {.axis = p.dims}) + 0.1)),
      OP("logsumexp", logsumexp(x, {.axis = p.dims, .keepdims = p.flag})), OP("softmax", softmax(x, p.i)),
      OP("log_softmax", log_softmax(x, p.i)), OP("standardize", standardize(x, {.axis = p.i, .epsilon = 0.1})),
      OP("argmax", argmax(x, {.axis = p.i})), OP("argmin", argmin(x, {.axis = p.i})), OP("argsort", argsort(x, {.axis = p.i})),
      OP("cumsum", cumsum(x, {.axis = p.i})), OP("cumprod", cumprod(x, {.axis = p.i})),
      OP("cummax", cummax(x, {.axis = p.i, .reverse = p.flag})), OP("cummin", cummin(x, {.axis = p.i, .reverse = p.flag})),
      OP("cumlogsumexp", cumlogsumexp(x, {.axis = p.i, .reverse = p.flag})),
      OP("lax_cumsum", lax::cumsum(x, p.i, p.flag)), OP("sort", sort(x, {.axis = p.i, .descending = p.flag})),
      OP("top_k", top_k(x, p.j, p.i).first), OP("sum_where", sum(x, {.axis = p.dims, .where = y})),
      OP("norm", sqrt(sum(square(x), {.axis = p.dims, .keepdims = p.flag}) + 0.2)),
      OP("count", count_nonzero(x, {.axis = p.dims})), OP("any", any(x, {.axis = p.dims})),
      OP("all", all(x, {.axis = p.dims})), OP("median", median(x, {.axis = p.i})),
      // --- products ---
      OP("matmul", matmul(x, y)), OP("einsum", einsum(p.text, list)), OP("outer", outer(x, y)), OP("vdot", vdot(x, y)),
      OP("matmul_bias", matmul(x, y) + z), OP("einsum_bias", einsum(p.text, {x, y}) + z),
      OP("dot_general", lax::dot_general(x, y, {p.dims, p.dims2, p.dims3, p.dims4})),
      OP("matmul_self", matmul(x, matrix_transpose(x))), OP("kron", kron(x, y)),
      // --- integers, bools, constants, dtypes ---
      OP("iota", lax::iota(p.dtype, p.dims, p.i)), OP("full", full(p.dims, p.f, p.dtype)), OP("int_add", x + p.i),
      OP("int_mod", x % p.i), OP("int_mul", x * y), OP("int_xor", bitwise_xor(x, y)), OP("int_shift", left_shift(x, p.i)),
      OP("less", x < y), OP("greater_than", x > p.f), OP("equal_int", x == y), OP("and", logical_and(x, y)),
      OP("not", logical_not(x)), OP("int_max", maximum(x, y)), OP("int_sum", sum(x, {.axis = p.dims})),
      OP("int_cumsum", cumsum(x, {.axis = p.i})), OP("astype", astype(x, p.dtype)),
      OP("int_round", astype(round(x * 3), int32)),
      // --- complex ---
      OP("complex", lax::complex(x, y)), OP("complex_exp", exp(x * 0.5)), OP("complex_sin", sin(x)), OP("conj", conj(x)),
      OP("real", real(x)), OP("imag", imag(x)), OP("abs2", square(real(x)) + square(imag(x))),
      OP("complex_div", x / (real(y) * real(y) + 1.5)), OP("complex_tanh", tanh(x * 0.4)),
      // --- placement ---
      OP("constraint", with_sharding_constraint(x, p.sharding)),
      // --- collectives ---
      OP_WITH(kPsum, "psum", psum(x, p.axes)), OP_WITH(kPmean, "pmean", pmean(x, p.axes)),
      OP_WITH(kPmax, "pmax", pmax(x, p.axes)), OP_WITH(kPmin, "pmin", pmin(x, p.axes)),
      OP_WITH(kAllGather, "all_gather", all_gather(x, p.axes, {.axis = p.i, .tiled = p.flag})),
      OP_WITH(kAllGatherInvariant, "all_gather_invariant",
              all_gather(x, p.axes, {.axis = p.i, .tiled = p.flag, .invariant = true})),
      OP_WITH(kPsumScatter, "psum_scatter", psum_scatter(x, p.axes, {.scatter_dimension = p.i, .tiled = p.flag})),
      OP_WITH(kAllToAll, "all_to_all", all_to_all(x, p.axes, p.i, p.j, {.tiled = true})),
      OP_WITH(kPpermute, "ppermute", ppermute(x, p.axes, p.pairs)),
      OP_WITH(kPbroadcast, "pbroadcast", pbroadcast(x, p.axes, p.i)),
      OP_WITH(kAxisIndex, "axis_index", axis_index(p.axes)), OP_WITH(kPcast, "pcast", pcast_varying(x, p.axes)),
      // clang-format on
  };
}

}  // namespace

const std::vector<OpSpec>& all_op_specs() {
  static const auto& specs = *new std::vector<OpSpec>(make_specs());
  return specs;
}

const OpSpec& op_named(const std::string& name) {
  static const auto& by_name = *[] {
    auto* out = new std::unordered_map<std::string, const OpSpec*>;
    for (const OpSpec& spec : all_op_specs()) out->emplace(spec.name, &spec);
    return out;
  }();
  const auto found = by_name.find(name);
  TESSERA_CHECK(found != by_name.end(), "no op {}", name);
  return *found->second;
}

}  // namespace tessera::generate
