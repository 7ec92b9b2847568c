#include "tessera/fusion/rewrites/simplify_split_scatters.h"

#include "fusion_testing.h"
#include "tessera/fusion/rewrites/simplify.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/indexing/scatter.h"

namespace tessera::fusion_testing::simplify_split_scatters_test {

using namespace fusion;

namespace {

using ops::ScatterParams;

// Returns a body of float32 scalars: `outputs` returns its results for its inputs.
using Inputs = std::vector<ValueId>;
using Outputs = std::function<std::vector<ValueId>(Function& body, const Inputs& in)>;
FunctionRef body_of(size_t arrays, const Outputs& outputs) {
  Function body;
  Inputs in;
  for (size_t k = 0; k < 2 * arrays; ++k) in.push_back(body.add_input(array_type(float32, {})));
  body.outputs = outputs(body, in);
  return std::make_shared<const Function>(std::move(body));
}

ValueId bound(Function& body, const OpDef& op, ValueId x, ValueId y) {
  return body.add_op(op, op.params, {x, y}, std::vector{array_type(float32, {})})[0];
}

// Returns a function that scatters five updates into arrays of eight elements.
Function scatter_function(size_t arrays, const FunctionRef& body, int64_t updates = 5) {
  const ScatterParams p{{}, {0}, {}, {}, {0}, 1, ScatterKind::kCustom, body};
  std::vector<Type> types(arrays, f32({8}));
  types.push_back(array_type(int32, {updates, 1}));
  types.insert(types.end(), arrays, f32({updates}));
  return trace(types, [&](const Arrays& x) {
    return bind_op(ops::scatter_op, p, std::span<const Array>(x));
  });
}

// Returns the kinds of the scatters that are left.
std::vector<ScatterKind> kinds(const Function& f) {
  std::vector<ScatterKind> out;
  for (const Op& op : f.ops)
    if (op.def == &ops::scatter_op) out.push_back(op.params.as<ScatterParams>().kind);
  return out;
}

void expect_same_results(const Function& f, const Function& simple) {
  std::vector<Literal> inputs = random_inputs(f);
  Literal& indices = inputs[inputs.size() / 2];
  const std::vector<int32_t> at{3, 0, 3, 9, -1};
  for (int64_t i = 0; i < indices.elements(); ++i)
    indices.mutable_data<int32_t>()[i] = at[static_cast<size_t>(i)];
  EXPECT_EQ(evaluate(simple, inputs), evaluate(f, inputs));
}

TEST(SplitScatters, ArraysThatAreNotMixedGetTheirOwn) {
  const Function f =
      scatter_function(3, body_of(3, [](Function& body, const Inputs& in) {
                         return std::vector<ValueId>{bound(body, ops::add_op, in[0], in[3]), in[4],
                                                     bound(body, ops::max_op, in[2], in[5])};
                       }));
  const Function simple = simplify(f);
  EXPECT_EQ(kinds(simple), (std::vector{ScatterKind::kAdd, ScatterKind::kSet, ScatterKind::kMax}));
  expect_same_results(f, simple);
}

// An intermediate value mixes the first and the third array.
TEST(SplitScatters, ArraysThatAreMixedStayTogether) {
  const Function f =
      scatter_function(3, body_of(3, [](Function& body, const Inputs& in) {
                         const ValueId sum = bound(body, ops::add_op, in[0], in[5]);
                         return std::vector<ValueId>{bound(body, ops::mul_op, sum, in[3]),
                                                     bound(body, ops::min_op, in[1], in[4]), in[2]};
                       }));
  const Function simple = simplify(f);
  EXPECT_EQ(kinds(simple), (std::vector{ScatterKind::kCustom, ScatterKind::kMin}));
  expect_same_results(f, simple);
}

TEST(SplitScatters, OneThatMixesAllStays) {
  const Function f =
      scatter_function(2, body_of(2, [](Function& body, const Inputs& in) {
                         return std::vector<ValueId>{bound(body, ops::add_op, in[0], in[3]),
                                                     bound(body, ops::max_op, in[1], in[3])};
                       }));
  const Function simple = simplify(f);
  EXPECT_EQ(kinds(simple), std::vector{ScatterKind::kCustom});
  expect_same_results(f, simple);
  EXPECT_TRUE(split_scatter(f.ops.back()).empty());
}

TEST(SplitScatters, OneWindowOfSeveralArraysIsAnUpdateOfSlices) {
  const Function f = scatter_function(
      2,
      body_of(2,
              [](Function& body, const Inputs& in) {
                return std::vector<ValueId>{bound(body, ops::add_op, in[0], in[2]), in[3]};
              }),
      1);
  const Function simple = simplify(f);
  EXPECT_TRUE(kinds(simple).empty());
  expect_same_results(f, simple);
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_split_scatters_test
