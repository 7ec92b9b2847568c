#include "tessera/fusion/rewrites/expected_branches.h"

#include "fusion_testing.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tessera/ops/core/expect.h"
#include "tests/trace/control_flow.h"

namespace tessera::fusion_testing::expected_branches_test {

using namespace fusion;

namespace {

using namespace array_math;
namespace control = testing_control;

Array expected(const Array& index, int64_t way) {
  return bind_op1(expect_op, ExpectParams{way}, {index});
}

// Applies the pass, compares the results before and after for these indices, and checks the fused
// schedule. Returns the function after the pass.
Function taken(const Function& f, const std::vector<Literal>& indices) {
  const Function out = take_expected_branches(f);
  ir::verify(out);
  for (const Literal& index : indices) {
    std::vector<Literal> inputs = random_inputs(f);
    inputs[0] = index;
    const std::vector<Literal> want = evaluate(f, inputs), got = evaluate(out, inputs);
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_EQ(want[k], got[k]) << interchange::to_mlir(out);
    check(out, inputs);
  }
  return out;
}

std::vector<const Op*> branches_of(const Function& f) {
  std::vector<const Op*> out;
  for (const Op& op : f.ops)
    if (op.def == &case_op) out.push_back(&op);
  return out;
}

const std::vector<Literal> kBools{Literal::scalar(false), Literal::scalar(true)};
const Shape kLarge{128, 256};

TEST(ExpectedBranches, LargeResultsAreCorrectedOneByOne) {
  const Function f =
      trace({array_type(bool_, {}), f32(kLarge), f32(kLarge), f32({3})}, [](const Arrays& x) {
        const Arrays out =
            control::branch(expected(x[0], 1), {x[1], x[2], x[3]},
                            {[](const Arrays& b) {
                               return Arrays{lax::sin(b[0]), lax::cos(b[1]), lax::exp(b[2]), b[2]};
                             },
                             [](const Arrays& b) {
                               return Arrays{b[0] + b[1], b[0] * b[1], -b[2], b[2] + b[2]};
                             }});
        return Arrays{lax::sqrt(lax::abs(out[0])), out[1], out[2], out[3]};
      });
  const Function out = taken(f, kBools);
  const std::vector<const Op*> branches = branches_of(out);
  ASSERT_EQ(branches.size(), 3U) << interchange::to_mlir(out);
  // The operands of a large result's branch are the index, the input of the unlikely branch and the
  // expected result. The two small results share a branch.
  EXPECT_EQ(branches[0]->operands.size(), 3U);
  EXPECT_EQ(branches[1]->operands.size(), 3U);
  EXPECT_EQ(branches[2]->results.size(), 2U);
  const Schedule s = fuse(simplified(out), Mesh());
  int64_t rare = 0;
  for (const Step& step : s.steps)
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      EXPECT_EQ(branch->expected, 1U);
      EXPECT_TRUE(branch->is_unlikely(0));
      EXPECT_TRUE(branch->branches[1]->steps.empty());
      ++rare;
    }
  EXPECT_EQ(rare, 3);
}

TEST(ExpectedBranches, OfThreeAndOutOfRange) {
  const Function f = trace({array_type(int32, {}), f32({4})}, [](const Arrays& x) {
    // An index beyond the last branch means the last.
    return control::branch(expected(x[0], 7), {x[1]},
                           {[](const Arrays& b) { return Arrays{lax::sin(b[0])}; },
                            [](const Arrays& b) { return Arrays{b[0]}; },
                            [](const Arrays& b) { return Arrays{b[0] * b[0]}; }});
  });
  const Function out = taken(f, {Literal::scalar(int32_t{0}), Literal::scalar(int32_t{1}),
                                 Literal::scalar(int32_t{2}), Literal::scalar(int32_t{-1})});
  EXPECT_EQ(branches_of(out).size(), 1U);
}

TEST(ExpectedBranches, ResultsThatAreOperandsOrTheSameTwice) {
  const Function f = trace({array_type(bool_, {}), f32({4}), f32({4})}, [](const Arrays& x) {
    return control::branch(expected(x[0], 0), {x[1], x[2]},
                           {[](const Arrays& b) {
                              const Array sum = b[0] + b[1];
                              return Arrays{b[1], sum, sum};
                            },
                            [](const Arrays& b) {
                              return Arrays{b[0], b[0], b[1]};
                            }});
  });
  taken(f, kBools);
}

TEST(ExpectedBranches, InsideLoopsAndEachOther) {
  const Function f = trace({array_type(bool_, {}), f32({4})}, [](const Arrays& x) {
    return control::scan(3, {x[0]}, {x[1]}, {}, [](const Arrays& b) {
      return control::branch(expected(b[0], 1), {b[0], b[1]},
                             {[](const Arrays& c) { return Arrays{lax::sin(c[1])}; },
                              [](const Arrays& c) {
                                return control::branch(
                                    expected(c[0], 1), {c[1]},
                                    {[](const Arrays& d) { return Arrays{lax::cos(d[0])}; },
                                     [](const Arrays& d) { return Arrays{d[0] + d[0]}; }});
                              }});
    });
  });
  const Function out = taken(f, kBools);
  EXPECT_EQ(branches_of(*out.ops[0].params.as<ScanParams>().body).size(), 2U)
      << interchange::to_mlir(out);
}

TEST(ExpectedBranches, LoopsThatAConditionEndsStayWhereTheyAre) {
  const auto counts = [](const Arrays& b) {
    return control::while_loop(
        {b[0]},
        [](const Arrays& c) {
          return Arrays{lax::lt(lax::reduce_max(c[0], {0}), lax::full({}, 10, float32))};
        },
        [](const Arrays& c) { return Arrays{c[0] + 1.0f}; });
  };
  const Function f = trace({array_type(bool_, {}), f32({4})}, [&](const Arrays& x) {
    return control::branch(expected(x[0], 1), {x[1]},
                           {[](const Arrays& b) { return Arrays{lax::sin(b[0])}; }, counts});
  });
  const Function out = taken(f, kBools);
  ASSERT_EQ(branches_of(out).size(), 1U);
  EXPECT_EQ(branches_of(out)[0]->operands.size(), 2U) << "nothing is handed on";
  const Function without = trace({array_type(bool_, {}), f32({4})}, [&](const Arrays& x) {
    return control::branch(x[0], {x[1]},
                           {[](const Arrays& b) { return Arrays{lax::sin(b[0])}; },
                            [](const Arrays& b) { return Arrays{b[0]}; }});
  });
  EXPECT_EQ(interchange::to_mlir(take_expected_branches(without)), interchange::to_mlir(without));
}

}  // namespace
}  // namespace tessera::fusion_testing::expected_branches_test
