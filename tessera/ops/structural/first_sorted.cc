#include <algorithm>
#include <cstring>

#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/ops/structural/sort_lines.h"

namespace tessera::ops {
namespace {

constexpr std::string_view kFirstSortedOp = "first_sorted";

SortParams whole_sort(const FirstSortedParams& p) {
  return {p.dimension, true, p.num_keys, p.descending, p.total_order};
}

std::vector<Type> infer_first_sorted(std::span<const Type> operands, const FirstSortedParams& p) {
  std::vector<Type> out = sort_op.infer(operands, whole_sort(p));
  const int64_t size =
      out[0].shape.rank() == 0 ? 0 : out[0].shape[std::max<int64_t>(p.dimension, 0)];
  if (p.dimension < 0 || p.count < 0 || p.count > size)
    value_error(kFirstSortedOp, "expected a dimension >= 0 and a count in [0, {}], got {} and {}",
                size, p.dimension, p.count);
  if (p.index && !is_integer(p.index_dtype))
    type_error(kFirstSortedOp, "expected places of an integer dtype, got {}", p.index_dtype);
  for (Type& type : out) type.shape[p.dimension] = p.count;
  if (p.index)
    out.push_back(
        {.dtype = p.index_dtype, .shape = out[0].shape, .weak = false, .varying = out[0].varying});
  return out;
}

// Returns the first `count` elements along the dimension.
Literal first_of(const Literal& x, int64_t dimension, int64_t count) {
  Shape shape = x.shape();
  const auto item = static_cast<size_t>(itemsize(x.dtype()));
  const Lines lines(shape, dimension);
  shape[dimension] = count;
  Literal out(x.dtype(), shape);
  for (int64_t line = 0; line < lines.count; ++line)
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(out.mutable_raw() +
                      item * static_cast<size_t>(lines.begin_of(line, count) + i * lines.stride),
                  x.raw() + item * static_cast<size_t>(lines.begin(line) + i * lines.stride), item);
  return out;
}

std::vector<Literal> evaluate_first_sorted(std::span<const Literal> x, const FirstSortedParams& p) {
  std::vector<Literal> all(x.begin(), x.end());
  if (p.index) {
    const Lines lines(x[0].shape(), p.dimension);
    Literal places(int64, x[0].shape());
    for (int64_t line = 0; line < lines.count; ++line)
      for (int64_t i = 0; i < lines.size; ++i)
        places.mutable_data<int64_t>()[lines.begin(line) + i * lines.stride] = i;
    all.push_back(convert_literal(places, p.index_dtype));
  }
  std::vector<Literal> out = sort_op.evaluate(all, whole_sort(p));
  for (Literal& literal : out) literal = first_of(literal, p.dimension, p.count);
  return out;
}

HostCall first_sorted_call(const OpParams& params, std::span<const Type> operands,
                           std::span<const Type>) {
  const FirstSortedParams& p = params.as<FirstSortedParams>();
  const Lines lines(operands[0].shape, p.dimension);
  std::vector<DType> dtypes;
  for (const Type& type : operands) dtypes.push_back(type.dtype);
  const SortOrder order = default_order(p.num_keys, p.descending, p.total_order, dtypes);
  const int64_t count = p.count;
  const std::optional<DType> index = p.index ? std::optional(p.index_dtype) : std::nullopt;
  return [=](std::span<const void* const> in, std::span<void* const> out) {
    std::vector<const std::byte*> from;
    std::vector<std::byte*> to;
    for (const void* x : in) from.push_back(static_cast<const std::byte*>(x));
    for (void* x : out) to.push_back(static_cast<std::byte*>(x));
    first_by_keys(order, dtypes, lines, count, index, from, to);
  };
}

Factors first_sorted_factors(std::span<const Type> operands, std::span<const Type> results,
                             const FirstSortedParams& p) {
  Factors out;
  TensorFactors all, first;
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const bool sorted = d == p.dimension;
    all.push_back(
        {out.add(operands[0].shape[d], sorted ? FactorKind::kNeedReplication : FactorKind::kPass)});
    first.push_back(sorted ? DimFactors{out.add(p.count, FactorKind::kNeedReplication)}
                           : all.back());
  }
  out.operands.assign(operands.size(), all);
  out.results.assign(results.size(), first);
  return out;
}

std::vector<Sample> first_sorted_samples() {
  std::vector<Sample> out;
  auto add = [&](std::vector<Type> types, FirstSortedParams p) {
    out.push_back({.operands = std::move(types), .params = p});
  };
  for (DType dtype :
       {float32, float64, float16, bfloat16, int8, int32, int64, uint16, uint64, bool_, complex64})
    add({{dtype, {4, 24}}}, {1, 3, 1, true, true, true, int32});
  add({{float32, {24, 4}}, {int32, {24, 4}}}, {0, 2, 1, false, false, true, int64});
  add({{int32, {2, 24, 2}}, {float32, {2, 24, 2}}}, {1, 4, 2, true});
  add({{float32, {2, 24}}}, {1, 24, 1, false, false, true, int32});
  add({{float32, {2, 24}}}, {1, 0});
  return out;
}

}  // namespace

const OpDef& first_sorted_op = define<FirstSortedParams>({
    .name = "first_sorted",
    .dialect = "tessera",
    .attributes = {"dimension", "count", "num_keys", "descending", "total_order", "index",
                   "index_dtype"},
    .infer = infer_first_sorted,
    .evaluate = evaluate_first_sorted,
    .factors = first_sorted_factors,
    .lower = Library{LibraryKind::kCall, first_sorted_call},
    .flops = [](std::span<const Type> operands, std::span<const Type>,
                const FirstSortedParams&) { return static_cast<double>(operands[0].elements()); },
    .jvp = absent("sorts become it after they are differentiated"),
    .transpose = absent("sorting is not linear"),
    .batch = absent("sorts become it after they are mapped"),
    .samples = first_sorted_samples,
});

}  // namespace tessera::ops
