// Sums and choices that become updates: tests which ops are left, and that no bit of the results
// changes.
#include "tessera/fusion/rewrites/simplify_updates.h"

#include "fusion_testing.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::fusion_testing::simplify_updates_test {

using namespace fusion;

namespace {

using namespace array_math;

Array number(int32_t value) { return Array(Literal::scalar(value)); }

// Returns the number of elements of the largest result of such an op in the simplified function; -1
// if there is no such op. Compares the results.
template <class F>
int64_t largest(const OpDef& def, const std::vector<Type>& types, F body) {
  const Function f = trace(types, body), simple = simplify(f);
  for (uint32_t seed : {1, 2, 3}) {
    std::vector<Literal> inputs = random_inputs(f, seed);
    // Some elements are -0.
    for (Literal& input : inputs)
      if (input.dtype() == float32 && input.elements() > 3) input.mutable_data<float>()[2] = -0.0F;
    const std::vector<Literal> want = evaluate(f, inputs), got = evaluate(simple, inputs);
    for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(got[k], want[k]);
  }
  int64_t out = -1;
  for (const Op& op : simple.ops)
    if (op.def == &def) out = std::max(out, simple.type(op.results[0]).elements());
  return out;
}

const std::vector<Type> kTypes = {f32({40, 3}), f32({2, 3}), array_type(int32, {}), f32({})};

Array in_zeros(const Array& update, const Array& row, double zero = 0) {
  return lax::dynamic_update_slice(lax::full({40, 3}, zero, float32), update,
                                   std::vector<Array>{row, number(0)});
}

TEST(SimplifyUpdates, ASumWithABoxOfZeros) {
  const auto sum = [&](auto body) { return largest(add_op, kTypes, body); };
  EXPECT_EQ(sum([](const Arrays& x) { return Arrays{lax::exp(x[0]) + in_zeros(x[1], x[2])}; }), 6);
  EXPECT_EQ(sum([](const Arrays& x) { return Arrays{in_zeros(x[1], x[2]) + lax::exp(x[0])}; }), 6);
  EXPECT_EQ(sum([](const Arrays& x) {
              return Arrays{lax::exp(x[0]) +
                            lax::pad(x[1], lax::full({}, 0, float32), {7, 0}, {31, 0}, {0, 0})};
            }),
            6);
  // These sums stay: x may have a -0 where the other operand is 0; the padding is -0; the padding
  // is not around one box.
  EXPECT_EQ(sum([](const Arrays& x) { return Arrays{x[0] + in_zeros(x[1], x[2])}; }), 120);
  EXPECT_EQ(
      sum([](const Arrays& x) { return Arrays{lax::exp(x[0]) + in_zeros(x[1], x[2], -0.0)}; }),
      120);
  EXPECT_EQ(sum([](const Arrays& x) { return Arrays{lax::exp(x[0]) + in_zeros(x[1], x[2], 1)}; }),
            120);
  EXPECT_EQ(sum([](const Arrays& x) {
              return Arrays{lax::slice(lax::exp(x[0]), {0, 0}, {3, 3}) +
                            lax::pad(x[1], lax::full({}, 0, float32), {0, 0}, {0, 0}, {1, 0})};
            }),
            9);
}

TEST(SimplifyUpdates, OfIntegersAnyArray) {
  const std::vector<Type> types = {array_type(int32, {50}), array_type(int32, {2})};
  EXPECT_EQ(
      largest(add_op, types,
              [](const Arrays& x) {
                return Arrays{x[0] + lax::dynamic_update_slice(lax::full({50}, 0, int32), x[1],
                                                               std::vector<Array>{number(9)})};
              }),
      2);
}

TEST(SimplifyUpdates, ALargePartStaysASum) {
  const std::vector<Type> types = {f32({8}), f32({3})};
  EXPECT_EQ(largest(add_op, types,
                    [](const Arrays& x) {
                      return Arrays{lax::exp(x[0]) +
                                    lax::dynamic_update_slice(lax::full({8}, 0, float32), x[1],
                                                              std::vector<Array>{number(2)})};
                    }),
            8);
}

TEST(SimplifyUpdates, AChoiceOfAnUpdate) {
  const auto update = [](const Arrays& x) {
    return lax::dynamic_update_slice(x[0], x[1], std::vector<Array>{x[2], number(0)});
  };
  const auto chosen = [&](auto body) { return largest(select_op, kTypes, body); };
  EXPECT_EQ(chosen([&](const Arrays& x) {
              return Arrays{lax::select(lax::gt(x[3], lax::full_like(x[3], 0)), update(x), x[0])};
            }),
            6);
  EXPECT_EQ(
      chosen([&](const Arrays& x) {
        const Array scalar = lax::gt(x[3], lax::full_like(x[3], 0));
        return Arrays{lax::select(lax::broadcast_in_dim(scalar, {40, 3}, {}), x[0], update(x))};
      }),
      6);
  // A choice with another array, and one with a predicate that differs between elements.
  EXPECT_EQ(chosen([&](const Arrays& x) {
              return Arrays{
                  lax::select(lax::gt(x[3], lax::full_like(x[3], 0)), update(x), lax::exp(x[0]))};
            }),
            120);
  EXPECT_EQ(chosen([&](const Arrays& x) {
              return Arrays{lax::select(lax::gt(x[0], lax::full_like(x[0], 0)), update(x), x[0])};
            }),
            120);
}

TEST(SimplifyUpdates, AChoiceOfAScatter) {
  const IndexDims rows{.offset_dims = {},
                       .collapsed_slice_dims = {1},
                       .start_index_map = {1},
                       .operand_batching_dims = {0},
                       .start_indices_batching_dims = {0}};
  const std::vector<Type> types = {f32({5, 30}), array_type(int32, {5}), f32({5})};
  for (bool first : {true, false}) {
    EXPECT_EQ(
        largest(select_op, types,
                [&](const Arrays& x) {
                  const Array index = lax::rem(lax::abs(x[1]), lax::full({5}, 40, int32));
                  const Array out = lax::scatter(x[0], lax::reshape(index, {5, 1}), x[2], rows,
                                                 ScatterKind::kAdd);
                  const Array some = lax::gt(x[2], lax::full({5}, 0, float32));
                  const Array all = lax::broadcast_in_dim(some, {5, 30}, {0});
                  return Arrays{first ? lax::select(all, out, x[0]) : lax::select(all, x[0], out)};
                }),
        5);
  }
  // If windows are spread over a dimension, each element along it has a predicate of its own.
  EXPECT_EQ(
      largest(select_op, {f32({30}), array_type(int32, {5}), f32({5})},
              [&](const Arrays& x) {
                const IndexDims dims{
                    .offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
                const Array out =
                    lax::scatter(x[0], lax::reshape(x[1], {5, 1}), x[2], dims, ScatterKind::kAdd);
                return Arrays{lax::select(lax::gt(x[0], lax::full({30}, 0, float32)), out, x[0])};
              }),
      30);
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_updates_test
