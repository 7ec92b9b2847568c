#include "tessera/ir/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::verifier_test {

using namespace ops;

namespace {

using ::testing::HasSubstr;

const Type kVector{float32, {4}};

// sin(x) + x
Function sample() {
  Function f;
  const ValueId x = f.add_input(kVector);
  const ValueId s = f.add_op(sin_op, NoParams{}, {x}, std::vector{kVector}, "user.cc:3")[0];
  f.outputs.push_back(f.add_op(add_op, NoParams{}, {s, x}, std::vector{kVector})[0]);
  return f;
}

std::string failure(const Function& f) {
  try {
    verify(f);
  } catch (const InternalError& e) {
    return e.what();
  }
  return "valid";
}

TEST(Verifier, AcceptsAValidFunction) { EXPECT_EQ(failure(sample()), "valid"); }

TEST(Verifier, NamesTheOpAndItsSource) {
  Function f = sample();
  f.types[1].shape = {5};
  EXPECT_THAT(
      failure(f),
      HasSubstr(
          "result 0 of stablehlo.sine (user.cc:3) is float32[5], its type rule gives float32[4]"));
}

TEST(Verifier, DefinitionsBeforeUses) {
  Function f = sample();
  std::swap(f.ops[0], f.ops[1]);
  EXPECT_THAT(failure(f), HasSubstr("value 1 is used by stablehlo.add before it is defined"));
}

TEST(Verifier, OneDefinitionAValue) {
  Function f = sample();
  f.ops[1].results = {1};
  EXPECT_THAT(failure(f), HasSubstr("value 1 is defined a second time"));
}

TEST(Verifier, IdsInRange) {
  Function f = sample();
  f.ops[1].operands[0] = 17;
  EXPECT_THAT(failure(f),
              HasSubstr("value 17 used by stablehlo.add is not in the table of 3 types"));
  f = sample();
  f.outputs = {-1};
  EXPECT_THAT(failure(f), HasSubstr("value -1 used by the outputs"));
}

TEST(Verifier, OperandsThatTheOpDoesNotTake) {
  Function f = sample();
  f.types[0].dtype = int32;
  EXPECT_THAT(failure(f),
              HasSubstr("stablehlo.sine (user.cc:3) does not accept its operands: [sine]"));
}

TEST(Verifier, VaryingIsSortedAndShardingFits) {
  Function f = sample();
  f.types[2].varying = {"y", "x"};
  EXPECT_THAT(failure(f), HasSubstr("varying axes of value 2"));
  f = sample();
  f.types[2].sharding =
      std::make_shared<const NamedSharding>(Mesh::abstract({2}, {"x"}), PartitionSpec(None, "x"));
  EXPECT_THAT(failure(f), HasSubstr("sharding of value 2"));
}

TEST(Verifier, NestedFunctions) {
  Function body = *reduce_body(ReduceKind::kSum, float32);
  body.name = "broken";
  body.outputs = {9};
  Function f;
  const ValueId x = f.add_input(kVector), init = f.add_input({float32, {}});
  ReduceParams p{{0}, ReduceKind::kCustom, std::make_shared<const Function>(body)};
  f.outputs.push_back(f.add_op(reduce_op, p, {x, init}, std::vector{Type{float32, {}}})[0]);
  EXPECT_THAT(failure(f), HasSubstr("invalid function broken: value 9 used by the outputs"));
}

}  // namespace
}  // namespace tessera::verifier_test
