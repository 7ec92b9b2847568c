#include "tessera/fusion/rewrites/simplify_row_scatters.h"

#include "fusion_testing.h"
#include "tessera/ops/indexing/row_lists.h"

namespace tessera::fusion_testing::simplify_row_scatters_test {

using namespace fusion;

namespace {

using ops::GatherParams;
using ops::ScatterParams;

int64_t count(const Function& f, const OpDef& def) {
  return std::count_if(f.ops.begin(), f.ops.end(), [&](const Op& op) { return op.def == &def; });
}

// Numbers from -low to high, so that some are outside of the rows.
Literal indices(DType dtype, const Shape& shape, int64_t low, int64_t high, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int64_t> numbers(low, high);
  Literal out(int64, shape);
  for (int64_t i = 0; i < out.elements(); ++i) out.mutable_data<int64_t>()[i] = numbers(engine);
  return convert_literal(out, dtype);
}

struct Case {
  DType dtype = float32, index = int32;
  ScatterKind kind = ScatterKind::kAdd;
  IndexMode mode = IndexMode::kFill;
  std::optional<double> fill = std::nullopt;
};

constexpr int64_t kRows = 50, kSources = 70, kWidth = 8;

// Returns the sum of gathered rows by another index.
Array summed(const Arrays& x, const Case& c, const Shape& batch) {
  const IndexDims dims{
      .offset_dims = {batch.rank()}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
  const Array rows = lax::gather(x[1], x[3], dims, {1, kWidth}, c.mode, c.fill);
  return lax::scatter(x[0], x[2], rows, dims, c.kind);
}
std::vector<Type> types_of(const Case& c, const Shape& batch) {
  Shape vectors = batch;
  vectors.push_back(1);
  return {array_type(c.dtype, {kRows, kWidth}), array_type(c.dtype, {kSources, kWidth}),
          array_type(c.index, vectors), array_type(c.index, vectors)};
}

void expect_lists(const Case& c, const Shape& batch) {
  const Function f =
      trace(types_of(c, batch), [&](const Arrays& x) { return Arrays{summed(x, c, batch)}; });
  const Function simple = simplify(f);
  EXPECT_EQ(count(simple, ops::scatter_op), 0);
  EXPECT_EQ(count(simple, ops::gather_op), 0);
  EXPECT_EQ(count(simple, ops::list_rows_op), 1);
  EXPECT_EQ(count(simple, ops::fold_lists_op), 1);
  std::vector<Literal> inputs = random_inputs(f);
  const int64_t low = is_signed(c.index) ? -3 : 0;
  inputs[2] = indices(c.index, inputs[2].shape(), low, kRows + 3, 1);
  inputs[3] = indices(c.index, inputs[3].shape(), low, kSources + 3, 2);
  EXPECT_EQ(evaluate(simple, inputs)[0], evaluate(f, inputs)[0]);
}

TEST(SimplifyRowScatters, GatheredRowsAreFoldedWhereTheyAre) {
  const Shape batch{2100}, two{30, 70};
  for (DType dtype : {float32, float64, bfloat16, int16, bool_, complex64})
    expect_lists({.dtype = dtype}, batch);
  for (DType index : {int8, uint8, int64, uint32}) expect_lists({.index = index}, two);
  for (ScatterKind kind : {ScatterKind::kMul, ScatterKind::kMin, ScatterKind::kMax})
    expect_lists({.kind = kind, .fill = 0.5}, two);
  for (IndexMode mode : {IndexMode::kClip, IndexMode::kPromiseInBounds, IndexMode::kFill})
    expect_lists({.mode = mode, .fill = 0.25}, batch);
}

TEST(SimplifyRowScatters, ScattersWithTheSameIndicesShareLists) {
  const Case c;
  const Function f = trace(types_of(c, {2100}), [&](const Arrays& x) {
    const Array once = summed(x, c, {2100});
    return Arrays{once, summed({once, lax::exp(x[1]), x[2], x[3]}, c, {2100})};
  });
  const Function simple = simplify(f);
  EXPECT_EQ(count(simple, ops::list_rows_op), 1);
  EXPECT_EQ(count(simple, ops::fold_lists_op), 2);
}

TEST(SimplifyRowScatters, OtherScattersStay) {
  const auto lists = [](const std::vector<Type>& types, const auto& body) {
    return count(simplify(trace(types, body)), ops::fold_lists_op);
  };
  const Case c;
  const IndexDims dims{.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
  const auto gathered = [&](const Arrays& x) {
    return lax::gather(x[1], x[3], dims, {1, kWidth}, c.mode, c.fill);
  };
  // Something else reads the updates, or they are computed from the rows and other values.
  EXPECT_EQ(lists(types_of(c, {2100}),
                  [&](const Arrays& x) {
                    const Array rows = gathered(x);
                    return Arrays{lax::scatter(x[0], x[2], rows, dims, c.kind), rows};
                  }),
            0);
  EXPECT_EQ(lists(types_of(c, {2100}),
                  [&](const Arrays& x) {
                    return Arrays{lax::scatter(x[0], x[2], lax::exp(gathered(x)), dims, c.kind)};
                  }),
            0);
  // Two different fills.
  EXPECT_EQ(
      lists(types_of(c, {2100}),
            [&](const Arrays& x) {
              const Array rows = gathered(x);
              const Array inside = lax::broadcast_in_dim(
                  lax::reshape(lax::ge(x[3], lax::full_like(x[3], 3)), {2100}), rows.shape(), {0});
              return Arrays{lax::scatter(
                  x[0], x[2], lax::select(inside, rows, lax::full_like(rows, 2)), dims, c.kind)};
            }),
      0);
  // The last row counts, and there are few of them.
  EXPECT_EQ(lists(types_of({.kind = ScatterKind::kSet}, {2100}),
                  [&](const Arrays& x) {
                    return Arrays{summed(x, {.kind = ScatterKind::kSet}, {2100})};
                  }),
            0);
  EXPECT_EQ(lists(types_of(c, {100}), [&](const Arrays& x) { return Arrays{summed(x, c, {100})}; }),
            0);
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_row_scatters_test
