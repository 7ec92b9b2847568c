// Gravity among many bodies, without a matrix of all pairs: each step adds the forces of one tile
// of bodies at a time, so memory grows with the number of bodies, and not with its square.
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>

#include "examples/timed.h"

using namespace tessera;

struct Bodies {
  Array position, velocity, mass;  // (n, 3), (n, 3), (n)
};
constexpr double kSoftening = 0.05;  // keeps the force between near bodies finite
constexpr int64_t kTile = 128;

// Returns the acceleration (n, 3) of bodies at `position` by the bodies at `others` (m, 3).
Array acceleration_by(const Array& position, const Array& others, const Array& mass) {
  const Array apart = others - expand_dims(position, 1);  // (n, m, 3)
  const Array inverse = rsqrt(sum(square(apart), {.axis = -1}) + kSoftening * kSoftening);
  return einsum("nm,nmc->nc", {mass * inverse * inverse * inverse, apart});
}

Array acceleration(const Bodies& b) {
  const auto tile = [&](const Array& sum, const auto& others) {
    return std::pair(sum + acceleration_by(b.position, others.first, others.second), None);
  };
  const std::pair tiles(reshape(b.position, {-1, kTile, 3}), reshape(b.mass, {-1, kTile}));
  return scan(tile, zeros_like(b.position), tiles).first;
}

// Returns the bodies after `steps` steps of the leapfrog method.
Bodies leapfrog(const Bodies& start, int64_t steps, double h) {
  const auto step = [&](const Array&, const std::pair<Bodies, Array>& state) {
    auto [b, a] = state;
    b.velocity += 0.5 * h * a;
    b.position += h * b.velocity;
    a = acceleration(b);
    b.velocity += 0.5 * h * a;
    return std::pair(b, a);
  };
  return fori_loop(0, steps, step, std::pair(start, acceleration(start))).first;
}

Array energy(const Bodies& b) {
  const auto potential = [&](const std::pair<Array, Array>& one) {
    const Array distance =
        sqrt(sum(square(b.position - one.first), {.axis = -1}) + kSoftening * kSoftening);
    return -0.5 * one.second * (sum(b.mass / distance) - one.second / kSoftening);
  };
  return sum(map(potential, std::pair(b.position, b.mass))) +
         0.5 * sum(b.mass * sum(square(b.velocity), {.axis = -1}));
}

int main(int argc, char** argv) {
  const int64_t n = 2048;
  const auto [a, b] = random::split<2>(random::key(0));
  const Bodies start{random::normal(a, {n, 3}), 0.3 * random::normal(b, {n, 3}), full(n, 1.0 / n)};
  const auto run = jit([](const Bodies& bodies) { return leapfrog(bodies, 10, 0.02); });
  const Bodies end = run(start);
  const double before = jit(energy)(start).item<double>(), after = jit(energy)(end).item<double>();
  std::cout << "energy " << before << ", after 10 steps " << after << "\n"
            << run.lower(start).explain();

  // The check: the forces on 256 bodies by their definition, in double precision.
  const Bodies few{index(start.position, {Slice(0, 256)}), index(start.velocity, {Slice(0, 256)}),
                   ones(256)};
  const std::vector<double> p = to_vector<double>(few.position),
                            got = to_vector<double>(acceleration(few));
  double off = 0;
  for (int i = 0; i < 256; ++i) {
    double sum[3] = {};
    for (int j = 0; j < 256; ++j) {
      double square = kSoftening * kSoftening;
      for (int c = 0; c < 3; ++c)
        square += (p[3 * j + c] - p[3 * i + c]) * (p[3 * j + c] - p[3 * i + c]);
      for (int c = 0; c < 3; ++c)
        sum[c] += (p[3 * j + c] - p[3 * i + c]) / (square * std::sqrt(square));
    }
    for (int c = 0; c < 3; ++c)
      off = std::max(off, std::abs(sum[c] - got[3 * i + c]) / (1 + std::abs(sum[c])));
  }
  std::cout << "forces are off by " << off << "\n";
  print_times(argc, argv, sum(abs(end.position)).item<double>(), [&] { run(start); });
  return off < 1e-4 && std::abs(after - before) < 1e-3 * std::abs(before) ? 0 : 1;
}
