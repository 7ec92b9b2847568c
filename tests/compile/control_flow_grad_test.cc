// Derivatives and vmap of loops and branches.
#include <cmath>

#include "tessera/ir/lowering.h"
#include "tests/compile/devices.h"

namespace tessera::control_flow_grad_test {

using namespace ir;

namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class ControlFlowGrad : public DevicesTest {};

Array at(const Array& x, int64_t i) { return index_in_dim(x, i, 0, false); }

// A recurrence with a constant, a carry and scanned inputs, by scan and unrolled.
Array by_scan(const Array& w, const Array& h, const Array& xs) {
  const auto step = [&](const Array& carry, const Array& x) {
    const Array next = tanh(matmul(carry, w) + x);
    return std::pair(next, sum(next * next));
  };
  const auto [last, ys] = scan(step, h, xs);
  return sum(last) + sum(ys * ys);
}
Array unrolled(const Array& w, const Array& h, const Array& xs) {
  Array carry = h, total = zeros({});
  for (int i = 0; i < static_cast<int>(xs.shape(0)); ++i) {
    carry = tanh(matmul(carry, w) + at(xs, i));
    total = total + square(sum(carry * carry));
  }
  return sum(carry) + total;
}

template <class A, class B>
void expect_close(const A& a, const B& b, float tolerance = 1e-4f) {
  EXPECT_THAT(values(a), Pointwise(FloatNear(tolerance), values(b)));
}

TEST_F(ControlFlowGrad, ScanIsTheUnrolledLoop) {
  const Array w = sin(reshape(arange(9.f), {3, 3})) / 2, h = cos(arange(3.f)),
              xs = sin(reshape(arange(12.f), {4, 3}));
  EXPECT_NEAR(by_scan(w, h, xs).item<float>(), unrolled(w, h, xs).item<float>(), 1e-5);
  const auto [gw, gh, gx] = grad<0, 1, 2>(by_scan)(w, h, xs);
  const auto [uw, uh, ux] = grad<0, 1, 2>(unrolled)(w, h, xs);
  expect_close(gw, uw);
  expect_close(gh, uh);
  expect_close(gx, ux);
  const auto [jw, jh, jx] = jit(grad<0, 1, 2>(by_scan))(w, h, xs);
  expect_close(jw, uw);
  expect_close(jx, ux);
}

TEST_F(ControlFlowGrad, ScanSecondOrderAndForward) {
  const Array w = sin(reshape(arange(9.f), {3, 3})) / 2, h = cos(arange(3.f)),
              xs = sin(reshape(arange(12.f), {4, 3}));
  const auto direction = [&](const auto& f) {
    return [&f, &h, &xs](const Array& v) {
      return sum(grad([&](const Array& u) { return f(u, h, xs); })(v) * v);
    };
  };
  expect_close(jit(grad(direction(by_scan)))(w), jit(grad(direction(unrolled)))(w), 1e-3f);
  const auto t = std::tuple(w * 0.5, h, xs * 2);
  expect_close(jvp(by_scan, std::tuple(w, h, xs), t).second,
               jvp(unrolled, std::tuple(w, h, xs), t).second);
}

TEST_F(ControlFlowGrad, ScanBatches) {
  const Array w = sin(reshape(arange(9.f), {3, 3})) / 2, h = cos(reshape(arange(6.f), {2, 3})),
              xs = sin(reshape(arange(12.f), {4, 3}));
  const auto per_h = [&](const Array& v) { return by_scan(w, v, xs); };
  const Array mapped = vmap(per_h)(h);
  EXPECT_NEAR(values(mapped)[1], by_scan(w, at(h, 1), xs).item<float>(), 1e-4);
  const auto per_w = [&](const Array& v) { return by_scan(v, at(h, 0), xs); };
  const Array ws = stack({w, w * 2});
  expect_close(vmap(grad(per_w))(ws), stack({grad(per_w)(w), grad(per_w)(w * 2)}));
}

TEST_F(ControlFlowGrad, ReverseScanAndPassedThroughCarry) {
  const auto f = [](const Array& x) {
    const auto step = [](const std::pair<Array, Array>& c, const Array& v) {
      return std::pair(std::pair(c.first * v, c.second), c.second + v);
    };
    const auto [c, ys] = scan(step, std::pair(ones({}), sum(x)), x, {.reverse = true});
    return c.first + sum(ys);
  };
  const auto plain = [](const Array& x) {
    return prod(x) + sum(x) + sum(x) * static_cast<float>(x.shape(0));
  };
  const Array x = arange(4.f) + 1;
  expect_close(grad(f)(x), grad(plain)(x));
}

TEST_F(ControlFlowGrad, ForiLoopWithFixedBounds) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 5, [&](const Array&, const Array& c) { return c * x; }, Array(1.f));
  };
  EXPECT_NEAR(grad(f)(2.f).item<float>(), 80, 1e-3);
  EXPECT_NEAR(grad(grad(f))(2.f).item<float>(), 160, 1e-3);
}

// The number of iterations is not known, but each element depends only on itself, so there is a
// reverse derivative.
TEST_F(ControlFlowGrad, WhileOfElements) {
  const auto f = [](const Array& x) {
    return while_loop([](const Array& c) { return any(c < 100); },
                      [&](const Array& c) { return where(c < 100, c * x, c); }, x);
  };
  EXPECT_NEAR(jvp(f, std::tuple(Array(3.f)), std::tuple(Array(1.f))).second.item<float>(), 5 * 81,
              1e-2);
  EXPECT_NEAR(grad(f)(3.f).item<float>(), 5 * 81, 1e-2);
  EXPECT_NEAR(grad(grad(f))(3.f).item<float>(), 20 * 27, 1e-2);
  EXPECT_THAT(values(vmap(f)(arange(3.f) + 2)), ElementsAre(128, 243, 256));
  const auto total = [&](const Array& x) { return sum(f(x) * (arange(3.f) + 1)); };
  EXPECT_THAT(values(grad(total)(arange(3.f) + 2)), ElementsAre(7 * 64, 2 * 5 * 81, 3 * 4 * 64));
  EXPECT_THAT(values(vmap(grad(f))(arange(3.f) + 2)), ElementsAre(7 * 64, 5 * 81, 4 * 64));
}

TEST_F(ControlFlowGrad, WhileForwardOnly) {
  const auto f = [](const Array& x) {
    return sum(while_loop([](const Array& c) { return any(c < 100); },
                          [&](const Array& c) { return flip(c, 0) * x; }, x));
  };
  const Array x = arange(2.f) + 3;
  EXPECT_NEAR(jvp(f, std::tuple(x), std::tuple(ones({2}))).second.item<float>(), 16 * 21, 1e-2);
  EXPECT_THAT(error_of([&] { grad(f)(x); }), HasSubstr("[while] expected a loop of known length"));
}

TEST_F(ControlFlowGrad, CondAndSwitch) {
  const auto f = [](const Array& i, const Array& x) {
    const std::tuple branches{[](const Array& v) { return sin(v); },
                              [](const Array& v) { return v * v * v; },
                              [](const Array&) { return Array(7.f); }};
    return switch_(i, branches, x);
  };
  for (int i = 0; i < 3; ++i) {
    const float x = 0.7f, want = i == 0 ? std::cos(x) : i == 1 ? 3 * x * x : 0;
    const auto at_i = [&](const Array& v) { return f(Array(i), v); };
    EXPECT_NEAR(grad(at_i)(x).item<float>(), want, 1e-5);
    EXPECT_NEAR(jvp(at_i, std::tuple(Array(x)), std::tuple(Array(1.f))).second.item<float>(), want,
                1e-5);
    EXPECT_NEAR(jit(grad(grad(at_i)))(x).item<float>(),
                i == 0   ? -std::sin(x)
                : i == 1 ? 6 * x
                         : 0,
                1e-5);
  }
  const std::vector<std::function<Array(const Array&)>> listed{
      [](const Array& v) { return v + 1; }, [](const Array& v) { return v * 10; }};
  EXPECT_EQ(switch_(Array(1), listed, Array(3.f)).item<float>(), 30);
  EXPECT_EQ(switch_(Array(7), listed, Array(3.f)).item<float>(), 30);
  EXPECT_THAT(error_of([&] { switch_(Array(0), decltype(listed){}, Array(3.f)); }),
              HasSubstr("[switch_] expected at least one branch"));
  const Array x = arange(3.f) + 1;
  expect_close(vmap(f)(arange(3), x), stack({sin(at(x, 0)), Array(8.f), Array(7.f)}));
  const auto scaled = [](const Array& p, const Array& a) {
    return cond(
        p, [&](const Array& v) { return v * 2; }, [&](const Array& v) { return v * v; }, a);
  };
  EXPECT_THAT(values(vmap(scaled)(arange(3) > 0, x)), ElementsAre(1, 4, 6));
  EXPECT_THAT(values(vmap(scaled, {.in_axes = {None, 0}})(Array(true), x)), ElementsAre(2, 4, 6));
}

// A pipeline of stages over a ring, as shard_map programs write it.
TEST_F(ControlFlowGrad, ScanWithCollectivesInShardMap) {
  const auto f = shard_map(
      [](const Array& w, const Array& x) {
        std::vector<std::pair<int, int>> ring;
        for (int i = 0; i < 8; ++i) ring.push_back({i, (i + 1) % 8});
        const auto step = [&](const Array& c, const Array&) {
          return std::pair(ppermute(tanh(c * w), "x", ring), c);
        };
        const auto [last, ys] = scan(step, x, arange(3.f));
        return psum(sum(last) + sum(ys * ys), "x");
      },
      {.mesh = mesh8(), .in_specs = {P(), P("x")}, .out_specs = {P()}});
  const auto plain = [](const Array& w, const Array& x) {
    Array c = x, total = zeros({});
    for (int i = 0; i < 3; ++i) {
      total = total + sum(c * c);
      c = roll(tanh(c * w), 2);
    }
    return sum(c) + total;
  };
  const Array w = Array(0.8f), x = sin(arange(16.f));
  EXPECT_NEAR(f(w, x).item<float>(), plain(w, x).item<float>(), 1e-4);
  const auto [gw, gx] =
      jit(grad<0, 1>([&](const Array& a, const Array& b) { return f(a, b); }))(w, x);
  const auto [pw, px] = grad<0, 1>(plain)(w, x);
  EXPECT_NEAR(gw.item<float>(), pw.item<float>(), 1e-3);
  expect_close(gx, px);
}

}  // namespace
}  // namespace tessera::control_flow_grad_test
