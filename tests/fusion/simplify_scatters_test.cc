#include "tessera/fusion/rewrites/simplify_scatters.h"

#include "fusion_testing.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::fusion_testing::simplify_scatters_test {

using namespace fusion;

namespace {

using ops::ScatterParams;

Function scatter_function(const std::vector<Type>& types, const ScatterParams& p) {
  return trace(types, [&](const Arrays& x) {
    return Arrays{bind_op1(ops::scatter_op, p, {x[0], x[1], x[2]})};
  });
}

bool has(const Function& f, const OpDef& def) {
  return std::any_of(f.ops.begin(), f.ops.end(), [&](const Op& op) { return op.def == &def; });
}

template <class T>
Literal starts_of(const Shape& shape, const std::vector<int64_t>& values) {
  Literal out(dtype_of<T>, shape);
  for (size_t i = 0; i < values.size(); ++i) out.mutable_data<T>()[i] = static_cast<T>(values[i]);
  return out;
}

// Expects that the scatter becomes slices. Compares the results of both for starts inside and
// outside of the array, and at the ends of the dtype.
template <class T>
void expect_slices(DType dtype, const Shape& x, const Shape& indices, const Shape& updates,
                   const ScatterParams& p) {
  const std::vector<Type> types{array_type(dtype, x), array_type(dtype_of<T>, indices),
                                array_type(dtype, updates)};
  const Function f = scatter_function(types, p), simple = simplify(f);
  EXPECT_FALSE(has(simple, ops::scatter_op));
  EXPECT_TRUE(has(simple, ops::dynamic_update_slice_op));
  std::vector<Literal> inputs = random_inputs(f);
  const int64_t entries = indices.elements();
  for (int64_t a : std::vector<int64_t>{0, 1, 3, 4, 5, 6, 9, 120, -1, -3,
                                        static_cast<int64_t>(std::numeric_limits<T>::max()),
                                        static_cast<int64_t>(std::numeric_limits<T>::min())})
    for (int64_t b : {0, 2, 7, -2}) {
      inputs[1] = starts_of<T>(indices, entries == 2 ? std::vector{a, b} : std::vector{a});
      EXPECT_EQ(evaluate(simple, inputs)[0], evaluate(f, inputs)[0]) << a << " " << b;
    }
}

TEST(SimplifyScatters, OneWindowIsAnUpdateOfASlice) {
  for (ScatterKind kind : {ScatterKind::kSet, ScatterKind::kAdd, ScatterKind::kMul,
                           ScatterKind::kMin, ScatterKind::kMax})
    for (DType dtype : {bool_, int8, uint32, bfloat16, float32, float64}) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(kind), dtype));
      // Updates of an element, of a row, of a part of a matrix with swapped starts, and of one
      // window of a list.
      expect_slices<int32_t>(dtype, {6}, {1}, {}, {{}, {0}, {}, {}, {0}, 0, kind});
      expect_slices<uint8_t>(dtype, {6, 4}, {1}, {4}, {{0}, {0}, {}, {}, {0}, 0, kind});
      expect_slices<int8_t>(dtype, {300}, {}, {3}, {{0}, {}, {}, {}, {0}, 0, kind});
      expect_slices<int64_t>(dtype, {6, 8}, {2}, {2, 3}, {{0, 1}, {}, {}, {}, {1, 0}, 0, kind});
      expect_slices<uint64_t>(dtype, {6, 8}, {2}, {2}, {{0}, {1}, {}, {}, {0, 1}, 0, kind});
      expect_slices<int32_t>(dtype, {6, 4}, {1, 1}, {1, 4}, {{1}, {0}, {}, {}, {0}, 1, kind});
      expect_slices<int32_t>(dtype, {1, 6}, {1, 1}, {1}, {{}, {1}, {0}, {0}, {1}, 1, kind});
    }
}

TEST(SimplifyScatters, ComplexNumbersAreAddedToo) {
  for (ScatterKind kind : {ScatterKind::kSet, ScatterKind::kAdd, ScatterKind::kMul})
    expect_slices<int32_t>(complex64, {6}, {1}, {}, {{}, {0}, {}, {}, {0}, 0, kind});
}

TEST(SimplifyScatters, SeveralWindowsStayAScatter) {
  const ScatterParams p{{}, {0}, {}, {}, {0}, 1, ScatterKind::kAdd};
  const Function f = scatter_function({f32({6}), array_type(int32, {2, 1}), f32({2})}, p);
  EXPECT_TRUE(has(simplify(f), ops::scatter_op));
  // A scatter with a body of its own stays a scatter, too.
  ScatterParams own = p;
  own.kind = ScatterKind::kCustom;
  own.body = ops::scatter_body(ScatterKind::kAdd, float32);
  const Function g = scatter_function({f32({6}), array_type(int32, {1, 1}), f32({1})}, own);
  EXPECT_TRUE(has(simplify(g), ops::scatter_op));
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_scatters_test
