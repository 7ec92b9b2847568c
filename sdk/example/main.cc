// Fits a line by gradient descent, with the examples sharded over eight devices.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

struct Line {
  Array slope, offset;
};

int main() {
  initialize({.devices = "cpu:8"});
  const Mesh mesh = make_mesh({8}, {"data"});
  const Array x = device_put(arange(64.f) / 32.f - 1.f, NamedSharding(mesh, P("data")));
  const Array y = 3.f * x + 1.f;
  const auto step = jit([](const Line& line, const Array& x, const Array& y) {
    const auto loss = [&](const Line& l) { return mean(square(l.slope * x + l.offset - y)); };
    const Line g = grad(loss)(line);
    return Line{line.slope - 0.5f * g.slope, line.offset - 0.5f * g.offset};
  });
  Line line{Array(0.f), Array(0.f)};
  for (int i = 0; i < 200; ++i) line = step(line, x, y);
  std::cout << "y = " << round(line.slope) << " x + " << round(line.offset) << "\n";
}
