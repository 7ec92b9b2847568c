#include "tessera/ops/indexing/row_lists.h"

#include "tessera/base/visit_dtype.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/fold_element.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/indexing/row_lists_call.h"

namespace tessera::ops {
namespace {

std::vector<Type> infer_list_rows(std::span<const Type> operands, const ListRowsParams& p) {
  expect_operands("list_rows", operands, 2);
  const Type &index = operands[0], &source = operands[1];
  if (!is_integer(index.dtype) || index.rank() != 1 || source.dtype != int32 ||
      source.shape != index.shape)
    type_error("list_rows", "expected integers (n) and int32 (n), got {} and {}", describe(index),
               describe(source));
  if (p.rows < 0) value_error("list_rows", "expected 0 or more rows, got {}", p.rows);
  const auto vary = varying_union(operands);
  return {{.dtype = int32, .shape = {p.rows}, .weak = false, .varying = vary},
          {.dtype = int32, .shape = source.shape, .weak = false, .varying = vary}};
}

std::vector<Literal> evaluate_list_rows(std::span<const Literal> x, const ListRowsParams& p) {
  const int64_t entries = x[0].elements();
  const Literal index = convert_literal(x[0], int64);
  Literal ends(int32, {p.rows}), sources(int32, {entries});
  int32_t n = 0;
  const auto list = [&](auto belongs) {
    for (int64_t i = 0; i < entries; ++i)
      if (belongs(index.data<int64_t>()[i]))
        sources.mutable_data<int32_t>()[n++] = x[1].data<int32_t>()[i];
  };
  for (int64_t r = 0; r < p.rows; ++r) {
    list([&](int64_t at) { return at == r; });
    ends.mutable_data<int32_t>()[r] = n;
  }
  list([&](int64_t at) { return at < 0 || at >= p.rows; });
  return {ends, sources};
}

// The lists are of all entries and of all rows.
Factors list_rows_factors(std::span<const Type> operands, std::span<const Type> results,
                          const ListRowsParams&) {
  Factors out;
  const auto whole = [&](const Type& type) {
    return TensorFactors{{out.add(type.shape[0], FactorKind::kNeedReplication)}};
  };
  out.operands = {whole(operands[0])};
  out.operands.push_back(out.operands[0]);
  out.results = {whole(results[0]), out.operands[0]};
  return out;
}

std::vector<Type> infer_fold_lists(std::span<const Type> operands, const FoldListsParams& p) {
  expect_operands("fold_lists", operands, 5);
  const Type &x = operands[0], &ends = operands[1], &sources = operands[2], &rows = operands[3],
             &fill = operands[4];
  if (p.kind == ScatterKind::kSet || p.kind == ScatterKind::kCustom)
    value_error("fold_lists", "expected a sum, a product or an extremum, got {}",
                enum_names(p.kind)[static_cast<size_t>(p.kind)]);
  if (x.rank() == 0 || rows.rank() != x.rank() || rows.dtype != x.dtype ||
      !std::equal(x.shape.begin() + 1, x.shape.end(), rows.shape.begin() + 1) ||
      !fill.same_array(Type{.dtype = x.dtype, .shape = {}}))
    type_error("fold_lists", "expected rows like those of {} and a scalar, got {} and {}",
               describe(x), describe(rows), describe(fill));
  if (!ends.same_array(Type{.dtype = int32, .shape = {x.shape[0]}}) || sources.dtype != int32 ||
      sources.rank() != 1)
    type_error("fold_lists", "expected int32 ({}) and int32 (n), got {} and {}", x.shape[0],
               describe(ends), describe(sources));
  return {{.dtype = x.dtype, .shape = x.shape, .weak = x.weak, .varying = varying_union(operands)}};
}

template <ReduceKind kind>
void fold_naively(std::span<const Literal> x, Literal& out) {
  visit_dtype(out.dtype(), [&]<class T>(TypeTag<T>) {
    const int64_t n = out.shape()[0], width = n == 0 ? 0 : out.elements() / n;
    int32_t i = 0;
    for (int64_t r = 0; r < n; ++r)
      for (; i < x[1].data<int32_t>()[r]; ++i) {
        const int32_t s = x[2].data<int32_t>()[i];
        for (int64_t k = 0; k < width; ++k) {
          T& to = out.mutable_data<T>()[r * width + k];
          to = fold_element<kind, T>(to, s < 0 || s >= x[3].shape()[0]
                                             ? x[4].data<T>()[0]
                                             : x[3].data<T>()[s * width + k]);
        }
      }
  });
}

std::vector<Literal> evaluate_fold_lists(std::span<const Literal> x, const FoldListsParams& p) {
  Literal out = x[0];
  switch (p.kind) {
    case ScatterKind::kAdd:
      fold_naively<ReduceKind::kSum>(x, out);
      break;
    case ScatterKind::kMul:
      fold_naively<ReduceKind::kProduct>(x, out);
      break;
    case ScatterKind::kMin:
      fold_naively<ReduceKind::kMin>(x, out);
      break;
    case ScatterKind::kMax:
      fold_naively<ReduceKind::kMax>(x, out);
      break;
    case ScatterKind::kSet:
    case ScatterKind::kCustom:
      TESSERA_CHECK(false, "infer refuses these kinds");
  }
  return {out};
}

Factors fold_lists_factors(std::span<const Type> operands, std::span<const Type>,
                           const FoldListsParams&) {
  Factors out;
  const auto whole = [&](const Type& type) {
    return DimFactors{out.add(type.shape[0], FactorKind::kNeedReplication)};
  };
  TensorFactors x{whole(operands[0])}, rows{whole(operands[3])};
  const TensorFactors ends{x[0]}, sources{whole(operands[2])};
  for (int64_t d = 1; d < operands[0].rank(); ++d) {
    x.push_back({out.add(operands[0].shape[d], FactorKind::kPass)});
    rows.push_back(x.back());
  }
  out.operands = {x, ends, sources, rows, TensorFactors{}};
  out.results = {x};
  return out;
}

Literal ints(std::initializer_list<int32_t> values) {
  return Literal::from<int32_t>(std::span<const int32_t>(values.begin(), values.size()),
                                {static_cast<int64_t>(values.size())});
}

std::vector<Sample> list_rows_samples() {
  std::vector<Sample> out;
  const auto add = [&](const Literal& index, const Literal& source, int64_t rows) {
    out.push_back({.operands = {{index.dtype(), index.shape()}, {int32, source.shape()}},
                   .params = ListRowsParams{rows},
                   .literals = {index, source}});
  };
  const Literal index = ints({2, 0, 9, 2, 0, -1, 3, 2}), source = ints({5, 6, 7, 8, -1, 0, 2, 1});
  for (DType dtype : {int8, int32, int64}) add(convert_literal(index, dtype), source, 4);
  add(convert_literal(ints({2, 0, 9, 200, 3, 1, 0, 255}), uint8), source, 4);
  add(ints({}), ints({}), 4);
  return out;
}

std::vector<Sample> fold_lists_samples() {
  std::vector<Sample> out;
  const auto add = [&](DType dtype, const Shape& x, const Shape& rows, ScatterKind kind,
                       const Literal& ends, const Literal& sources) {
    Sample sample{.operands = {{dtype, x},
                               {int32, ends.shape()},
                               {int32, sources.shape()},
                               {dtype, rows},
                               {dtype, {}}},
                  .params = FoldListsParams{kind}};
    const auto numbers = [&](const Shape& shape, int64_t seed) {
      Literal all(float64, shape);
      for (int64_t i = 0; i < all.elements(); ++i)
        all.mutable_data<double>()[i] = static_cast<double>((i * 37 + seed) % 101) / 8;
      return convert_literal(all, dtype);
    };
    sample.literals = {numbers(x, 5), ends, sources, numbers(rows, 60), numbers({}, 17)};
    out.push_back(std::move(sample));
  };
  const Literal ends = ints({2, 2, 5, 6}), sources = ints({3, 0, 5, -1, 3, 9, 1, 2});
  for (ScatterKind kind :
       {ScatterKind::kAdd, ScatterKind::kMul, ScatterKind::kMin, ScatterKind::kMax})
    for (DType dtype : {float32, int16, bool_}) add(dtype, {4, 8}, {6, 8}, kind, ends, sources);
  for (DType dtype : {float64, bfloat16, float16, complex64, uint64})
    add(dtype, {4, 8}, {6, 8}, ScatterKind::kAdd, ends, sources);
  add(float32, {0}, {6}, ScatterKind::kAdd, ints({}), sources);
  return out;
}

}  // namespace

const OpDef& list_rows_op = define<ListRowsParams>({
    .name = "list_rows",
    .dialect = "tessera",
    .attributes = {"rows"},
    .infer = infer_list_rows,
    .evaluate = evaluate_list_rows,
    .factors = list_rows_factors,
    .lower = Library{LibraryKind::kCall, list_rows_call},
    .jvp = absent("scatters become it after they are differentiated"),
    .transpose = absent("it has only integers"),
    .batch = absent("scatters become it after they are mapped"),
    .samples = list_rows_samples,
});

const OpDef& fold_lists_op = define<FoldListsParams>({
    .name = "fold_lists",
    .dialect = "tessera",
    .attributes = {"kind"},
    .infer = infer_fold_lists,
    .evaluate = evaluate_fold_lists,
    .factors = fold_lists_factors,
    .lower = Library{.kind = LibraryKind::kCall, .call = fold_lists_call, .updates = true},
    .flops =
        [](std::span<const Type> operands, std::span<const Type>, const FoldListsParams&) {
          const Type &x = operands[0], &sources = operands[2];
          if (x.elements() == 0) return 0.0;
          const int64_t width = x.elements() / x.shape[0];
          return static_cast<double>(width * sources.elements());
        },
    .jvp = absent("scatters become it after they are differentiated"),
    .transpose = absent("scatters become it after they are transposed"),
    .batch = absent("scatters become it after they are mapped"),
    .samples = fold_lists_samples,
});

}  // namespace tessera::ops
