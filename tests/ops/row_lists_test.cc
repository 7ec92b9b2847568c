// Errors of list_rows and fold_lists, and their code on several threads against loops.
#include "tessera/ops/indexing/row_lists.h"

#include <random>

#include "tessera/base/thread_pool.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::row_lists_test {

using namespace ops;

namespace {

Type type(DType dtype, const Shape& shape) { return {.dtype = dtype, .shape = shape}; }

TEST(RowLists, RefuseOperandsThatDoNotFit) {
  const auto list = [](const Type& index, const Type& source, int64_t rows) {
    return list_rows_op.infer(std::vector{index, source}, ListRowsParams{rows});
  };
  const Type five = type(int32, {5});
  EXPECT_USER_ERROR(list(type(float32, {5}), five, 3),
                    "[list_rows] expected integers (n) and int32 (n), got float32[5] and int32[5]");
  EXPECT_USER_ERROR(list(type(int8, {5, 1}), five, 3), "[list_rows] expected integers (n)");
  EXPECT_USER_ERROR(list(five, type(int64, {5}), 3), "got int32[5] and int64[5]");
  EXPECT_USER_ERROR(list(five, type(int32, {4}), 3), "got int32[5] and int32[4]");
  EXPECT_USER_ERROR(list(five, five, -1), "[list_rows] expected 0 or more rows, got -1");
}

TEST(FoldLists, RefusesOperandsThatDoNotFit) {
  const auto fold = [](const Type& x, const Type& ends, const Type& sources, const Type& rows,
                       const Type& fill, ScatterKind kind = ScatterKind::kAdd) {
    return fold_lists_op.infer(std::vector{x, ends, sources, rows, fill}, FoldListsParams{kind});
  };
  const Type x = type(float32, {3, 2}), ends = type(int32, {3}), sources = type(int32, {5}),
             rows = type(float32, {4, 2}), fill = type(float32, {});
  EXPECT_EQ(fold(x, ends, sources, rows, fill)[0].shape, Shape({3, 2}));
  EXPECT_USER_ERROR(fold(x, ends, sources, rows, fill, ScatterKind::kSet),
                    "[fold_lists] expected a sum, a product or an extremum, got set");
  EXPECT_USER_ERROR(fold(x, ends, sources, type(float32, {4, 3}), fill),
                    "[fold_lists] expected rows like those of float32[3,2] and a scalar, got "
                    "float32[4,3] and float32[]");
  EXPECT_USER_ERROR(fold(fill, ends, sources, fill, fill), "expected rows like those of float32[]");
  EXPECT_USER_ERROR(fold(x, ends, sources, rows, type(float64, {})),
                    "got float32[4,2] and float64[]");
  EXPECT_USER_ERROR(fold(x, type(int32, {4}), sources, rows, fill),
                    "[fold_lists] expected int32 (3) and int32 (n), got int32[4] and int32[5]");
  EXPECT_USER_ERROR(fold(x, ends, type(int64, {5}), rows, fill), "got int32[3] and int64[5]");
}

std::vector<Literal> called(const OpDef& op, const OpParams& params,
                            const std::vector<Literal>& x) {
  std::vector<Type> types;
  std::vector<const void*> in;
  for (const Literal& literal : x) {
    types.push_back(type(literal.dtype(), literal.shape()));
    in.push_back(literal.raw());
  }
  const std::vector<Type> results = op.infer(types, params);
  std::vector<Literal> out;
  std::vector<void*> to;
  for (const Type& result : results) out.emplace_back(result.dtype, result.shape);
  for (Literal& literal : out) to.push_back(literal.mutable_raw());
  std::get<Library>(op.lower).call(params, types, results)(in, to);
  return out;
}

// The rows of the lists: spread evenly, one with most of the entries, and only the last one.
Literal random_index(int64_t entries, int64_t rows, int which) {
  std::mt19937 engine(static_cast<uint32_t>(rows));
  Literal out(int32, {entries});
  for (int64_t i = 0; i < entries; ++i) {
    const auto random = static_cast<int32_t>(engine() % static_cast<uint32_t>(rows + 2)) - 1;
    const auto last = static_cast<int32_t>(rows - 1);
    out.mutable_data<int32_t>()[i] = which == 2                 ? last
                                     : which == 1 && i % 8 != 0 ? last / 2
                                                                : random;
  }
  return out;
}

TEST(FoldLists, LargeOnesAreFoldedInOrderOnAnyNumberOfThreads) {
  const int before = num_threads();
  const int64_t entries = 9000, sources = 300;
  for (const auto& [rows, width] : {std::pair{500, 4}, {500, 32}, {7, 133}, {1, 257}, {2000, 61}})
    for (int which = 0; which < 3; ++which)
      for (DType dtype : {float32, float64, bfloat16, int32, complex64})
        for (ScatterKind kind : {ScatterKind::kAdd, ScatterKind::kMul}) {
          SCOPED_TRACE(
              fmt::format("{} {} {} {} {}", rows, width, which, dtype, static_cast<int>(kind)));
          const Literal index = random_index(entries, rows, which);
          Literal numbers(float32, {sources, width}), x(float32, {rows, width});
          std::mt19937 engine(3);
          for (Literal* literal : {&numbers, &x})
            for (int64_t i = 0; i < literal->elements(); ++i)
              literal->mutable_data<float>()[i] = 0.9f + static_cast<float>(engine() % 1000) / 5000;
          std::vector<Literal> results;
          for (int threads : {1, 3}) {
            set_num_threads(threads);
            const std::vector<Literal> listed = called(list_rows_op, ListRowsParams{rows},
                                                       {index, random_index(entries, sources, 0)});
            EXPECT_EQ(listed,
                      list_rows_op.evaluate(std::vector{index, random_index(entries, sources, 0)},
                                            ListRowsParams{rows}));
            results.push_back(called(
                fold_lists_op, FoldListsParams{kind},
                {convert_literal(x, dtype), listed[0], listed[1], convert_literal(numbers, dtype),
                 convert_literal(Literal::scalar(1.5f), dtype)})[0]);
            if (threads == 1)
              results.push_back(
                  fold_lists_op.evaluate(std::vector{convert_literal(x, dtype), listed[0],
                                                     listed[1], convert_literal(numbers, dtype),
                                                     convert_literal(Literal::scalar(1.5f), dtype)},
                                         FoldListsParams{kind})[0]);
          }
          EXPECT_EQ(results[0], results[1]);
          EXPECT_EQ(results[0], results[2]);
        }
  set_num_threads(before);
}

TEST(FoldLists, WithoutRowsAllAreFills) {
  const auto ints = [](std::vector<int32_t> values) {
    return Literal::from<int32_t>(values, {static_cast<int64_t>(values.size())});
  };
  const Literal x = Literal::from<float>(std::vector<float>{1, 2, 3, 4}, {2, 2});
  const Literal y = called(
      fold_lists_op, FoldListsParams{},
      {x, ints({2, 3}), ints({0, -1, 7}), Literal(float32, {0, 2}), Literal::scalar(10.0f)})[0];
  EXPECT_EQ(y, Literal::from<float>(std::vector<float>{21, 22, 13, 14}, {2, 2}));
}

}  // namespace
}  // namespace tessera::testing_ops::row_lists_test
