#include "tessera/ops/structural/sort.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "tessera/base/thread_pool.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/scalar_fold.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort_lines.h"
#include "tessera/ops/structural/sort_order.h"
#include "tessera/ops/structural/unroll_sort.h"

namespace tessera::ops {
namespace {

constexpr std::string_view kSortOp = "sort";

std::vector<DType> dtypes_of(std::span<const Type> types) {
  std::vector<DType> out;
  for (const Type& t : types) out.push_back(t.dtype);
  return out;
}

std::vector<Type> infer_sort(std::span<const Type> operands, const SortParams& p) {
  if (operands.empty()) type_error(kSortOp, "expected at least one operand (C1)");
  expect_same_shape(kSortOp, operands);
  const int64_t rank = operands[0].rank();
  if (p.dimension < -rank || p.dimension >= std::max<int64_t>(rank, 1))
    shape_error(kSortOp, "expected a dimension in [{}, {}) (C4), got {} for {}", -rank, rank,
                p.dimension, describe(operands[0]));
  if (rank == 0)
    shape_error(kSortOp, "expected arrays of rank 1 or more, got {}", describe(operands[0]));
  if (!p.comparator && (p.num_keys < 1 || p.num_keys > static_cast<int64_t>(operands.size())))
    value_error(kSortOp, "expected 1 to {} keys, got {}", operands.size(), p.num_keys);
  if (p.comparator) {
    const Function& f = *p.comparator;
    bool fits = f.inputs.size() == 2 * operands.size() && f.outputs.size() == 1 &&
                f.type(f.outputs[0]).same_array(Type{bool_, {}});
    for (size_t k = 0; fits && k < f.inputs.size(); ++k)
      fits = f.type(f.inputs[k]).same_array(Type{operands[k / 2].dtype, {}});
    if (!fits)
      type_error(kSortOp,
                 "expected a comparator of two scalars an operand to bool (C5), got another");
  }
  const AxisNames varying = varying_union(operands);
  std::vector<Type> out;
  for (const Type& t : operands)
    out.push_back({.dtype = t.dtype, .shape = t.shape, .weak = t.weak, .varying = varying});
  return out;
}

int64_t dimension_of(const SortParams& p, int64_t rank) {
  return p.dimension < 0 ? p.dimension + rank : p.dimension;
}

// The comparator on scalars: (a, b) -> whether element a is before element b.
class Comparator {
 public:
  Comparator(const Function& f, std::span<const DType> dtypes, std::span<const std::byte* const> x)
      : f_(f), x_(x) {
    for (DType dtype : dtypes) {
      args_.emplace_back(dtype, Shape{});
      args_.emplace_back(dtype, Shape{});
    }
  }
  bool operator()(int64_t a, int64_t b) {
    for (size_t k = 0; k < args_.size(); ++k) {
      const auto item = static_cast<size_t>(itemsize(args_[k].dtype()));
      std::memcpy(args_[k].mutable_raw(), x_[k / 2] + static_cast<size_t>(k % 2 ? b : a) * item,
                  item);
    }
    return evaluate_function(f_, args_)[0].data<bool>()[0];
  }

 private:
  const Function& f_;
  std::span<const std::byte* const> x_;
  std::vector<Literal> args_;
};

std::atomic<int64_t> comparator_calls = 0;

void sort_by_comparator(const Function& f, std::span<const DType> dtypes, const Lines& lines,
                        std::span<const std::byte* const> x, std::span<std::byte* const> out) {
  parallel_for(lines.count, [&](int64_t line) {
    Comparator before(f, dtypes, x);
    std::vector<int64_t> order(static_cast<size_t>(lines.size));
    const int64_t begin = lines.begin(line);
    int64_t calls = 0;
    for (int64_t i = 0; i < lines.size; ++i) order[i] = begin + i * lines.stride;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      ++calls;
      return before(a, b);
    });
    comparator_calls += calls;
    for (size_t k = 0; k < x.size(); ++k) {
      const auto item = static_cast<size_t>(itemsize(dtypes[k]));
      for (int64_t i = 0; i < lines.size; ++i)
        std::memcpy(out[k] + static_cast<size_t>(begin + i * lines.stride) * item,
                    x[k] + static_cast<size_t>(order[i]) * item, item);
    }
  });
}

std::vector<Literal> evaluate_sort(std::span<const Literal> x, const SortParams& p) {
  const Lines lines(x[0].shape(), dimension_of(p, x[0].shape().rank()));
  std::vector<DType> dtypes;
  std::vector<Literal> out(x.begin(), x.end());
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (size_t k = 0; k < x.size(); ++k) {
    dtypes.push_back(x[k].dtype());
    from.push_back(x[k].raw());
    to.push_back(out[k].mutable_raw());
  }
  const FunctionRef f = p.comparator
                            ? p.comparator
                            : sort_comparator(p.num_keys, p.descending, p.total_order, dtypes);
  sort_by_comparator(*f, dtypes, lines, from, to);
  return out;
}

HostCall sort_call(const OpParams& params, std::span<const Type> operands, std::span<const Type>) {
  const SortParams& p = params.as<SortParams>();
  const Lines lines(operands[0].shape, dimension_of(p, operands[0].rank()));
  const std::vector<DType> dtypes = dtypes_of(operands);
  const std::optional<SortOrder> order =
      p.comparator ? order_of(*p.comparator)
                   : default_order(p.num_keys, p.descending, p.total_order, dtypes);
  // If keys contain NaNs, the comparator may be no order; then it is called.
  const FunctionRef comparator = p.comparator;
  return [=](std::span<const void* const> in, std::span<void* const> out) {
    std::vector<const std::byte*> from;
    std::vector<std::byte*> to;
    for (size_t k = 0; k < in.size(); ++k) {
      from.push_back(static_cast<const std::byte*>(in[k]));
      to.push_back(static_cast<std::byte*>(out[k]));
    }
    if (order && sort_by_keys(*order, dtypes, lines, from, to)) return;
    sort_by_comparator(*comparator, dtypes, lines, from, to);
  };
}

// --- Rules ---

Factors sort_factors(std::span<const Type> operands, std::span<const Type> results,
                     const SortParams& p) {
  Factors out = pointwise_factors(operands, results);
  const int64_t d = dimension_of(p, operands[0].rank());
  out.factors[out.results[0][d][0]].kind = FactorKind::kNeedReplication;
  return out;
}

double sort_flops(std::span<const Type> operands, std::span<const Type>, const SortParams& p) {
  const auto n = static_cast<double>(
      std::max<int64_t>(2, operands[0].shape[dimension_of(p, operands[0].rank())]));
  return static_cast<double>(operands[0].elements()) * std::log2(n);
}

// The tangents are permuted like the elements.
JvpResult jvp_sort(std::span<const Array> x, std::span<const Array> t, const SortParams& p) {
  const int64_t d = dimension_of(p, x[0].ndim());
  if (x[0].size() == 0) return {bind_op(sort_op, p, x), {t.begin(), t.end()}};
  SortParams q = p;
  const DType index = x[0].shape()[d] < (int64_t{1} << 31) ? int32 : int64;
  std::vector<Array> operands(x.begin(), x.end());
  operands.push_back(lax::iota(index, x[0].shape(), d));
  if (p.comparator) {
    Function f = *p.comparator;
    f.add_input({index, {}});
    f.add_input({index, {}});
    q.comparator = std::make_shared<const Function>(std::move(f));
  }
  JvpResult out{.primals = bind_op(sort_op, q, operands)};
  const Array order = out.primals.back();
  out.primals.pop_back();
  for (const Array& tangent : t)
    out.tangents.push_back(tangent.defined() ? lax::take_along(tangent, order, d) : Array());
  return out;
}

BatchResult batch_sort(std::span<const Array> x, std::span<const int> dims, const SortParams& p) {
  int64_t size = -1;
  for (size_t k = 0; k < x.size(); ++k)
    if (dims[k] >= 0) size = x[k].shape()[dims[k]];
  std::vector<Array> operands;
  for (size_t k = 0; k < x.size(); ++k)
    operands.push_back(lax::with_batch_first(x[k], dims[k], size));
  SortParams q = p;
  q.dimension = dimension_of(p, operands[0].ndim() - 1) + 1;
  return {bind_op(sort_op, q, operands), std::vector<int>(x.size(), 0)};
}

std::vector<Sample> sort_samples() {
  std::vector<Sample> out;
  auto add = [&](std::vector<Type> types, SortParams p) {
    out.push_back({.operands = std::move(types), .params = p});
  };
  for (DType dtype :
       {float32, float64, float16, bfloat16, int8, int32, int64, uint16, uint64, bool_, complex64})
    add({{dtype, {4, 12}}}, {1});
  add({{float32, {12, 4}}}, {0, true, 1, true});
  add({{int32, {12, 4}}}, {0, true, 1, true});
  add({{float32, {2, 8, 2}}, {float32, {2, 8, 2}}}, {1});
  add({{int32, {32}}, {float32, {32}}, {uint8, {32}}}, {0, true, 2});
  add({{int64, {32}}, {float32, {32}}}, {-1, true, 2, true});
  add({{float32, {0}}}, {0});
  add({{float32, {3, 1}}}, {1});
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const std::vector<float> odd{1, nan, -0.0F, 0, -inf, inf, -1, 0, -0.0F, -nan};
  Literal index(int32, {10});
  std::iota(index.mutable_data<int32_t>(), index.mutable_data<int32_t>() + 10, 0);
  for (bool descending : {false, true})
    for (bool total_order : {false, true})
      for (DType dtype : {float32, float64, float16, bfloat16})
        out.push_back(
            {.operands = {{dtype, {10}}, {int32, {10}}},
             .params = SortParams{0, true, 1, descending, total_order},
             .literals = {convert_literal(Literal::from<float>(odd, {10}), dtype), index}});
  add({{float32, {2, 5}}, {float64, {2, 5}}}, {1, true, 2, false, true});
  add({{complex64, {7}}}, {0, true, 1, false, true});
  return out;
}

// --- The comparator, and its text ---

class ComparatorBuilder {
 public:
  FunctionRef run(const SortOrder& order, std::span<const DType> dtypes) {
    f_.name = "comparator";
    std::vector<std::pair<ValueId, ValueId>> keys;
    for (DType dtype : dtypes) {
      const ValueId a = f_.add_input({dtype, {}});
      inputs_.emplace_back(a, f_.add_input({dtype, {}}));
    }
    for (const SortKey& key : order) {
      const auto [a, b] = inputs_[static_cast<size_t>(key.operand)];
      const ValueId x = part(key.part, a), y = part(key.part, b);
      const ValueId first = canonical(key, x);
      keys.emplace_back(first, canonical(key, y));
    }
    ValueId before = -1;
    for (size_t k = keys.size(); k-- > 0;) {
      const auto [x, y] = keys[k];
      const ValueId less =
          compare(order[k].descending ? Comparison::kGt : Comparison::kLt, x, y, true);
      if (before < 0) {
        before = less;
        continue;
      }
      const ValueId equal = compare(Comparison::kEq, x, y, true);
      const ValueId later = op(bitwise_and_op, NoParams{}, {equal, before});
      before = op(bitwise_or_op, NoParams{}, {less, later});
    }
    f_.outputs = {before};
    return std::make_shared<const Function>(std::move(f_));
  }

 private:
  ValueId op(const OpDef& def, const OpParams& params, std::initializer_list<ValueId> operands) {
    const std::vector<Type> types = f_.types_of(std::span(operands.begin(), operands.size()));
    return f_.add_op(def, params, ValueIds(operands), def.infer(types, params))[0];
  }
  ValueId compare(Comparison direction, ValueId a, ValueId b, bool total) {
    const DType dtype = f_.type(a).dtype;
    const CompareType type =
        total && is_floating(dtype) ? CompareType::kTotalOrder : default_compare_type(dtype);
    return op(compare_op, CompareParams{direction, type}, {a, b});
  }
  ValueId number(DType dtype, double value) {
    return op(constant_op, ConstantParams{convert_literal(Literal::scalar(value), dtype), {}}, {});
  }
  ValueId part(KeyPart part, ValueId x) {
    if (part == KeyPart::kWhole) return x;
    const OpDef& def = *find_op("stablehlo", part == KeyPart::kReal ? "real" : "imag");
    return op(def, def.params, {x});
  }
  // Returns x with one zero and one NaN in place of the zeros and NaNs that the key does not
  // distinguish.
  ValueId canonical(const SortKey& key, ValueId x) {
    const DType dtype = f_.type(x).dtype;
    if (!is_floating(dtype)) return x;
    ValueId out = x;
    if (key.equal_zeros) {
      const ValueId is_zero = compare(Comparison::kEq, x, number(dtype, 0), false);
      const ValueId zero = number(dtype, 0);
      out = op(select_op, NoParams{}, {is_zero, zero, x});
    }
    if (key.nans == NanOrder::kByBits) return out;
    const ValueId is_nan = compare(Comparison::kNe, x, x, false);
    const ValueId nan = number(dtype, std::numeric_limits<double>::quiet_NaN());
    return op(select_op, NoParams{}, {is_nan, nan, out});
  }
  Function f_;
  std::vector<std::pair<ValueId, ValueId>> inputs_;
};

}  // namespace

const SortParams* as_sort(const Op& op) {
  return op.def == &sort_op ? &op.params.as<SortParams>() : nullptr;
}

const OpDef& sort_op = define<SortParams>({
    .name = "sort",
    .attributes = {"dimension", "is_stable", "num_keys", "descending", "total_order", "comparator"},
    .infer = infer_sort,
    .evaluate = evaluate_sort,
    .factors = sort_factors,
    .lower = Library{LibraryKind::kCall, sort_call},
    .flops = sort_flops,
    .jvp = {jvp_sort},
    .transpose = absent("sorting is not linear"),
    .batch = {batch_sort},
    .samples = sort_samples,
});

namespace {
[[maybe_unused]] const bool kUnrollsSorts = register_unroll_rule(sort_op, unrolled_sort);
}  // namespace

int64_t interpreted_comparisons() { return comparator_calls; }

FunctionRef sort_comparator(int64_t num_keys, bool descending, bool total_order,
                            std::span<const DType> dtypes) {
  return comparator_of(default_order(num_keys, descending, total_order, dtypes), dtypes);
}

FunctionRef comparator_of(const SortOrder& order, std::span<const DType> dtypes) {
  return ComparatorBuilder().run(order, dtypes);
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

namespace {

std::vector<Array> bind_sort(std::span<const Array> operands, SortParams p) {
  SourceScope source("sort");
  if (operands.empty()) type_error("sort", "expected at least one operand");
  if (operands[0].ndim() == 0)
    shape_error("sort", "expected arrays of rank 1 or more, got {}", describe(operands[0].type()));
  p.dimension = normalize_axis("sort", p.dimension, operands[0].ndim());
  return bind_op(sort_op, std::move(p), operands);
}

}  // namespace

std::vector<Array> sort(std::span<const Array> operands, int64_t dimension, int64_t num_keys,
                        bool descending) {
  return bind_sort(operands, {dimension, true, num_keys, descending});
}

std::vector<Array> sort(std::span<const Array> operands, int64_t dimension,
                        FunctionRef comparator) {
  return bind_sort(operands, {dimension, true, 1, false, false, std::move(comparator)});
}

std::pair<Array, Array> top_k(const Array& x, int64_t k) {
  SourceScope source("top_k");
  const int64_t last = x.ndim() - 1;
  if (last < 0)
    shape_error("top_k", "expected an array of rank 1 or more, got {}", describe(x.type()));
  if (k < 0 || k > x.shape()[last])
    value_error("top_k", "expected k in [0, {}], got {} for {}", x.shape()[last], k,
                describe(x.type()));
  const std::vector<Array> operands{x, iota(int32, x.shape(), last)};
  const std::vector<Array> sorted = bind_sort(operands, {last, true, 1, true, true});
  return {slice_in_dim(sorted[0], 0, k, 1, last), slice_in_dim(sorted[1], 0, k, 1, last)};
}

}  // namespace tessera::lax
