#include "tessera/ir/rule.h"

#include <gtest/gtest.h>

#include <bit>

#include "tessera/ir/op_def.h"
#include "tessera/ir/params_fields.h"

namespace tessera::ir {
namespace {

struct ScaledParams {
  int64_t factor = 0;
};
const bool scaled_is_defined = [] {
  define_params<ScaledParams>();
  return true;
}();

template <class P>
struct Rules {
  Rule<int64_t(int64_t, const P&), P> scale = {};
  Rule<std::unique_ptr<int64_t>(const P&, std::unique_ptr<int64_t>), P> move = {};
  Rule<P(const P&, int64_t), P> rescaled = {};
  Rule<int64_t(const P&), P> none = {};
};

int64_t scale(int64_t x, const ScaledParams& p) { return x * p.factor; }

// Returns the rules in the form that define() makes.
Rules<OpParams> erased(const Rules<ScaledParams>& rules) {
  return std::bit_cast<Rules<OpParams>>(rules);
}

TEST(Rule, FunctionsAndLambdasOverTheStructAreCalledWithOpParams) {
  const Rules<OpParams> rules = erased({
      .scale = scale,
      .move =
          [](const ScaledParams& p, std::unique_ptr<int64_t> x) {
            *x += p.factor;
            return x;
          },
      .rescaled = [](const ScaledParams& p, int64_t by) { return ScaledParams{p.factor * by}; },
  });
  const OpParams params = ScaledParams{3};
  ASSERT_TRUE(rules.scale);
  EXPECT_EQ(rules.scale(7, params), 21);
  EXPECT_EQ(*rules.move(params, std::make_unique<int64_t>(4)), 7);
  EXPECT_EQ(rules.rescaled(params, 5), OpParams(ScaledParams{15}));
}

TEST(Rule, AbsentRulesSayWhyAndCannotBeCalled) {
  const Rules<OpParams> rules = erased({.none = absent("it is not linear")});
  EXPECT_FALSE(rules.none);
  EXPECT_STREQ(rules.none.why_absent, "it is not linear");
  EXPECT_FALSE(rules.scale);
  EXPECT_EQ(rules.scale.why_absent, nullptr);
  EXPECT_THROW(rules.none(ScaledParams{3}), InternalError);
}

TEST(Rule, ParamsOfAnotherOpAreRefused) {
  EXPECT_THROW(erased({.scale = scale}).scale(7, NoParams{}), InternalError);
}

}  // namespace
}  // namespace tessera::ir
