#include "tessera/sharding/contract_sums.h"

#include <random>

#include "tessera/control/control_flow_ops.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/reshape.h"
#include "tests/evaluate/evaluate.h"
#include "tests/pass_text.h"
#include "tests/trace/control_flow.h"

namespace tessera::contract_sums_test {

using namespace interchange;
using namespace sharding;

namespace {

using Arrays = std::vector<Array>;

int64_t count(const Function& f, const OpDef& def) {
  return std::count_if(f.ops.begin(), f.ops.end(), [&](const Op& op) { return op.def == &def; });
}

// The function before and after the pass. Both compute the same for small integers.
struct Contracted {
  Function before, after;
};
Contracted contracted(const FlatFn& body, const std::vector<Type>& types) {
  Contracted out{tracing::trace_function(body, types).function, {}};
  out.after = contract_sums(out.before);
  verify(out.after);
  std::mt19937 engine(1);
  std::vector<Literal> inputs;
  for (const Type& type : types) {
    Literal& x = inputs.emplace_back(type.dtype, type.shape);
    for (int64_t i = 0; i < x.elements(); ++i)
      x.mutable_data<float>()[i] = static_cast<float>(static_cast<int>(engine() % 7)) - 3;
  }
  const std::vector<Literal> want = evaluate(out.before, inputs), got = evaluate(out.after, inputs);
  EXPECT_EQ(want.size(), got.size());
  for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(want[k], got[k]) << to_mlir(out.after);
  return out;
}

const Type kRows{.dtype = float32, .shape = {5, 3}}, kMore{.dtype = float32, .shape = {5, 4}};

TEST(ContractSums, OfABatchedOuterProduct) {
  const Contracted f = contracted(
      [](const Arrays& x) {
        const Array products = lax::dot_general(x[0], x[1], {{}, {}, {0}, {0}});
        return Arrays{lax::reduce_sum(products, {0})};
      },
      {kRows, kMore});
  EXPECT_EQ(test::text_of(f.after), R"(
func.func public @main(%arg0: tensor<5x3xf32>, %arg1: tensor<5x4xf32>) -> (tensor<3x4xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<5x3xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
)");
}

TEST(ContractSums, OfSomeBatchDimensionsOfAProductThatContractsToo) {
  const Type lhs{.dtype = float32, .shape = {2, 5, 3, 4}},
      rhs{.dtype = float32, .shape = {5, 4, 2, 6}};
  for (const Dims& dims : {Dims{0}, Dims{1}, Dims{0, 1}}) {
    const Contracted f = contracted(
        [&](const Arrays& x) {
          const Array products = lax::dot_general(x[0], x[1], {{3}, {1}, {0, 1}, {2, 0}});
          return Arrays{lax::reduce_sum(products, dims)};
        },
        {lhs, rhs});
    EXPECT_EQ(count(f.after, reduce_op), 0) << to_mlir(f.after);
    EXPECT_EQ(count(f.after, dot_general_op), 1);
  }
}

TEST(ContractSums, OfAProductThatIsReadTransposed) {
  // The remaining dimensions are in the product's order, or exchanged.
  for (const Dims& order : {Dims{1, 0, 2}, Dims{1, 2, 0}, Dims{0, 2, 1}, Dims{2, 0, 1}}) {
    const Contracted f = contracted(
        [&](const Arrays& x) {
          const Array products = lax::dot_general(x[0], x[1], {{}, {}, {0}, {0}});
          const auto batch = std::find(order.begin(), order.end(), 0) - order.begin();
          return Arrays{lax::reduce_sum(lax::transpose(products, order), {batch})};
        },
        {kRows, kMore});
    const bool swaps = order == Dims{2, 0, 1};
    EXPECT_EQ(count(f.after, reduce_op), swaps ? 1 : 0) << to_mlir(f.after);
  }
}

TEST(ContractSums, NotWhereTheProductIsUsedOtherwise) {
  const auto products = [](const Arrays& x) {
    return lax::dot_general(x[0], x[1], {{}, {}, {0}, {0}});
  };
  const std::vector<FlatFn> kept = {
      [&](const Arrays& x) {
        const Array p = products(x);
        return Arrays{lax::reduce_sum(p, {0}), p};
      },
      [&](const Arrays& x) { return Arrays{lax::reduce_sum(products(x), {1})}; },
      [&](const Arrays& x) {
        return Arrays{lax::reduce_sum(products(x), {0, 2})};
      },
      [&](const Arrays& x) { return Arrays{lax::reduce_max(products(x), {0})}; },
  };
  for (const FlatFn& f : kept) EXPECT_EQ(count(contracted(f, {kRows, kMore}).after, reduce_op), 1);
}

TEST(ContractSums, AProductThatIsOnlyReadTransposedIsComputedSo) {
  const Contracted f = contracted(
      [](const Arrays& x) {
        return Arrays{lax::transpose(lax::dot(x[0], x[1]), {1, 0})};
      },
      {kRows, Type{.dtype = float32, .shape = {3, 4}}});
  EXPECT_EQ(count(f.after, transpose_op), 0) << to_mlir(f.after);
  EXPECT_EQ(f.after.ops[0].operands[0], f.after.inputs[1]);
  const Contracted batched = contracted(
      [](const Arrays& x) {
        const Array p = lax::dot_general(x[0], x[1], {{2}, {1}, {0}, {0}});  // [2, 3, 5, 4]
        return Arrays{lax::transpose(p, {0, 3, 1, 2}), lax::transpose(p, {0, 2, 1, 3})};
      },
      {Type{.dtype = float32, .shape = {2, 3, 6, 5}}, Type{.dtype = float32, .shape = {2, 6, 4}}});
  EXPECT_EQ(count(batched.after, transpose_op), 2) << "it is read twice";
}

// Private losses need this: the product of an example must not depend on the other examples.
TEST(ContractSums, AProductThatIsOnlyReadTransposedKeepsItsOrderOfSummation) {
  const Contracted f = contracted(
      [](const Arrays& x) {
        return Arrays{
            lax::transpose(ops::invariant_dot(x[0], x[1], {1}, {1}, {0}, {0}), {0, 2, 1})};
      },
      {Type{.dtype = float32, .shape = {6, 2, 3}}, Type{.dtype = float32, .shape = {6, 2, 4}}});
  EXPECT_EQ(count(f.after, transpose_op), 0) << to_mlir(f.after);
  EXPECT_EQ(f.after.ops[0].params.as<DotParams>().sum, DotSum::kInvariant);
}

TEST(ContractSums, ASumOfOneTermIsThatTerm) {
  const Contracted f = contracted(
      [](const Arrays& x) {
        return Arrays{lax::reduce_sum(lax::sin(x[0]), {1, 2})};
      },
      {Type{.dtype = float32, .shape = {5, 1, 1}}});
  EXPECT_EQ(count(f.after, reduce_op), 0);
  EXPECT_EQ(count(f.after, reshape_op), 1);
  // A sum of no elements is 0.
  const Contracted empty =
      contracted([](const Arrays& x) { return Arrays{lax::reduce_sum(x[0], {1})}; },
                 {Type{.dtype = float32, .shape = {5, 0}}});
  EXPECT_EQ(count(empty.after, reduce_op), 1);
}

TEST(ContractSums, InRegions) {
  const Contracted f = contracted(
      [](const Arrays& x) {
        return testing_control::scan(3, {x[0], x[1]}, {x[2]}, {}, [](const Arrays& b) {
          const Array products = lax::dot_general(b[0], b[1], {{}, {}, {0}, {0}});
          return Arrays{lax::add(b[2], lax::reduce_sum(products, {0}))};
        });
      },
      {kRows, kMore, Type{.dtype = float32, .shape = {3, 4}}});
  const Function& body = *f.after.ops[0].params.as<ScanParams>().body;
  EXPECT_EQ(count(body, reduce_op), 0) << to_mlir(f.after);
}

}  // namespace
}  // namespace tessera::contract_sums_test
