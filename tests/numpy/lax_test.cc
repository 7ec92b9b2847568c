#include "tessera/numpy/lax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../errors.h"
#include "tessera/numpy/operators.h"
#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::lax_test {

using namespace tracing;

namespace {

using tessera::test::expect_error;
using Arrays = std::vector<Array>;

const Type kVector{float32, {3}};

TEST(Lax, ReduceTakesACallable) {
  const TracedFunction f = trace_function(
      [](const Arrays& x) {
        // a + b - a b, a probabilistic or
        auto region = [](const Arrays& v) { return Arrays{v[0] + v[1] - v[0] * v[1]}; };
        auto sum = [](const Arrays& v) { return Arrays{v[1] + v[0]}; };
        const Array zero(Literal::scalar(0.0f));
        return Arrays{lax::reduce(x, Arrays{zero}, region, {0})[0],
                      lax::reduce(x, Arrays{zero}, sum, {0})[0]};
      },
      std::vector{kVector});
  std::vector<ReduceKind> kinds;
  for (const Op& op : f.function.ops)
    if (op.def == &reduce_op) kinds.push_back(op.params.as<ReduceParams>().kind);
  EXPECT_THAT(kinds, ::testing::ElementsAre(ReduceKind::kCustom, ReduceKind::kSum));
  const std::vector<Literal> got =
      evaluate(f.function, std::vector{Literal::from<float>(std::array{0.5f, 0.5f, 0.25f}, {3})});
  EXPECT_EQ(got[0], Literal::scalar(0.8125f));
  EXPECT_EQ(got[1], Literal::scalar(1.25f));
}

TEST(Lax, ReduceErrors) {
  FunctionTrace trace;
  const Array x = trace.add_input(kVector);
  const Array zero(Literal::scalar(0.0f));
  expect_error(
      [&] {
        const Array outside = lax::reduce_sum(x, {0});
        lax::reduce(Arrays{x}, Arrays{zero},
                    [&](const Arrays& v) { return Arrays{v[0] + v[1] * outside}; }, {0});
      },
      "uses an array of outside");
  expect_error(
      [&] {
        lax::reduce(
            Arrays{x}, Arrays{zero},
            [&](const Arrays& v) {
              return Arrays{lax::reduce_sum(lax::broadcast_in_dim(v[0] + v[1], {2}, {}), {0})};
            },
            {0});
      },
      "expected a body of elementwise ops on scalars");
}

}  // namespace
}  // namespace tessera::lax_test
