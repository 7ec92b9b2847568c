#include "tessera/ops/linear/dot_general.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/base/contains.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/ops/core/use_rule.h"
#include "tessera/ops/linear/unroll_dot.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

constexpr std::string_view kDotGeneralOp = "dot_general";

void check_dims(const Dims& batch, const Dims& contract, const Type& x, const char* side,
                const char* unique, const char* batch_range, const char* contract_range) {
  auto check_range = [&](const Dims& dims, const char* constraint) {
    for (int64_t d : dims)
      if (d < 0 || d >= x.rank())
        shape_error(kDotGeneralOp, "expected dimensions of {} in [0, {}), got {} for {} ({})", side,
                    x.rank(), dims, describe(x), constraint);
  };
  check_range(batch, batch_range);
  check_range(contract, contract_range);
  Dims all = batch;
  all.insert(all.end(), contract.begin(), contract.end());
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end())
    shape_error(kDotGeneralOp,
                "expected distinct dimensions of {}, got batch {} and contracting {} ({})", side,
                batch, contract, unique);
}

void check_extents(const Dims& lhs_dims, const Dims& rhs_dims, const Type& lhs, const Type& rhs,
                   const char* what, const char* constraint) {
  for (size_t i = 0; i < lhs_dims.size(); ++i)
    if (lhs.shape[lhs_dims[i]] != rhs.shape[rhs_dims[i]])
      shape_error(kDotGeneralOp,
                  "expected equal {} dimensions, got {} (dimension {} of {}) and {} (dimension {} "
                  "of {}) ({})",
                  what, lhs.shape[lhs_dims[i]], lhs_dims[i], describe(lhs), rhs.shape[rhs_dims[i]],
                  rhs_dims[i], describe(rhs), constraint);
}

std::vector<Type> infer_dot(std::span<const Type> operands, const DotParams& p) {
  expect_operands(kDotGeneralOp, operands, 2);
  const Type &lhs = operands[0], &rhs = operands[1];
  if (lhs.dtype != rhs.dtype)
    type_error(kDotGeneralOp,
               "expected operands of one dtype, got {} and {}; convert one of them (C13)",
               describe(lhs), describe(rhs));
  if (lhs.dtype == bool_)
    type_error(kDotGeneralOp, "expected numbers, got {}; convert it (to int32, say) first",
               describe(lhs));
  const bool fits = is_complex(lhs.dtype)    ? is_complex(p.result)
                    : is_floating(lhs.dtype) ? is_floating(p.result)
                                             : is_integer(p.result);
  if (!fits)
    type_error(kDotGeneralOp, "expected a result dtype of the kind of {}, got {}", describe(lhs),
               p.result);
  if (p.sum == DotSum::kGrid && (!is_floating(lhs.dtype) || is_half(lhs.dtype) ||
                                 p.result != float64 || p.lhs_contract.empty()))
    type_error(kDotGeneralOp,
               "expected float32 or float64 with a contracting dimension and a float64 result for "
               "sums on a grid, got {} and {}",
               describe(lhs), p.result);
  if (p.lhs_batch.size() != p.rhs_batch.size())
    shape_error(kDotGeneralOp,
                "expected as many batch dimensions of lhs as of rhs, got {} and {} (C1)",
                p.lhs_batch, p.rhs_batch);
  if (p.lhs_contract.size() != p.rhs_contract.size())
    shape_error(kDotGeneralOp,
                "expected as many contracting dimensions of lhs as of rhs, got {} and {} (C2)",
                p.lhs_contract, p.rhs_contract);
  check_dims(p.lhs_batch, p.lhs_contract, lhs, "lhs", "C3", "C5", "C6");
  check_dims(p.rhs_batch, p.rhs_contract, rhs, "rhs", "C4", "C7", "C8");
  check_extents(p.lhs_batch, p.rhs_batch, lhs, rhs, "batch", "C9");
  check_extents(p.lhs_contract, p.rhs_contract, lhs, rhs, "contracting", "C10");
  Shape shape;
  for (int64_t d : p.lhs_batch) shape.push_back(lhs.shape[d]);
  for (int64_t d : dot_free_dims(lhs.rank(), p.lhs_batch, p.lhs_contract))
    shape.push_back(lhs.shape[d]);
  for (int64_t d : dot_free_dims(rhs.rank(), p.rhs_batch, p.rhs_contract))
    shape.push_back(rhs.shape[d]);
  return {Type{.dtype = p.result,
               .shape = shape,
               .weak = lhs.weak && rhs.weak,
               .varying = varying_union(operands)}};
}

// Returns the offsets of all indices of the dimensions `dims`, row-major in the order of `dims`.
Dims offsets(const Shape& shape, const Dims& dims) {
  const Dims strides = row_major_strides(shape);
  Dims all{0};
  for (int64_t d : dims) {
    Dims next;
    next.reserve(all.size() * static_cast<size_t>(shape[d]));
    for (int64_t base : all)
      for (int64_t i = 0; i < shape[d]; ++i) next.push_back(base + i * strides[d]);
    all = std::move(next);
  }
  return all;
}

template <class T>
Literal evaluate_as(const Literal& lhs, const Literal& rhs, const DotParams& p) {
  using W = NaiveSum<T>;
  const Dims lhs_free = dot_free_dims(lhs.shape().rank(), p.lhs_batch, p.lhs_contract),
             rhs_free = dot_free_dims(rhs.shape().rank(), p.rhs_batch, p.rhs_contract);
  const Dims lb = offsets(lhs.shape(), p.lhs_batch), rb = offsets(rhs.shape(), p.rhs_batch),
             lf = offsets(lhs.shape(), lhs_free), rf = offsets(rhs.shape(), rhs_free),
             lc = offsets(lhs.shape(), p.lhs_contract), rc = offsets(rhs.shape(), p.rhs_contract);
  std::vector<W> sums;
  sums.reserve(lb.size() * lf.size() * rf.size());
  const T *x = lhs.data<T>(), *y = rhs.data<T>();
  // With kGrid, the products of each example are summed and rounded separately.
  const size_t examples = p.sum == DotSum::kGrid
                              ? static_cast<size_t>(lhs.shape()[p.lhs_contract[0]])
                              : size_t{1},
               terms = examples == 0 ? 1 : std::max<size_t>(1, lc.size() / examples);
  for (size_t b = 0; b < lb.size(); ++b)
    for (int64_t i : lf)
      for (int64_t j : rf) {
        W sum{};
        for (size_t k0 = 0; k0 < lc.size(); k0 += terms) {
          W product{};
          for (size_t k = k0; k < k0 + terms; ++k)
            product +=
                element_cast<W>(x[lb[b] + i + lc[k]]) * element_cast<W>(y[rb[b] + j + rc[k]]);
          if constexpr (std::is_floating_point_v<W>)
            if (p.sum == DotSum::kGrid) product = std::nearbyint(product);
          sum += product;
        }
        sums.push_back(sum);
      }
  Shape shape;
  for (int64_t d : p.lhs_batch) shape.push_back(lhs.shape()[d]);
  for (int64_t d : lhs_free) shape.push_back(lhs.shape()[d]);
  for (int64_t d : rhs_free) shape.push_back(rhs.shape()[d]);
  Literal out(p.result, shape);
  visit_dtype(p.result, [&]<class R>(TypeTag<R>) {
    if constexpr (std::is_same_v<R, Float16> || std::is_same_v<R, Bfloat16>) {
      if constexpr (!std::is_same_v<W, std::complex<long double>>)
        for (size_t i = 0; i < sums.size(); ++i)
          out.mutable_data<R>()[i] = R(static_cast<float>(sums[i]));
    } else if constexpr (std::is_convertible_v<W, R> || std::is_constructible_v<R, W>) {
      for (size_t i = 0; i < sums.size(); ++i) out.mutable_data<R>()[i] = static_cast<R>(sums[i]);
    }
  });
  return out;
}

std::vector<Literal> evaluate_dot(std::span<const Literal> x, const DotParams& p) {
  return visit_dtype(x[0].dtype(), [&]<class T>(TypeTag<T>) -> std::vector<Literal> {
    return {evaluate_as<T>(x[0], x[1], p)};
  });
}

Factors dot_factors(std::span<const Type> operands, std::span<const Type>, const DotParams& p) {
  const Type &lhs = operands[0], &rhs = operands[1];
  Factors out;
  TensorFactors l(lhs.shape.size()), r(rhs.shape.size()), result;
  for (size_t i = 0; i < p.lhs_batch.size(); ++i) {
    const int f = out.add(lhs.shape[p.lhs_batch[i]]);
    l[p.lhs_batch[i]] = r[p.rhs_batch[i]] = {f};
    result.push_back({f});
  }
  for (int64_t d : dot_free_dims(lhs.rank(), p.lhs_batch, p.lhs_contract)) {
    l[d] = {out.add(lhs.shape[d])};
    result.push_back(l[d]);
  }
  for (int64_t d : dot_free_dims(rhs.rank(), p.rhs_batch, p.rhs_contract)) {
    r[d] = {out.add(rhs.shape[d])};
    result.push_back(r[d]);
  }
  for (size_t i = 0; i < p.lhs_contract.size(); ++i) {
    // An example's product is rounded as a whole, so it cannot be divided among devices.
    const bool whole = p.sum == DotSum::kGrid && i > 0;
    const int f = out.add(lhs.shape[p.lhs_contract[i]],
                          whole ? FactorKind::kNeedReplication : FactorKind::kReduction);
    l[p.lhs_contract[i]] = r[p.rhs_contract[i]] = {f};
  }
  out.operands = {l, r};
  out.results = {result};
  return out;
}

double dot_flops(std::span<const Type> operands, std::span<const Type> results,
                 const DotParams& p) {
  double flops = 2.0 * static_cast<double>(results[0].elements());
  for (int64_t d : p.lhs_contract) flops *= static_cast<double>(operands[0].shape[d]);
  return is_complex(operands[0].dtype) ? 4 * flops : flops;
}

// Returns the cotangent of one operand, lhs or rhs: the result's cotangent, contracted with the
// other operand over the dimensions that came from that one, and then transposed.
//   lhs (b, i, k), rhs (b, k, j), ct (b, i, j): ct and rhs contract j -> (b, i, k), as lhs
Array dot_wrt(const Array& ct, const Array& other, const DotParams& p, bool lhs) {
  const Dims &my_batch = lhs ? p.lhs_batch : p.rhs_batch,
             &my_contract = lhs ? p.lhs_contract : p.rhs_contract;
  const Dims &its_batch = lhs ? p.rhs_batch : p.lhs_batch,
             &its_contract = lhs ? p.rhs_contract : p.lhs_contract;
  const Dims its_free = dot_free_dims(other.ndim(), its_batch, its_contract);
  const int64_t batches = my_batch.rank();
  const int64_t my_rank = ct.ndim() - its_free.rank() + my_contract.rank();
  const Dims my_free = dot_free_dims(my_rank, my_batch, my_contract);
  const int64_t its_first = batches + (lhs ? my_free.rank() : 0);
  Dims ct_contract, ct_batch = iota_dims(batches);
  for (int64_t i = 0; i < its_free.rank(); ++i) ct_contract.push_back(its_first + i);
  DotParams params{ct_batch, its_batch, ct_contract, its_free, other.dtype(), p.sum};
  if (const int64_t examples = lhs ? p.rhs_examples : p.lhs_examples; examples >= 0) {
    // The examples become the first pair of contracting dimensions.
    const auto at = std::find(its_free.begin(), its_free.end(), examples) - its_free.begin();
    std::rotate(params.lhs_contract.begin(), params.lhs_contract.begin() + at,
                params.lhs_contract.begin() + at + 1);
    std::rotate(params.rhs_contract.begin(), params.rhs_contract.begin() + at,
                params.rhs_contract.begin() + at + 1);
    params.sum = DotSum::kExamples;
  }
  const Array product = bind_op1(dot_general_op, params, {ct, other});
  // The dimensions of the product, as dimensions of the operand: batch, free, and then contracting,
  // in the order in which the other operand has them.
  Dims order = my_batch;
  order.insert(order.end(), my_free.begin(), my_free.end());
  std::vector<size_t> by_other(its_contract.size());
  std::iota(by_other.begin(), by_other.end(), size_t{0});
  std::sort(by_other.begin(), by_other.end(),
            [&](size_t a, size_t b) { return its_contract[a] < its_contract[b]; });
  for (size_t i : by_other) order.push_back(my_contract[i]);
  Dims permutation(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) permutation[order[i]] = static_cast<int64_t>(i);
  return permutation == iota_dims(order.rank()) ? product : lax::transpose(product, permutation);
}

// A cotangent of another dtype than the operands is converted to theirs.
std::vector<Array> transpose_dot(std::span<const Array> cts, std::span<const Array> operands,
                                 const std::vector<bool>& linear, const DotParams& p) {
  TESSERA_CHECK(linear[0] != linear[1], "a product of two linear operands");
  std::vector<Array> out(2);
  if (!cts[0].defined()) return out;
  const int mine = linear[0] ? 0 : 1;
  const Array& other = operands[1 - mine];
  const Array ct =
      cts[0].dtype() == other.dtype() ? cts[0] : lax::convert_element_type(cts[0], other.dtype());
  out[mine] = dot_wrt(ct, other, p, mine == 0);
  return out;
}

// Returns the cotangent of the linear operand as outer products of the other operand and ct, one
// for each index of the batch. Rows are the contracting dimensions; the sum is over the other
// operand's free dimensions.
std::optional<OuterProduct> dot_outer_product(const Array& ct, std::span<const Array> operands,
                                              const std::vector<bool>& linear, const DotParams& p) {
  const bool lhs = linear[0];
  const Array &mine = operands[lhs ? 0 : 1], &other = operands[lhs ? 1 : 0];
  const Dims &my_batch = lhs ? p.lhs_batch : p.rhs_batch,
             &my_contract = lhs ? p.lhs_contract : p.rhs_contract,
             &its_batch = lhs ? p.rhs_batch : p.lhs_batch,
             &its_contract = lhs ? p.rhs_contract : p.lhs_contract;
  const Dims my_free = dot_free_dims(mine.ndim(), my_batch, my_contract),
             its_free = dot_free_dims(other.ndim(), its_batch, its_contract);
  const auto count = [](const Array& x, const Dims& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= x.shape()[d];
    return n;
  };
  const int64_t batch = count(mine, my_batch), sum = count(other, its_free);
  Dims x_order = its_batch, y_order = iota_dims(my_batch.rank());
  for (const Dims* dims : {&its_free, &its_contract})
    x_order.insert(x_order.end(), dims->begin(), dims->end());
  const int64_t lhs_free = my_batch.rank(),
                rhs_free = lhs_free + (lhs ? my_free.rank() : its_free.rank());
  for (int64_t d = 0; d < its_free.rank(); ++d) y_order.push_back((lhs ? rhs_free : lhs_free) + d);
  for (int64_t d = 0; d < my_free.rank(); ++d) y_order.push_back((lhs ? lhs_free : rhs_free) + d);
  return OuterProduct{
      .x = lax::reshape(lax::transpose(other, x_order), {batch, sum, count(mine, my_contract)}),
      .y = lax::reshape(lax::transpose(ct, y_order), {batch, sum, count(mine, my_free)}),
      .batch = my_batch,
      .rows = my_contract,
      .columns = my_free};
}

JvpResult jvp_dot(std::span<const Array> x, std::span<const Array> t, const DotParams& p) {
  Array tangent;
  if (p.sum == DotSum::kGrid) return {{bind_op1(dot_general_op, p, {x[0], x[1]})}, {tangent}};
  for (int k = 0; k < 2; ++k) {
    if (!t[k].defined()) continue;
    const Array term = k == 0 ? bind_op1(dot_general_op, p, {t[0], x[1]})
                              : bind_op1(dot_general_op, p, {x[0], t[1]});
    tangent = tangent.defined() ? lax::add(tangent, term) : term;
  }
  return {{bind_op1(dot_general_op, p, {x[0], x[1]})}, {tangent}};
}

// Returns the numbers of the dimensions `dims` after a dimension was inserted at `at`.
Dims shifted(Dims dims, int64_t at) {
  for (int64_t& d : dims) d += d >= at;
  return dims;
}
int64_t free_position(int64_t rank, const Dims& batch, const Dims& contract, int64_t dim) {
  const Dims free = dot_free_dims(rank, batch, contract);
  return std::find(free.begin(), free.end(), dim) - free.begin();
}

// If both operands are mapped, the mapped dimension becomes the first batch dimension. If only one
// is, it becomes a free dimension of that operand.
BatchResult batch_dot(std::span<const Array> x, std::span<const int> dims, const DotParams& p) {
  DotParams q = p;
  const BatchAxis* axis = BatchAxis::current_if_any();
  if (axis && axis->invariant && q.sum == DotSum::kAny) q.sum = DotSum::kInvariant;
  if (dims[0] >= 0)
    q.lhs_batch = shifted(p.lhs_batch, dims[0]), q.lhs_contract = shifted(p.lhs_contract, dims[0]);
  if (dims[1] >= 0)
    q.rhs_batch = shifted(p.rhs_batch, dims[1]), q.rhs_contract = shifted(p.rhs_contract, dims[1]);
  // A dimension that already enumerates examples keeps doing so.
  const auto moved = [](int64_t examples, int dim) {
    return examples >= dim && dim >= 0 ? examples + 1 : examples;
  };
  q.lhs_examples = moved(p.lhs_examples, dims[0]);
  q.rhs_examples = moved(p.rhs_examples, dims[1]);
  int at = 0;
  if (axis && axis->sums_examples && (dims[0] < 0) != (dims[1] < 0))
    (dims[0] >= 0 ? q.lhs_examples : q.rhs_examples) = std::max(dims[0], dims[1]);
  if (dims[0] >= 0 && dims[1] >= 0) {
    q.lhs_batch.insert(q.lhs_batch.begin(), dims[0]);
    q.rhs_batch.insert(q.rhs_batch.begin(), dims[1]);
  } else if (dims[0] >= 0) {
    at = static_cast<int>(q.lhs_batch.rank() +
                          free_position(x[0].ndim(), q.lhs_batch, q.lhs_contract, dims[0]));
  } else {
    at = static_cast<int>(q.lhs_batch.rank() +
                          dot_free_dims(x[0].ndim(), q.lhs_batch, q.lhs_contract).rank() +
                          free_position(x[1].ndim(), q.rhs_batch, q.rhs_contract, dims[1]));
  }
  return {{bind_op1(dot_general_op, q, {x[0], x[1]})}, {at}};
}

std::vector<Sample> dot_samples() {
  std::vector<Sample> out;
  auto add = [&](DType dtype, Shape lhs, Shape rhs, DotParams p) {
    p.result = dtype;
    out.push_back(
        {.operands = {{dtype, std::move(lhs)}, {dtype, std::move(rhs)}}, .params = std::move(p)});
  };
  add(float32, {8, 16}, {16, 4}, {{}, {}, {1}, {0}});
  add(float32, {16, 8}, {4, 16}, {{}, {}, {0}, {1}});
  add(float32, {16}, {16}, {{}, {}, {0}, {0}});
  add(float32, {8}, {4}, {});
  add(float32, {2, 8, 4}, {2, 4, 8}, {{0}, {0}, {2}, {1}});
  add(float32, {3, 4, 2}, {5, 2, 4}, {{2}, {1}, {1}, {2}});
  add(float32, {2, 3, 4}, {4, 2, 5}, {{}, {}, {0, 2}, {1, 0}});
  add(float32, {4, 0}, {0, 4}, {{}, {}, {1}, {0}});
  for (DotSum sum : {DotSum::kInvariant, DotSum::kExamples}) {
    const auto ordered = [&](Dims lhs_contract, Dims rhs_contract) {
      DotParams p{{}, {}, std::move(lhs_contract), std::move(rhs_contract)};
      p.sum = sum;
      return p;
    };
    add(float32, {33, 70}, {70, 20}, ordered({1}, {0}));
    add(float32, {6, 40, 5}, {6, 40, 7}, ordered({0, 1}, {0, 1}));
    add(float32, {6, 3, 5}, {6, 3, 7}, ordered({0, 1}, {0, 1}));
    add(float64, {9, 70}, {70, 50}, ordered({1}, {0}));
  }
  add(float32, {0, 4}, {4, 2}, {{}, {}, {1}, {0}});
  add(float64, {8, 8}, {8, 8}, {{}, {}, {1}, {0}});
  add(float16, {8, 8}, {8, 8}, {{}, {}, {1}, {0}});
  add(bfloat16, {8, 16}, {16, 8}, {{}, {}, {1}, {0}});
  add(int32, {8, 8}, {8, 8}, {{}, {}, {1}, {0}});
  add(complex64, {4, 8}, {8, 4}, {{}, {}, {1}, {0}});
  out.push_back({.operands = {{bfloat16, {8, 16}}, {bfloat16, {16, 8}}},
                 .params = DotParams{{}, {}, {1}, {0}, float32}});
  return out;
}

}  // namespace

const OpDef& dot_general_op = define<DotParams>({
    .name = "dot_general",
    .attributes = {"lhs_batching_dimensions", "rhs_batching_dimensions",
                   "lhs_contracting_dimensions", "rhs_contracting_dimensions", "result_dtype",
                   "sum", "lhs_examples", "rhs_examples"},
    .infer = infer_dot,
    .evaluate = evaluate_dot,
    .factors = dot_factors,
    .lower = Library{LibraryKind::kDot},
    .flops = dot_flops,
    .jvp = {jvp_dot},
    .transpose = {transpose_dot},
    .batch = {batch_dot},
    .samples = dot_samples,
});

namespace {
[[maybe_unused]] const bool kUnrollsDots = register_unroll_rule(dot_general_op, unrolled_dot);
[[maybe_unused]] const bool kDotProduct = register_outer_product(dot_general_op, dot_outer_product);
}  // namespace

Array invariant_dot(const Array& lhs, const Array& rhs, const Dims& lhs_contract,
                    const Dims& rhs_contract, const Dims& lhs_batch, const Dims& rhs_batch) {
  DotParams params{lhs_batch, rhs_batch, lhs_contract, rhs_contract, lhs.dtype()};
  params.sum = DotSum::kInvariant;
  return bind_op1(dot_general_op, params, {lhs, rhs});
}

Array grid_dot(const Array& lhs, const Array& rhs, const Dims& lhs_contract,
               const Dims& rhs_contract, const Dims& lhs_batch, const Dims& rhs_batch) {
  DotParams params{lhs_batch, rhs_batch, lhs_contract, rhs_contract, float64};
  params.sum = DotSum::kGrid;
  return bind_op1(dot_general_op, params, {lhs, rhs});
}

Dims dot_free_dims(int64_t rank, const Dims& batch, const Dims& contract) {
  Dims free;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(batch, d) && !contains(contract, d)) free.push_back(d);
  return free;
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array dot_general(const Array& lhs, const Array& rhs, const DotDims& dims,
                  std::optional<DType> preferred) {
  if (lhs.dtype() == bool_ && rhs.dtype() == bool_) {
    // The result is whether any pair is true: whether their number, in int32, is not 0.
    const DType counts = preferred && *preferred != bool_ ? *preferred : int32;
    const Array pairs = dot_general(convert_element_type(lhs, counts),
                                    convert_element_type(rhs, counts), dims, counts);
    return counts == preferred ? pairs : ne(pairs, full_like(pairs, 0));
  }
  // The op's operands and result have dtypes of one kind. For a floating-point result of integers,
  // or a complex result of real numbers, the operands are converted first.
  const auto kind = [](DType t) { return is_complex(t) ? 2 : is_floating(t) ? 1 : 0; };
  if (preferred && lhs.dtype() == rhs.dtype() && kind(*preferred) > kind(lhs.dtype()))
    return dot_general(convert_element_type(lhs, *preferred), convert_element_type(rhs, *preferred),
                       dims, preferred);
  return bind_op1(dot_general_op,
                  DotParams{dims.lhs_batch, dims.rhs_batch, dims.lhs_contract, dims.rhs_contract,
                            preferred.value_or(lhs.dtype())},
                  {lhs, rhs});
}

Array dot(const Array& lhs, const Array& rhs, std::optional<DType> preferred) {
  if (lhs.ndim() < 1 || lhs.ndim() > 2 || rhs.ndim() < 1 || rhs.ndim() > 2)
    shape_error("dot", "expected vectors or matrices, got {} and {}; use dot_general or matmul",
                describe(lhs.type()), describe(rhs.type()));
  return dot_general(lhs, rhs, {{lhs.ndim() - 1}, {0}}, preferred);
}

Array batch_matmul(const Array& lhs, const Array& rhs, std::optional<DType> preferred) {
  const int64_t rank = lhs.ndim();
  if (rank < 2 || rhs.ndim() != rank)
    shape_error("batch_matmul", "expected two arrays of one rank of at least 2, got {} and {}",
                describe(lhs.type()), describe(rhs.type()));
  const Dims batch = iota_dims(rank - 2);
  return dot_general(lhs, rhs, {{rank - 1}, {rank - 2}, batch, batch}, preferred);
}

}  // namespace tessera::lax
