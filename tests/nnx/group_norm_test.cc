// Compares GroupNorm of nnx and linen with flax (golden/make_group_norm.py).
#include "../errors.h"
#include "../golden/golden.h"
#include "../numpy/run.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/vmap.h"
#include "tessera/linen/layers.h"
#include "tessera/nnx/modules.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::group_norm_test {
namespace {

using tessera::test::error_of;
using tessera::test::expect_close;
using ::testing::HasSubstr;

template <class Options>
Options options_of(const std::string& name) {
  if (name == "groups") return {.num_groups = 3};
  if (name == "group_size") return {.num_groups = std::nullopt, .group_size = 3};
  if (name == "one_group") return {.num_groups = 1};
  if (name == "each_feature") return {.num_groups = 6};
  if (name == "no_scale") return {.num_groups = 4, .epsilon = 1e-2, .use_scale = false};
  if (name == "axes") return {.num_groups = 2, .reduction_axes = {2, 3}};
  if (name == "bfloat16") return {.num_groups = 2, .dtype = bfloat16};
  ADD_FAILURE() << name;
  return {};
}

TEST(GroupNorm, IsFlaxs) {
  const golden::Topic topic("group_norm");
  for (const golden::Json& c : topic["cases"]) {
    SCOPED_TRACE(c.dump());
    const std::string name = c["name"];
    const Array x(topic.array(c["x"]));
    const double tolerance = name == "bfloat16" ? 1e-2 : 4e-6;
    const linen::GroupNorm linen(options_of<linen::GroupNormOptions>(name));
    expect_close(linen.apply(linen.init(random::key(3), x), x).to_host(), topic.array(c["linen"]),
                 tolerance, tolerance);
    const auto options = options_of<nnx::GroupNormOptions>(name);
    const nnx::GroupNorm nnx(x.shape(-1), nnx::Rngs(7), options);
    // flax.nnx is wrong for axes other than the default ones, so linen's values are expected.
    expect_close(nnx(x).to_host(), topic.array(c.contains("out") ? c["out"] : c["linen"]),
                 tolerance, tolerance);
    if (!c.contains("grad")) continue;
    const Array gradient = grad([&](const Array& v) { return sum(square(nnx(v))); })(x);
    expect_close(gradient.to_host(), topic.array(c["grad"]), 10 * tolerance, 10 * tolerance);
  }
}

TEST(GroupNorm, IsATreeAndMapsOverExamples) {
  const nnx::GroupNorm m(4, nnx::Rngs(0), {.num_groups = 2});
  const Array x = reshape(arange(24.0), {3, 2, 4});
  const auto loss = [](const nnx::GroupNorm& module, const Array& v) { return sum(module(v) * v); };
  EXPECT_EQ(grad(loss)(m, x).scale.shape(), (Shape{4}));
  const Array one_each = vmap([&](const Array& v) { return m(v); })(expand_dims(x, 1));
  expect_close(reshape(one_each, x.shape()).to_host(), m(x).to_host(), 1e-5, 1e-5);
}

TEST(GroupNorm, Refuses) {
  const auto make = [](nnx::GroupNormOptions options) { nnx::GroupNorm(6, nnx::Rngs(0), options); };
  EXPECT_THAT(error_of([&] { make({}); }),
              HasSubstr("[nnx::GroupNorm] expected a num_groups that divides the 6 features, got "
                        "32"));
  EXPECT_THAT(error_of([&] { make({.num_groups = 3, .group_size = 2}); }),
              HasSubstr("expected either num_groups or group_size, got both"));
  EXPECT_THAT(error_of([&] { make({.num_groups = std::nullopt, .group_size = 4}); }),
              HasSubstr("expected a group_size that divides the 6 features, got 4"));
  EXPECT_THAT(error_of([] {
                nnx::GroupNorm(6, nnx::Rngs(0), {.num_groups = 2})(ones({2, 4}));
              }),
              HasSubstr("expected 6 features"));
  EXPECT_THAT(
      error_of([] {
        nnx::GroupNorm(6, nnx::Rngs(0), {.num_groups = 2, .reduction_axes = {1}})(ones({2, 3, 6}));
      }),
      HasSubstr("expected reduction axes with the last one"));
  EXPECT_THAT(error_of([] {
                linen::GroupNorm({.num_groups = 4}).init(random::key(0), ones({2, 6}));
              }),
              HasSubstr("[linen::GroupNorm] expected a num_groups that divides"));
}

}  // namespace
}  // namespace tessera::group_norm_test
