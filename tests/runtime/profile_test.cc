#include "tessera/runtime/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tessera/tessera.h"

namespace tessera::profile_test {
namespace {

using ::testing::HasSubstr;

Array product(const Array& x, const Array& w) { return sum(tanh(matmul(x, w)), {.axis = 0}); }

TEST(Profile, AddsUpTheStepsOfItsTime) {
  const Array x = ones({64, 128}), w = ones({128, 32});
  auto f = jit(product);
  f(x, w);
  Profile profile;
  EXPECT_TRUE(profile.steps().empty());
  for (int i = 0; i < 5; ++i) f(x, w);
  profile.stop();
  f(x, w);
  const std::vector<ProfiledStep> steps = profile.steps();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_GE(steps[0].seconds, steps[1].seconds);
  for (const ProfiledStep& step : steps) {
    EXPECT_EQ(step.runs, 5) << step.name;
    EXPECT_GT(step.seconds, 0) << step.name;
    EXPECT_EQ(step.depth, 0) << step.name;
  }
  EXPECT_THAT(profile.text(), HasSubstr("dot (64, 128) . (128, 32)"));
  EXPECT_THAT(profile.text(), HasSubstr("5 x"));
  EXPECT_THAT(profile.text(1), HasSubstr("1 other steps"));
}

TEST(Profile, ALoopHasTheTimeThatIsNotThatOfItsSteps) {
  // The product in each iteration is too large for a loop of machine code.
  auto f = jit([](const Array& x) {
    return fori_loop(
        0, 7, [](const Array&, const Array& c) { return tanh(matmul(c, c)); }, x);
  });
  const Array x = ones({200, 200});
  f(x);
  Profile profile;
  f(x);
  profile.stop();
  double total = 0, loop = -1;
  bool inside = false;
  for (const ProfiledStep& step : profile.steps()) {
    total += step.seconds;
    if (step.name == "loop") {
      loop = step.seconds;
      EXPECT_EQ(step.runs, 1);
      EXPECT_EQ(step.depth, 0);
    }
    if (step.depth == 1) {
      inside = true;
      EXPECT_EQ(step.runs, 7) << step.name;
    }
  }
  EXPECT_TRUE(inside) << profile.text();
  ASSERT_GE(loop, 0) << profile.text();
  EXPECT_LT(loop, 0.5 * total) << profile.text();
}

TEST(Profile, OfProgramsInSeveralThreads) {
  const Array x = ones({64, 128}), w = ones({128, 32});
  auto f = jit(product);
  f(x, w);
  Profile profile;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) f(x, w);
    });
  for (std::thread& thread : threads) thread.join();
  for (const ProfiledStep& step : profile.steps()) EXPECT_EQ(step.runs, 30) << step.name;
}

TEST(Profile, OneRecordsAtATime) {
  Profile first;
  try {
    Profile second;
    FAIL() << "a second one";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), HasSubstr("[Profile] expected that no other Profile records"));
  }
  first.stop();
  Profile third;
  first.stop();  // changes nothing
  jit([](const Array& x) { return x + 1.0F; })(ones({8}));
  EXPECT_FALSE(third.steps().empty());
}

TEST(Profile, OfNothingIsEmpty) {
  Profile profile;
  EXPECT_EQ(profile.text(), "0 steps, 0.000 ms\n");
}

}  // namespace
}  // namespace tessera::profile_test
