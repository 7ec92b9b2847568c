// Waves in shallow water on four devices, each with a band of the sea, and their adjoint: how much
// each initial height matters for the height at a buoy later. Only rows at the borders are sent.
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>

#include "examples/timed.h"

using namespace tessera;

constexpr double kGravity = 9.81, kDepth = 10, kCell = 100, kStep = 2;

struct Sea {
  // The height above the mean depth, and the velocities: (rows, columns), periodic.
  Array height, east, north;
};

// Returns the central difference along an axis.
Array across(const Array& x, int64_t axis) {
  return (roll(x, -1, axis) - roll(x, 1, axis)) / (2 * kCell);
}

// Returns the sea one step later: velocities from heights, then heights from the new velocities.
Sea step(const Sea& s) {
  const Array east = s.east - kStep * (kGravity * across(s.height, 1) + s.east * across(s.east, 1) +
                                       s.north * across(s.east, 0));
  const Array north =
      s.north - kStep * (kGravity * across(s.height, 0) + s.east * across(s.north, 1) +
                         s.north * across(s.north, 0));
  const Array depth = kDepth + s.height;
  return {s.height - kStep * (across(depth * east, 1) + across(depth * north, 0)), east, north};
}

// Returns the height at a buoy after `steps` steps.
Array at_buoy(const Array& height, int64_t steps) {
  const Sea start{height, zeros_like(height), zeros_like(height)};
  const Sea end = fori_loop(
      0, steps, [](const Array&, const Sea& s) { return step(s); }, start);
  return index(end.height, {48, 80});
}

int main(int argc, char** argv) {
  initialize({.devices = "cpu:4"});
  const Mesh mesh = make_mesh({4}, {"bands"});
  const int64_t rows = 256, columns = 256, steps = 50;
  const Array y = expand_dims(arange(rows, float32), 1), x = arange(columns, float32);
  const Array hill = exp(-0.005f * (square(y - 64) + square(x - 64)));
  const Array height = device_put(hill, NamedSharding(mesh, P("bands")));

  const auto sensitivity = jit([](const Array& h) {
    return value_and_grad([](const Array& start) { return at_buoy(start, steps); })(h);
  });
  const auto [value, gradient] = sensitivity(height);
  std::cout << "height at the buoy " << value << "\n" << sensitivity.lower(height).explain();

  // The checks: one device computes the same, and adjoint and tangent agree: v'(J u) = (J'v)'u.
  const auto [alone, alone_gradient] = sensitivity(hill);
  const Array direction = random::normal(random::key(0), {rows, columns});
  const Array tangent =
      jvp([](const Array& h) { return at_buoy(h, steps); }, std::tuple(hill), std::tuple(direction))
          .second;
  const double off = abs(tangent - vdot(alone_gradient, direction)).item<double>();
  const double apart = max(abs(gradient - alone_gradient)).item<double>();
  std::cout << "four devices and one differ by " << apart << ", tangent and adjoint by " << off
            << "\n";
  print_times(argc, argv, sum(abs(gradient)).item<double>(), [&] { sensitivity(height); });
  return apart < 1e-5 && off < 1e-4 && std::abs(value.item<double>() - alone.item<double>()) < 1e-5
             ? 0
             : 1;
}
