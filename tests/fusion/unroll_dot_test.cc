#include "tessera/ops/linear/unroll_dot.h"

#include "unroll_testing.h"

namespace tessera::fusion_testing::unroll_dot_test {
namespace {

struct Product {
  DType dtype;
  Shape lhs, rhs;
  lax::DotDims dims;
  std::optional<DType> preferred = std::nullopt;
};
std::vector<Type> types_of(const Product& p) {
  return {array_type(p.dtype, p.lhs), array_type(p.dtype, p.rhs)};
}
auto body_of(const Product& p) {
  return [=](const Arrays& x) { return Arrays{lax::dot_general(x[0], x[1], p.dims, p.preferred)}; };
}
void expect_product(const Product& p) {
  SCOPED_TRACE(::testing::Message() << p.lhs << " by " << p.rhs);
  expect_unrolled("dot_general", types_of(p), body_of(p), Keeps::kValues);
}

TEST(UnrollDot, OuterProducts) {
  expect_product({float32, {3, 5}, {4}, {{}, {}}});
  expect_product({float32, {5, 7}, {7}, {{}, {}, {1}, {0}}});
  expect_product({float64, {5, 1}, {1, 6}, {{1}, {0}}});  // a sum of one term
  expect_product({int32, {6, 3, 2}, {2, 4}, {{}, {}, {2}, {0}}});
}

TEST(UnrollDot, RowsOfABatch) {
  expect_product({float32, {5, 7}, {5, 7}, {{1}, {1}, {0}, {0}}});
  expect_product({float64, {7, 5, 1}, {1, 5, 7}, {{0}, {2}, {1}, {1}}});
  expect_product({bfloat16, {40}, {40}, {{0}, {0}}});
  expect_product({int32, {3, 4}, {4, 3}, {{0, 1}, {1, 0}}});
}

TEST(UnrollDot, SumsOf16BitNumbersAreInFloat32) {
  expect_product({bfloat16, {3, 200}, {3, 200}, {{1}, {1}, {0}, {0}}, float32});
}

TEST(UnrollDot, SmallMatrices) {
  expect_product({float32, {64, 2, 3}, {64, 3, 4}, {{2}, {1}, {0}, {0}}});
  expect_product({float32, {1, 2, 3}, {1, 3, 4}, {{2}, {1}, {0}, {0}}});
  expect_product({complex64, {3, 64, 3}, {64, 3, 3}, {{0}, {2}, {1}, {0}}});
  expect_product({int32, {64, 2, 2, 2}, {64, 2, 2, 1}, {{2, 3}, {2, 1}, {0}, {0}}});
}

TEST(UnrollDot, SumsOfOuterProducts) {
  const Product p{float32, {3, 2, 5}, {2, 6, 3}, {{0, 1}, {2, 0}}};
  const Function product = trace(types_of(p), body_of(p)),
                 sums = trace(types_of(p), [&](const Arrays&x) {
                   return Arrays{sum_of_outer_products(x[0], x[1], p.dims)};
                 });
  for (const char* name : {"dot_general", "reduce"}) EXPECT_FALSE(has_op(sums, name)) << name;
  const std::vector<Literal> inputs = random_inputs(product);
  expect_close(evaluate(sums, inputs)[0], evaluate(product, inputs)[0], "sums of outer products");
}

TEST(UnrollDot, LeftToTheLibrary) {
  const auto kept = [](const Product& p) { expect_kept("dot_general", types_of(p), body_of(p)); };
  kept({float32, {8, 8}, {8, 8}, {{1}, {0}}});
  kept({float32, {40}, {40}, {{0}, {0}}});
  kept({float32, {4, 4}, {4, 4}, {{1}, {0}}});
  kept({float32, {64, 2, 5}, {64, 5, 2}, {{2}, {1}, {0}, {0}}});
  expect_kept("dot_general", {f32({5, 7}), f32({5, 7})}, [](const Arrays& x) {
    return Arrays{invariant_dot(x[0], x[1], {1}, {1}, {0}, {0})};
  });
}

}  // namespace
}  // namespace tessera::fusion_testing::unroll_dot_test
