#include "tessera/numpy/callbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>

#include "tessera/mesh/scoped_devices.h"
#include "tessera/tessera.h"
#include "tests/errors.h"

namespace tessera::callbacks_test {
namespace {

using test::error_of;
using test::expect_error;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// A function in plain C++ that doubles, and counts its calls.
struct Doubler {
  Array operator()(const Array& x) const {
    ++*calls;
    std::vector<float> values = to_vector<float>(x);
    for (float& v : values) v *= 2;
    return from_host(values, x.shape());
  }
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
};

// Captures the output to std::cout while one exists.
class Captured {
 public:
  Captured() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~Captured() { std::cout.rdbuf(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

TEST(Callbacks, PureEagerlyAndUnderJit) {
  const Doubler twice;
  const Array x = arange(4, float32);
  EXPECT_THAT(to_vector<float>(pure_callback(twice, x, x)), ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(*twice.calls, 1);
  const auto f = jit([&](const Array& y) { return pure_callback(twice, y, y + 1.0) * 10.0; });
  EXPECT_THAT(to_vector<float>(f(x)), ElementsAre(20, 40, 60, 80));
  EXPECT_THAT(to_vector<float>(f(x)), ElementsAre(20, 40, 60, 80));
  EXPECT_EQ(*twice.calls, 3);
}

TEST(Callbacks, TreesOfArgumentsAndResults) {
  using Pair = std::pair<Array, Array>;
  const auto swap = [](const Pair& p, const Array& c) {
    return std::tuple(astype(p.second, int32), p.first + c);
  };
  const std::tuple results(abstract_array({3}, int32), abstract_array({2}, float32));
  const auto f = jit([&](const Array& a, const Array& b) {
    return pure_callback(swap, results, Pair(a, b), Array(5));
  });
  const auto [ints, floats] = f(ones({2}), ones({3}));
  EXPECT_THAT(to_vector<int32_t>(ints), ElementsAre(1, 1, 1));
  EXPECT_THAT(to_vector<float>(floats), ElementsAre(6, 6));
}

TEST(Callbacks, Vmap) {
  const Array x = reshape(arange(6, float32), {3, 2});
  const Doubler none, each, all;
  const auto mapped = [&](const Doubler& f, VmapMethod method) {
    return jit(vmap([&f, method](const Array& row) {
      return pure_callback(f, row, {.vmap_method = method}, row);
    }))(x);
  };
  expect_error([&] { mapped(none, VmapMethod::kNone); },
               "[pure_callback] expected a function that says how vmap calls it");
  EXPECT_THAT(to_vector<float>(mapped(each, VmapMethod::kSequential)),
              ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_EQ(*each.calls, 3);
  EXPECT_THAT(to_vector<float>(mapped(all, VmapMethod::kBroadcastAll)),
              ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_EQ(*all.calls, 1);
}

// An argument that is not mapped is the same in every call; maps nest.
TEST(Callbacks, NestedVmapOfSomeArguments) {
  const auto add = [](const Array& a, const Array& b) { return a + b; };
  const auto inner = [&](const Array& a, const Array& b) {
    return pure_callback(add, abstract_array({}, float32), {.vmap_method = VmapMethod::kSequential},
                         a, b);
  };
  const Array a = arange(2, float32), b = 10.0 * arange(3, float32);
  const auto table = jit([&](const Array& p, const Array& q) {
    return vmap([&](const Array& pi) {
      return vmap([&](const Array& qi) { return inner(pi, qi); })(q);
    })(p);
  });
  EXPECT_THAT(to_vector<float>(table(a, b)), ElementsAre(0, 10, 20, 1, 11, 21));
}

TEST(Callbacks, IoInLoopsAndUnderVmap) {
  std::mutex mutex;
  std::vector<float> seen;
  const auto record = [&](const Array& v) {
    const std::lock_guard lock(mutex);
    seen.push_back(v.item<float>());
    return std::tuple<>();
  };
  const auto loop = jit([&](const Array& x) {
    return fori_loop(
        0, 3,
        [&](const Array&, const Array& y) {
          io_callback(record, std::tuple<>(), y);
          return y * 2.0;
        },
        x);
  });
  EXPECT_EQ(loop(Array(1.0)).item<float>(), 8);
  EXPECT_THAT(seen, ElementsAre(1, 2, 4));
  seen.clear();
  const auto mapped = jit(vmap([&](const Array& x) {
    io_callback(record, std::tuple<>(), x);
    return x;
  }));
  mapped(arange(3, float32));
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
}

// Tests the shapes with which vmap calls a function of two arguments, if only `a` is mapped.
TEST(Callbacks, VmapPutsADimensionOfOneBeforeUnmappedArguments) {
  std::vector<std::vector<Shape>> seen;
  const auto add = [&](const Array& a, const Array& b) {
    seen.push_back({a.shape(), b.shape()});
    return a + b;
  };
  const auto inner = [&](VmapMethod method) {
    return [&add, method](const Array& a, const Array& b) {
      return pure_callback(add, abstract_array({}, float32), {.vmap_method = method}, a, b);
    };
  };
  const Array a = arange(2, float32), b = 10.0 * arange(3, float32);
  const auto table = [&](VmapMethod method) {
    const auto one = inner(method);
    return jit([&](const Array& p, const Array& q) {
      return vmap([&](const Array& pi) {
        return vmap([&](const Array& qi) { return one(pi, qi); })(q);
      })(p);
    })(a, b);
  };
  const auto single = [&](VmapMethod method) {
    const auto one = inner(method);
    return vmap([&](const Array& qi) { return one(Array(1.f), qi); })(b);
  };
  EXPECT_THAT(to_vector<float>(single(VmapMethod::kExpandDims)), ElementsAre(1, 11, 21));
  EXPECT_THAT(to_vector<float>(single(VmapMethod::kBroadcastAll)), ElementsAre(1, 11, 21));
  EXPECT_THAT(to_vector<float>(table(VmapMethod::kExpandDims)), ElementsAre(0, 10, 20, 1, 11, 21));
  EXPECT_THAT(to_vector<float>(table(VmapMethod::kBroadcastAll)),
              ElementsAre(0, 10, 20, 1, 11, 21));
  EXPECT_THAT(seen, ElementsAre(ElementsAre(Shape{1}, Shape{3}), ElementsAre(Shape{3}, Shape{3}),
                                ElementsAre(Shape{2, 1}, Shape{1, 3}),
                                ElementsAre(Shape{2, 3}, Shape{2, 3})));
}

TEST(Callbacks, VmapMethodsInScanAndShardMap) {
  const ScopedDevices devices("cpu:2");
  const Mesh mesh = make_mesh({2}, {"x"});
  for (const VmapMethod method :
       {VmapMethod::kSequential, VmapMethod::kExpandDims, VmapMethod::kBroadcastAll}) {
    std::atomic<int> calls{0};
    const auto add = [&](const Array& a, const Array& b) {
      ++calls;
      return a + b;
    };
    // Sums of rows times 1, 2, 3, with one callback in each iteration.
    const auto total = [&](const Array& row) {
      const auto step = [&](const Array& sum, const Array& factor) {
        return std::pair(pure_callback(add, abstract_array({}, float32), {.vmap_method = method},
                                       sum, factor * tessera::sum(row)),
                         None);
      };
      return scan(step, Array(0.f), array({1.f, 2.f, 3.f})).first;
    };
    const auto f =
        jit(shard_map(vmap(total), {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}}));
    EXPECT_THAT(to_vector<float>(f(reshape(arange(8, float32), {4, 2}))),
                ElementsAre(6, 30, 54, 78));
    // There are two devices, three iterations, and two examples on each device.
    EXPECT_EQ(calls, method == VmapMethod::kSequential ? 12 : 6);
  }
}

// The first call waits for a kernel, which also computes values for ops after the second call.
TEST(Callbacks, EffectsAreInTheOrderOfTheProgram) {
  std::vector<std::string> seen;
  const auto record = [&](const char* name) {
    return [&seen, name](const Array& v) {
      seen.push_back(name + std::to_string(v.item<int>()));
      return std::tuple<>();
    };
  };
  const auto f = jit([&](const Array& x) {
    const Array y = 2 * x + 1;
    io_callback(record("first "), std::tuple<>(), y);
    io_callback(record("second "), std::tuple<>(), {.ordered = true}, x);
    const Array z = fori_loop(
        0, 2,
        [&](const Array& i, const Array& v) {
          const Array w = v * 2;
          debug::callback([&](const Array& n) { record("loop ")(n); }, w);
          io_callback(record("trip "), std::tuple<>(), i);
          return w + 1;
        },
        y);
    cond(
        x > 0,
        [&](const Array& v) {
          io_callback(record("branch "), std::tuple<>(), v);
          return v;
        },
        [](const Array& v) { return v; }, x);
    io_callback(record("last "), std::tuple<>(), x);
    return std::pair(y * 3, z);
  });
  const auto [a, b] = f(array(1));
  EXPECT_EQ(a.item<int>(), 9);
  EXPECT_EQ(b.item<int>(), 15);
  EXPECT_THAT(seen, ElementsAre("first 3", "second 1", "loop 6", "trip 0", "loop 14", "trip 1",
                                "branch 1", "last 1"));
}

TEST(Callbacks, EffectsOfADeviceAreInOrderInAShardMap) {
  const ScopedDevices devices("cpu:4");
  const Mesh mesh = make_mesh({4}, {"x"});
  std::mutex mutex;
  std::map<int, std::vector<int>> seen;  // the values that each device has seen
  const auto record = [&](const Array& device, const Array& v) {
    const std::lock_guard lock(mutex);
    seen[device.item<int>()].push_back(v.item<int>());
    return std::tuple<>();
  };
  const auto f = jit(shard_map(
      [&](const Array& part) {
        const Array me = axis_index("x"), y = part + 10;
        io_callback(record, std::tuple<>(), {.ordered = true}, me, sum(y));
        io_callback(record, std::tuple<>(), {.ordered = true}, me, sum(part));
        return y * 2;
      },
      {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}}));
  f(arange(4));
  for (int d = 0; d < 4; ++d) EXPECT_THAT(seen[d], ElementsAre(d + 10, d));
}

TEST(Callbacks, AnOrderedCallIsRefusedUnderVmap) {
  const auto f = [](const Array& x) {
    io_callback([](const Array&) { return std::tuple<>(); }, std::tuple<>(), {.ordered = true}, x);
    return x;
  };
  EXPECT_EQ(jit(f)(Array(1.f)).item<float>(), 1);
  expect_error([&] { vmap(f)(arange(3, float32)); },
               "[io_callback] expected an ordered call outside vmap");
}

// A function with effects must not be called for examples that do not reach it, nor a second time
// by a derivative. A function for debugging may.
TEST(Callbacks, IoIsRefusedWhereItWouldBeCalledTooOften) {
  int calls = 0;
  const auto count = [&](const Array&) { ++calls; };
  const auto branches = [](const auto& effect) {
    return [=](const Array& x) {
      const auto call = [=](const Array& v) {
        effect(v);
        return v;
      };
      return cond(
          x > 1, call, [](const Array& v) { return -v; }, x);
    };
  };
  const auto loop = [](const auto& effect) {
    return [=](const Array& x) {
      return while_loop([](const Array& v) { return v < 3; },
                        [=](const Array& v) {
                          effect(v);
                          return v + 1;
                        },
                        x);
    };
  };
  const auto again = [](const auto& effect) {
    return grad(checkpoint([=](const Array& x) {
      effect(x);
      return sin(x);
    }));
  };
  const auto io = [=](const Array& v) { io_callback(count, std::tuple<>(), v); };
  const auto print = [=](const Array& v) { debug::callback(count, v); };
  const Array x = arange(3, float32), one(1.f);
  EXPECT_THAT(error_of([&] { vmap(branches(io))(x); }),
              "[cond] expected branches without io_callback, since under vmap all run if examples "
              "choose differently, got one; make the call outside, or use debug::callback, whose "
              "calls need no exact number");
  expect_error([&] { jit(vmap(loop(io)))(x); },
               "[while_loop] expected a condition and a body without io_callback, since under vmap "
               "they run until the last example ends, got one");
  expect_error([&] { again(io)(one); },
               "[checkpoint] expected a function without io_callback, since the derivative runs it "
               "again, got one");
  const auto within = jit([=](const Array& v) {
    io(v);
    return v;
  });
  expect_error([&] { again(within)(one); }, "[checkpoint] expected a function without io_callback");
  EXPECT_EQ(calls, 0);
  jit(branches(io))(Array(2.f));
  jit(loop(io))(Array(1.f));
  EXPECT_EQ(calls, 3);
  vmap(branches(print))(x);
  jit(vmap(loop(print)))(x);
  EXPECT_EQ(again(print)(one).item<float>(), cos(one).item<float>());
}

// The order holds across calls, also of one program, and in the condition of a loop.
TEST(Callbacks, EffectsOfCallsAndConditionsAreInOrder) {
  std::vector<std::string> seen;
  const auto record = [&](const char* name) {
    return [&seen, name](const Array& v) { seen.push_back(name + std::to_string(v.item<int>())); };
  };
  const auto count = jit([&](const Array& x) {
    return while_loop(
        [&](const Array& v) {
          debug::callback(record("test "), v);
          return v < 2;
        },
        [&](const Array& v) {
          debug::callback(record("trip "), v);
          return v + 1;
        },
        x);
  });
  const auto twice = jit([&](const Array& x) {
    debug::callback(record("before "), x);
    const Array y = count(x);
    debug::callback(record("after "), y);
    return count(x + 1);
  });
  twice(array(0));
  twice(array(1));
  EXPECT_THAT(seen, ElementsAre("before 0", "test 0", "trip 0", "test 1", "trip 1", "test 2",
                                "after 2", "test 1", "trip 1", "test 2",  //
                                "before 1", "test 1", "trip 1", "test 2", "after 2", "test 2"));
}

TEST(Callbacks, InAShardMapEachPart) {
  const ScopedDevices devices("cpu:4");
  const Mesh mesh = make_mesh({4}, {"x"});
  const Doubler twice;
  const auto f = jit(shard_map(
      [&](const Array& part) { return pure_callback(twice, abstract_array({2}, float32), part); },
      {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}}));
  EXPECT_THAT(to_vector<float>(f(arange(8, float32))), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  EXPECT_EQ(*twice.calls, 4);
}

TEST(Callbacks, DebugCallbacksAreNotDifferentiated) {
  std::atomic<int> calls{0};
  const auto f = [&](const Array& x) {
    debug::callback([&](const Array& v) { calls += static_cast<int>(v.item<float>()); }, x * 2.0);
    return square(x);
  };
  EXPECT_EQ(grad(f)(Array(3.0)).item<float>(), 6);
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(jit(grad(f))(Array(3.0)).item<float>(), 6);
  EXPECT_EQ(calls, 12);
}

TEST(Callbacks, Print) {
  const Captured out;
  debug::print("eagerly {:.2f} {} {}", Array(1.5), Array(7), array({1, 2}));
  jit([](const Array& x) {
    debug::print("traced {}", x);
    return x;
  })(array({true, false}));
  EXPECT_EQ(out.text(), "eagerly 1.50 7 [1 2]\ntraced [ True False]\n");
  expect_error([] { debug::print("{} {}", Array(1)); },
               "[debug::print] expected a format for 1 arguments, got \"{} {}\"");
}

TEST(Callbacks, WhatTheyThrowArrivesWithItsText) {
  const auto fails = [](const Array&) -> Array {
    throw std::runtime_error("the file is not there");
  };
  const auto odd = [](const Array&) -> Array { throw 5; };
  const Array x = ones({4});
  const auto traced = jit([&](const Array& y) { return pure_callback(fails, y, y); });
  const char* text =
      "[pure_callback] expected the function of the host to return, got an exception: the file is "
      "not there";
  expect_error([&] { traced(x); }, text);
  expect_error([&] { pure_callback(fails, x, x); }, text);
  expect_error([&] { io_callback(odd, x, x); }, "[io_callback] expected the function of the host");
  const auto own = [](const Array& v) { return reshape(v, {3}); };
  expect_error([&] { pure_callback(own, x, x); }, "[reshape]");
  EXPECT_EQ(jit([](const Array& y) { return y + 1.0; })(x).size(), 4) << "others still run";
}

TEST(Callbacks, WrongResults) {
  const Array x = ones({4});
  const auto traced = [&](auto function, const Array& result) {
    jit([&](const Array& y) { return pure_callback(function, result, y); })(x);
  };
  const auto same = [](const Array& v) { return v; };
  expect_error(
      [&] { traced(same, abstract_array({3}, float32)); },
      "[pure_callback] expected float32(3,) from the function of the host as result 0, got "
      "float32(4,)");
  expect_error([&] { traced(same, abstract_array({4}, int32)); },
               "[pure_callback] expected int32(4,) from the function");
  expect_error([&] { traced(same, abstract_array({4}, float64)); },
               "[pure_callback] expected results of at most 32 bits while x64 is disabled");
  const auto two = [](const Array& v) { return std::pair(v, v); };
  expect_error([&] { traced(two, x); },
               "[pure_callback] expected 1 arrays from the function of the host, got 2");
}

TEST(Callbacks, MayCallCompiledFunctions) {
  const auto inner = jit([](const Array& v) { return sum(v * v); });
  const auto f = jit([&](const Array& x) {
    return pure_callback([&](const Array& v) { return inner(v); }, abstract_array({}, float32), x);
  });
  EXPECT_EQ(f(arange(4, float32)).item<float>(), 14);
}

}  // namespace
}  // namespace tessera::callbacks_test
