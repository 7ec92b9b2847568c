#include "loops.h"

#include <tessera/tessera.h>

namespace tessera::bench {
namespace {

Array on_device(const Array& x) { return device_put(x, SingleDeviceSharding(devices()[0])); }

// f as a program of what `arguments` makes: a tuple.
template <class F, class Arguments>
std::function<Run()> call(F f, Arguments arguments) {
  return [=]() -> Run {
    auto jitted = jit(f);
    auto args = arguments();
    return [=] { std::apply([&](const auto&... x) { jitted(x...); }, args); };
  };
}
template <class F, class X>
std::function<Run()> of(F f, X x) {
  return call(f, [=] { return std::tuple(on_device(x())); });
}

Array newton(const Array& start) {
  return while_loop([](const Array& x) { return abs(x * x * x - 2.0) > 1e-3; },
                    [](const Array& x) { return x - 0.01 * (x * x * x - 2.0) / (3 * x * x); },
                    start);
}

Array lorenz(const Array& v) {
  const Array x = index(v, 0), y = index(v, 1), z = index(v, 2);
  return stack({10 * (y - x), x * (28 - z) - y, x * y - 8.0 / 3 * z});
}
Array lorenz96(const Array& v) { return (roll(v, -1) - roll(v, 2)) * roll(v, 1) - v + 8.0; }
template <class F>
auto runge_kutta(F f) {
  return [f](const Array& start) {
    return scan(
        [f](const Array& v, NoneType) {
          const double h = 0.01;
          const Array k1 = f(v), k2 = f(v + h / 2 * k1), k3 = f(v + h / 2 * k2), k4 = f(v + h * k3);
          const Array next = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
          return std::pair(next, next);
        },
        start, None, {.length = 1000});
  };
}

// A step of random-walk Metropolis on a normal distribution in the plane.
std::pair<Array, Array> metropolis(const Array& x, const Array& density, const random::Key& walk,
                                   const random::Key& choice) {
  const Array p = x + 0.5 * random::normal(walk, {2}), q = -0.5 * sum(p * p);
  const Array taken = log(random::uniform(choice)) < q - density;
  return {where(taken, p, x), where(taken, q, density)};
}
auto chain_of_keys(const random::Key& key) {
  return scan(
      [](const std::pair<Array, Array>& state, const random::Key& k) {
        const auto keys = random::split(k, 2);
        const auto next = metropolis(state.first, state.second, keys[0], keys[1]);
        return std::pair(next, next.first);
      },
      std::pair(zeros({2}), Array(0.f)), random::split(key, 1000));
}
Array chain_with_key(const random::Key& key) {
  using State = std::tuple<Array, Array, random::Key>;
  const State last = fori_loop(
      0, 1000,
      [](const Array&, const State& s) {
        const auto keys = random::split(std::get<2>(s), 3);
        const auto next = metropolis(std::get<0>(s), std::get<1>(s), keys[1], keys[2]);
        return State(next.first, next.second, keys[0]);
      },
      State(zeros({2}), Array(0.f), key));
  return std::get<0>(last);
}

auto logistic_map(const Array& start) {
  return scan(
      [](const Array& x, NoneType) {
        const Array next = 3.7 * x * (1 - x);
        return std::pair(next, next);
      },
      start, None, {.length = 10000});
}
auto recurrent(const Array& h, const Array& w, const Array& xs) {
  return scan(
      [w](const Array& state, const Array& x) {
        const Array next = tanh(matmul(state, w) + x);
        return std::pair(next, next);
      },
      h, xs);
}
auto products(const Array& a) {
  return scan(
      [a](const Array& m, NoneType) {
        Array next = matmul(m, a);
        next = next / max(abs(next));
        return std::pair(next, sum(next));
      },
      eye(8), None, {.length = 500});
}
Array power_iteration(const Array& a) {
  return fori_loop(
      0, 500,
      [a](const Array&, const Array& x) {
        const Array y = matmul(a, x);
        return y / sqrt(sum(y * y));
      },
      ones({32}));
}
Array nested(const Array& start) {
  return fori_loop(
      0, 100,
      [](const Array& i, const Array& a) {
        return fori_loop(
                   0, 100,
                   [](const Array& j, const Array& b) { return b * 0.99 + astype(j, float32); },
                   a) +
               astype(i, float32);
      },
      start);
}
Array momentum(const Array& start) {
  using State = std::tuple<Array, Array, Array>;
  const State last = fori_loop(
      0, 1000,
      [](const Array&, const State& s) {
        const auto& [x, m, v] = s;
        const Array g = sin(x) * x + 0.1 * x;
        const Array m1 = 0.9 * m + 0.1 * g, v1 = 0.999 * v + 0.001 * g * g;
        return State(x - 0.01 * m1 / (sqrt(v1) + 1e-8), m1, v1);
      },
      State(start, zeros_like(start), zeros_like(start)));
  return std::get<0>(last);
}
Array bisection(const Array& a) {
  using State = std::tuple<Array, Array, Array>;
  const State last =
      while_loop([](const State& s) { return std::get<2>(s) < 1000; },
                 [a](const State& s) {
                   const auto& [low, high, n] = s;
                   const Array middle = (low + high) / 2, above = middle * middle * middle > a;
                   return State(where(above, low, middle), where(above, middle, high), n + 1);
                 },
                 State(Array(0.f), Array(10.f), Array(0)));
  return std::get<0>(last);
}
Array branching(const Array& start) {
  return fori_loop(
      0, 2000,
      [](const Array&, const Array& x) {
        return cond(
            x > 0.5, [](const Array& v) { return v * 0.5; }, [](const Array& v) { return v + 0.3; },
            x);
      },
      start);
}

}  // namespace

std::vector<std::pair<std::string, std::function<Run()>>> loops() {
  const auto scalar = [](float x) { return [x] { return Array(x); }; };
  const auto key = [] { return std::tuple(random::key(0)); };
  return {
      {"loops/newton_while", of(newton, scalar(30))},
      {"loops/lorenz_rk4", of(runge_kutta(lorenz), [] { return ones({3}); })},
      {"loops/lorenz96_40", of(runge_kutta(lorenz96), [] { return linspace(0, 1, 40); })},
      {"loops/lorenz96_1000", of(runge_kutta(lorenz96), [] { return linspace(0, 1, 1000); })},
      {"loops/mcmc_scan", call(&chain_of_keys, key)},
      {"loops/mcmc_carry", call(&chain_with_key, key)},
      {"loops/logistic_scan", of(logistic_map, scalar(0.3f))},
      {"loops/rnn_16", call(&recurrent,
                            [] {
                              return std::tuple(on_device(zeros({16})), on_device(eye(16) * 0.5),
                                                on_device(ones({500, 16})));
                            })},
      {"loops/carried_8x8", of(products,
                               [] {
                                 return ones({8, 8}) + eye(8);
                               })},
      {"loops/nested_fori", of(nested, scalar(0))},
      {"loops/vmap_while",
       of([](const Array& x) { return vmap(newton)(x); }, [] { return linspace(1, 50, 64); })},
      {"loops/momentum_200", of(momentum, [] { return linspace(-1, 1, 200); })},
      {"loops/bisect_while", of(bisection, scalar(2))},
      {"loops/cond_in_loop", of(branching, scalar(0.2f))},
      {"loops/power_32", of(power_iteration,
                            [] {
                              return ones({32, 32}) + eye(32);
                            })},
      {"loops/10k_trips", of(
                              [](const Array& v) {
                                return fori_loop(
                                    0, 10000,
                                    [](const Array& i, const Array& c) { return c * 0.5 + i; }, v);
                              },
                              [] { return ones({8}); })},
      {"loops/10k_rows", of(
                             [](const Array& xs) {
                               return scan(
                                   [](const Array& c, const Array& x) {
                                     const Array next = c * 0.5 + x;
                                     return std::pair(next, next + 1);
                                   },
                                   zeros({8}), xs);
                             },
                             [] {
                               return ones({10000, 8});
                             })},
  };
}

}  // namespace tessera::bench
