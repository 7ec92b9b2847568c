#include "tessera/ops/control/host_callback.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "../errors.h"
#include "tessera/mesh/scoped_devices.h"
#include "tessera/tessera.h"
#include "tests/forks.h"

namespace tessera::host_callback_test {
namespace {

using ir::Type;
using test::expect_error;

// Adds `by` to four numbers, and counts its calls.
struct Adder {
  explicit Adder(float by)
      : number(lax::add_host_function([this, by](auto in, auto out) {
          ++calls;
          for (int i = 0; i < 4; ++i)
            static_cast<float*>(out[0])[i] = static_cast<const float*>(in[0])[i] + by;
        })) {}
  ~Adder() { lax::remove_host_function(number); }
  std::atomic<int> calls{0};
  int64_t number;
};

const std::vector<Type> kFour{Type{.dtype = float32, .shape = {4}}};

TEST(HostCallback, IsCalledWithWholeArrays) {
  Adder adder(2);
  const auto f = jit(
      [&](const Array& x) { return sum(lax::pure_callback(adder.number, kFour, {x * 3.0})[0]); });
  EXPECT_EQ(f(arange(4, float32)).item<float>(), 26);
  EXPECT_EQ(adder.calls, 1);
  EXPECT_EQ(f(arange(4, float32)).item<float>(), 26);
  EXPECT_EQ(adder.calls, 2);
}

TEST(HostCallback, EagerlyToo) {
  Adder adder(1);
  const Array x = lax::pure_callback(adder.number, kFour, {ones({4})})[0];
  EXPECT_EQ(sum(x).item<float>(), 8);
}

TEST(HostCallback, EffectsAreKeptThoughNobodyReadsThem) {
  Adder pure(1), effect(1);
  const auto f = jit([&](const Array& x) {
    lax::pure_callback(pure.number, kFour, {x});
    lax::io_callback(effect.number, kFour, {x});
    return x + 1.0;
  });
  f(ones({4}));
  f(ones({4}));
  EXPECT_EQ(pure.calls, 0);
  EXPECT_EQ(effect.calls, 2);
}

TEST(HostCallback, EffectsNeedNoResults) {
  std::atomic<int> calls{0};
  const int64_t number = lax::add_host_function([&](auto, auto) { ++calls; });
  const auto f = jit([&](const Array& x) {
    lax::io_callback(number, {}, {x});
    return x + 1.0;
  });
  f(ones({4}));
  EXPECT_EQ(calls, 1);
  lax::remove_host_function(number);
}

TEST(HostCallback, EffectsInALoopHappenEachTime) {
  Adder effect(1);
  const auto f = jit([&](const Array& x) {
    return fori_loop(
        0, 5,
        [&](const Array&, const Array& y) {
          return lax::io_callback(effect.number, kFour, {y})[0];
        },
        x);
  });
  EXPECT_EQ(sum(f(zeros({4}))).item<float>(), 20);
  EXPECT_EQ(effect.calls, 5);
}

TEST(HostCallback, ShardedArgumentsCountAsOne) {
  const ScopedDevices devices("cpu:4");
  Adder effect(1);
  const Mesh mesh = make_mesh({4}, {"x"});
  const Array x = device_put(arange(4, float32), NamedSharding(mesh, P("x")));
  const auto f =
      jit([&](const Array& y) { return lax::io_callback(effect.number, kFour, {y * 2.0})[0]; });
  EXPECT_EQ(sum(f(x)).item<float>(), 16);
  EXPECT_EQ(effect.calls, 1);
}

TEST(HostCallback, WhatItThrowsEndsTheRun) {
  const int64_t number =
      lax::add_host_function([](auto, auto) { throw std::runtime_error("the file is not there"); });
  const auto f = jit([&](const Array& x) { return lax::pure_callback(number, kFour, {x})[0]; });
  EXPECT_THROW(f(ones({4})), std::runtime_error);
  lax::remove_host_function(number);
}

TEST(HostCallback, Errors) {
  expect_error([] { lax::pure_callback(1, kFour, {ones({4})}); },
               "[pure_callback] expected the number of a function of this process, got 1");
  expect_error([] { lax::io_callback(2, kFour, {ones({4})}); },
               "[io_callback] expected the number of a function of this process, got 2");
  Adder adder(1);
  const auto f = [&](const Array& x) {
    return sum(lax::pure_callback(adder.number, kFour, {x})[0]);
  };
  expect_error([&] { grad(f)(ones({4})); }, "custom_jvp");
  expect_error([&] { vmap(f)(ones({2, 4})); }, "call it outside vmap");
}

TEST(HostCallback, ForksWhileThreadsAddFunctions) {
  test::expect_work_in_children(
      [](int) { lax::remove_host_function(lax::add_host_function([](auto, auto) {})); }, 100);
}

}  // namespace
}  // namespace tessera::host_callback_test
