// Composites, and the differences by which two calls are distinguished.
#include "tessera/compile/composite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/tessera.h"

namespace tessera::composite_test {
namespace {

struct Settings {
  std::string name;
  double factor = 1;
  std::optional<int64_t> offset;
  Array (*last)(const Array&) = nullptr;
  std::vector<double> terms = {};
};

Array run(const Settings& settings, const Array& x) {
  return composite("composite_test", settings, {x},
                   [](const Settings& s, std::span<const Array> a) {
                     Array out = a[0] * s.factor;
                     if (s.offset) out = out + *s.offset;
                     for (double term : s.terms) out = out + term;
                     if (s.name == "negative") out = -out;
                     return s.last ? s.last(out) : out;
                   });
}

float of_two(const Settings& settings) { return run(settings, Array(2.f)).item<float>(); }

TEST(Composite, EveryFieldOfItsParamsTellsCallsApart) {
  for (int i = 0; i < 2; ++i) {  // compiled, then found in the cache
    EXPECT_EQ(of_two({}), 2);
    EXPECT_EQ(of_two({.name = "negative"}), -2);
    EXPECT_EQ(of_two({.factor = 3}), 6);
    EXPECT_EQ(of_two({.offset = 0}), 2);
    EXPECT_EQ(of_two({.offset = 5}), 7);
    EXPECT_EQ(of_two({.last = square}), 4);
    EXPECT_EQ(of_two({.last = negative}), -2);
    EXPECT_EQ(of_two({.terms = {1, 2}}), 5);
    EXPECT_EQ(of_two({.terms = {1, 3}}), 6);
  }
}

TEST(Composite, NumbersAreToldApartByTheirBits) {
  const Array zero(0.f);
  EXPECT_EQ(std::signbit(run({.factor = 0.}, Array(2.f)).item<float>()), false);
  EXPECT_EQ(std::signbit(run({.factor = -0.}, Array(2.f)).item<float>()), true);
  run({.factor = std::nan("")}, zero);
  const int64_t before = compile_stats().programs_compiled;
  EXPECT_TRUE(std::isnan(run({.factor = std::nan("")}, zero).item<float>()));
  EXPECT_EQ(compile_stats().programs_compiled, before);
}

TEST(Composite, BodiesOfOneNameAreTwoFunctions) {
  const auto add = [](const Array& x) {
    return composite("composite_test", {}, {x},
                     [](const NoParams&, std::span<const Array> a) { return a[0] + 1; });
  };
  const auto multiply = [](const Array& x) {
    return composite("composite_test", {}, {x},
                     [](const NoParams&, std::span<const Array> a) { return a[0] * 10; });
  };
  EXPECT_EQ(add(Array(2.f)).item<float>(), 3);
  EXPECT_EQ(multiply(Array(2.f)).item<float>(), 20);
}

TEST(Composite, EqualCallsAreCompiledOnce) {
  const Settings settings{.name = "once", .factor = 7, .offset = 3, .last = square};
  run(settings, Array(2.f));
  const int64_t before = compile_stats().programs_compiled;
  EXPECT_EQ(of_two(settings), 289);
  EXPECT_EQ(compile_stats().programs_compiled, before);
}

TEST(Composite, SeveralResults) {
  const std::vector<Array> out =
      composite("composite_test", {}, {Array(2.f)}, [](const NoParams&, std::span<const Array> a) {
        return std::vector<Array>{a[0] + 1, a[0] + 2};
      });
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].item<float>(), 3);
  EXPECT_EQ(out[1].item<float>(), 4);
}

}  // namespace
}  // namespace tessera::composite_test
