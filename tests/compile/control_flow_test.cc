// scan, while_loop, fori_loop, cond, switch_, map, associative_scan: values, trees, carry types and
// errors. Expected values follow from JAX's definitions.
#include "tessera/compile/control_flow.h"

#include <numeric>

#include "tessera/ir/lowering.h"
#include "tests/compile/devices.h"

namespace tessera::control_flow_test {

using namespace ir;

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class ControlFlow : public DevicesTest {};

Array element(const Array& x, int64_t i) { return squeeze(slice_in_dim(x, i, i + 1), 0); }

// Runs f twice, eagerly and inside jit.
template <class F, class Check>
void eagerly_and_jitted(const F& f, const Check& check) {
  check(f());
  check(jit([&](NoneType) { return f(); })(None));
}

std::pair<Array, Array> running_sum(const Array& sum, const Array& x) {
  Array next = sum + x;
  return {next, next * 10};
}

TEST_F(ControlFlow, Scan) {
  const Array xs = arange(5.0);
  eagerly_and_jitted([&] { return scan(running_sum, Array(1.f), xs); },
                     [](const std::pair<Array, Array>& out) {
                       EXPECT_EQ(out.first.item<float>(), 11.f);
                       EXPECT_THAT(values(out.second), ElementsAre(10, 20, 40, 70, 110));
                     });
  eagerly_and_jitted([&] { return scan(running_sum, Array(1.f), xs, {.reverse = true}); },
                     [](const std::pair<Array, Array>& out) {
                       EXPECT_EQ(out.first.item<float>(), 11.f);
                       EXPECT_THAT(values(out.second), ElementsAre(110, 110, 100, 80, 50));
                     });
}

struct State {
  Array position, velocity;
  int order;
};

TEST_F(ControlFlow, ScanOverTrees) {
  // Carries that swap, a constant that is captured, several scanned arrays and results.
  const Array force = arange(3.0);
  const auto f = [&](const State& s, const std::pair<Array, Array>& x) {
    State next{s.position + s.velocity, s.velocity + force * x.first, s.order};
    return std::pair(next, std::tuple(s.position, sum(s.velocity) + x.second));
  };
  const std::pair xs(arange(4.0), reshape(arange(4.0), {4}) * 2);
  eagerly_and_jitted(
      [&] {
        return scan(f, State{zeros({3}), ones({3}), 7}, xs);
      },
      [&](const auto& out) {
        std::vector<float> position(3, 0), velocity(3, 1), stacked, sums;
        for (int t = 0; t < 4; ++t) {
          stacked.insert(stacked.end(), position.begin(), position.end());
          sums.push_back(std::accumulate(velocity.begin(), velocity.end(), 0.f) + 2.f * t);
          for (int i = 0; i < 3; ++i) position[i] += velocity[i], velocity[i] += i * t;
        }
        EXPECT_EQ(values(out.first.position), position);
        EXPECT_EQ(values(out.first.velocity), velocity);
        EXPECT_EQ(out.first.order, 7);
        EXPECT_EQ(std::get<0>(out.second).shape(), (Shape{4, 3}));
        EXPECT_EQ(values(std::get<0>(out.second)), stacked);
        EXPECT_EQ(values(std::get<1>(out.second)), sums);
      });
}

TEST_F(ControlFlow, ScanWithoutAnythingToScan) {
  const auto doubled = [](const Array& c, NoneType) { return std::pair(c * 2, c); };
  for (int64_t length : {0, 1, 2, 7}) {
    eagerly_and_jitted([&] { return scan(doubled, Array(1.f), None, {.length = length}); },
                       [&](const std::pair<Array, Array>& out) {
                         EXPECT_EQ(out.first.item<float>(), static_cast<float>(1 << length));
                         EXPECT_EQ(out.second.shape(), Shape{length});
                         for (int64_t i = 0; i < length; ++i)
                           EXPECT_EQ(values(out.second)[i], static_cast<float>(1 << i));
                       });
  }
}

TEST_F(ControlFlow, ScanOfNoTrips) {
  const auto [carry, ys] = scan(running_sum, Array(3.f), zeros({0}));
  EXPECT_EQ(carry.item<float>(), 3.f);
  EXPECT_EQ(ys.shape(), Shape{0});
}

TEST_F(ControlFlow, NestedScans) {
  // The sums of the prefixes of each row, carried from row to row.
  const auto outer = [](const Array& c, const Array& row) {
    auto [last, partial] = scan(running_sum, c, row);
    return std::pair(last, partial);
  };
  eagerly_and_jitted(
      [&] {
        return scan(outer, Array(0.f), iota({3, 4}));
      },
      [](const std::pair<Array, Array>& out) {
        EXPECT_EQ(out.first.item<float>(), 66.f);
        std::vector<float> expected;
        float sum = 0;
        for (int i = 0; i < 12; ++i) expected.push_back((sum += i) * 10);
        EXPECT_EQ(values(out.second), expected);
      });
}

TEST_F(ControlFlow, ScanOfMatrices) {
  const Array w = iota({4, 4}) / 16, x = iota({2, 4});
  const auto layer = [&](const Array& h, const Array& w) {
    return std::pair(tanh(matmul(h, w)), h);
  };
  const Array ws = stack({w, w * 2, -w});
  const auto [h, hs] = scan(layer, x, ws);
  Array expected = x;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(values(slice_in_dim(hs, i, i + 1)), Pointwise(FloatNear(1e-6), values(expected)));
    expected = tanh(matmul(expected, squeeze(slice_in_dim(ws, i, i + 1), 0)));
  }
  EXPECT_THAT(values(h), Pointwise(FloatNear(1e-6), values(expected)));
}

TEST_F(ControlFlow, WhileLoop) {
  const Array step = arange(3.0);
  const auto f = [&](const Array& limit) {
    return while_loop(
        [&](const std::pair<Array, Array>& s) { return s.first < limit; },
        [&](const std::pair<Array, Array>& s) { return std::pair(s.first * 2, s.second + step); },
        std::pair(Array(1), zeros({3})));
  };
  for (int limit : {0, 1, 2, 5, 64, 100}) {
    int i = 1, trips = 0;
    while (i < limit) i *= 2, ++trips;
    eagerly_and_jitted([&] { return f(Array(limit)); },
                       [&](const std::pair<Array, Array>& out) {
                         EXPECT_EQ(out.first.item<int>(), i);
                         EXPECT_THAT(values(out.second), ElementsAre(0, trips, 2 * trips));
                       });
  }
}

TEST_F(ControlFlow, ForiLoop) {
  const auto add = [](const Array& i, const Array& x) { return x + i; };
  EXPECT_EQ(fori_loop(2, 7, add, 1.f).item<float>(), 21.f);
  EXPECT_EQ(fori_loop(7, 2, add, 1.f).item<float>(), 1.f);
  EXPECT_EQ(fori_loop(Array(2), Array(7), add, 1.f).item<float>(), 21.f);
  EXPECT_EQ(fori_loop(2, element(arange(8), 7), add, 1.f).item<float>(), 21.f);
  const auto triangle = jit([&](const Array& n) { return fori_loop(0, n, add, Array(0.f)); });
  EXPECT_EQ(triangle(10).item<float>(), 45.f);
  EXPECT_EQ(triangle(-1).item<float>(), 0.f);
}

TEST_F(ControlFlow, Cond) {
  const Array shift = arange(3.0);
  const auto f = jit([&](const Array& pred, const Array& x) {
    return cond(
        pred, [&](const Array& x) { return std::pair(x + shift, Array(1.f)); },
        [](const Array& x) { return std::pair(-x, element(x, 1) * 2); }, x);
  });
  const Array x = arange(3.0) + 1;
  for (const Array& yes : {Array(true), Array(3), Array(-0.5f)}) {
    const auto [a, b] = f(yes, x);
    EXPECT_THAT(values(a), ElementsAre(1, 3, 5));
    EXPECT_EQ(b.item<float>(), 1.f);
  }
  for (const Array& no : {Array(false), Array(0), Array(0.f)}) {
    const auto [a, b] = f(no, x);
    EXPECT_THAT(values(a), ElementsAre(-1, -2, -3));
    EXPECT_EQ(b.item<float>(), 4.f);
  }
  // Only the chosen branch runs: the other one would never end.
  const auto forever = [](const Array& x) {
    return while_loop([](const Array& c) { return c == c; }, [](const Array& c) { return c; }, x);
  };
  EXPECT_EQ(cond(
                true, [](const Array& x) { return x + 1; }, forever, Array(1.f))
                .item<float>(),
            2.f);
}

TEST_F(ControlFlow, SwitchClampsItsIndex) {
  const std::tuple branches([](const Array& x) { return x; }, [](const Array& x) { return x * 10; },
                            [](const Array& x) { return x * 100; });
  const auto f = jit([&](const Array& i) { return switch_(i, branches, Array(3.f)); });
  for (auto [index, expected] : {std::pair(-5, 3.f), {0, 3.f}, {1, 30.f}, {2, 300.f}, {9, 300.f}})
    EXPECT_EQ(f(index).item<float>(), expected) << index;
}

TEST_F(ControlFlow, Map) {
  const Array rows = map([](const Array& row) { return sum(row * row); }, iota({3, 2}));
  EXPECT_THAT(values(rows), ElementsAre(1, 13, 41));
}

TEST_F(ControlFlow, AssociativeScan) {
  const auto add = [](const Array& a, const Array& b) { return a + b; };
  for (int64_t n : {0, 1, 2, 3, 7, 8, 13}) {
    const Array x = arange(static_cast<double>(n));
    std::vector<float> sums, back(static_cast<size_t>(n));
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sums.push_back(sum += static_cast<float>(i));
    sum = 0;
    for (int64_t i = n; i-- > 0;) back[i] = sum += static_cast<float>(i);
    EXPECT_EQ(values(associative_scan(add, x)), sums) << n;
    EXPECT_EQ(values(associative_scan(add, x, {.reverse = true})), back) << n;
  }
  // Affine maps do not commute.
  using Map = std::pair<Array, Array>;
  const auto then = [](const Map& f, const Map& g) {
    return Map(f.first * g.first, f.second * g.first + g.second);
  };
  const Array a = arange(6.0) / 4 + 0.5, b = arange(6.0);
  const Map all = associative_scan(then, Map(a, b));
  float x = 0;
  for (int i = 0; i < 6; ++i) {
    x = x * values(a)[i] + values(b)[i];
    EXPECT_NEAR(values(all.second)[i], x, 1e-5);
  }
  EXPECT_THAT(values(associative_scan(add, iota({2, 3}), {.axis = -1})),
              ElementsAre(0, 1, 3, 3, 7, 12));
}

// --- Types of carries ---

TEST_F(ControlFlow, WeakCarriesTakeTheBodysType) {
  const auto add = [](const Array& c, const Array& x) { return std::pair(c + x, c); };
  const auto [sum, all] = scan(add, 0, astype(arange(4.0), float16));
  EXPECT_EQ(sum.dtype(), float16);
  EXPECT_EQ(all.dtype(), float16);
  const Array x =
      while_loop([](const Array& c) { return c < 10; }, [](const Array& c) { return c + 1.5; }, 0);
  EXPECT_EQ(x.dtype(), float32);
  EXPECT_EQ(x.item<float>(), 10.5f);
  // The result of branches has the dtype of the array, not of the number.
  const Array y = cond(
      true, [](const Array&) { return Array(0); }, [](const Array& x) { return x; },
      element(arange(2.0), 0));
  EXPECT_EQ(y.dtype(), float32);
}

TEST_F(ControlFlow, Errors) {
  const Array xs = arange(4.0);
  const auto stay = [](const Array& c, const auto&) { return std::pair(c, c); };
  EXPECT_THAT(error_of([&] {
                scan(
                    [](const State& s, const Array&) {
                      return std::pair(State{s.position, stack({s.velocity, s.velocity}), 0}, None);
                    },
                    State{zeros({3}), zeros({3}), 0}, xs);
              }),
              AllOf(HasSubstr("[scan] expected carry.velocity to keep the type it starts with"),
                    HasSubstr("float32[3]"), HasSubstr("float32[2,3]")));
  EXPECT_THAT(error_of([&] {
                scan([](const Array& c, const Array& x) { return std::pair(c + x, c); },
                     zeros({}, int32), xs);
              }),
              AllOf(HasSubstr("int32[]"), HasSubstr("float32[]")));
  EXPECT_THAT(error_of([&] { scan(stay, Array(0.f), None, {}); }), HasSubstr("length"));
}

TEST_F(ControlFlow, ErrorsOfLengths) {
  const auto stay = [](const Array& c, const auto&) { return std::pair(c, None); };
  EXPECT_THAT(error_of([&] { scan(stay, Array(0.f), std::pair(arange(4.0), arange(5.0))); }),
              AllOf(HasSubstr("a leading dimension of 4 in xs[1], as that of xs[0]"),
                    HasSubstr("float32[5]")));
  EXPECT_THAT(error_of([&] { scan(stay, Array(0.f), arange(4.0), {.length = 3}); }),
              HasSubstr("a leading dimension of 3 in xs, as that of .length"));
  EXPECT_THAT(error_of([&] { scan(stay, Array(0.f), Array(1.f)); }), HasSubstr("scalar"));
  EXPECT_THAT(error_of([&] { scan(stay, Array(0.f), None, {.length = -1}); }),
              HasSubstr("at least 0"));
}

TEST_F(ControlFlow, ErrorsOfConditionsAndBranches) {
  const auto same = [](const Array& x) { return x; };
  EXPECT_THAT(error_of([&] { while_loop([](const Array& x) { return x; }, same, Array(1.f)); }),
              HasSubstr("[while_loop] expected cond to return a bool scalar, got float32[]"));
  EXPECT_THAT(error_of([&] { cond(arange(3.0) > 1, same, same, Array(1.f)); }),
              HasSubstr("[cond] expected a scalar predicate, got bool[3]"));
  EXPECT_THAT(error_of([&] {
                cond(
                    true, [](const Array& x) { return std::pair(x, x); },
                    [](const Array& x) {
                      return std::pair(x, stack({x, x}));
                    },
                    arange(2.0));
              }),
              AllOf(HasSubstr("[cond] expected every branch to return one type"),
                    HasSubstr("from false_fn"), HasSubstr("from true_fn as result[1]")));
  EXPECT_THAT(error_of([&] { switch_(1.5, std::tuple(same, same), Array(1.f)); }),
              HasSubstr("[switch_] expected an integer scalar as index"));
  EXPECT_THAT(error_of([&] {
                cond(
                    true, [](const Array& x) { return std::vector{x}; },
                    [](const Array& x) {
                      return std::vector{x, x};
                    },
                    Array(1.f));
              }),
              HasSubstr("results of all branches"));
  EXPECT_THAT(error_of([&] {
                fori_loop(
                    Array(0.f), Array(3), [](const Array&, const Array& x) { return x; }, 1.f);
              }),
              HasSubstr("[fori_loop] expected integer scalars as bounds"));
}

}  // namespace
}  // namespace tessera::control_flow_test
