// The least that a program does: it jits one function and calls it. benchmarks/start.py times it.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main() {
  const auto f = jit([](const Array& x) { return sin(x) * x + 1.f; });
  const float y = f(zeros({1000}))[0].item<float>();
  if (y != 1) std::cerr << "expected 1, got " << y << "\n";
  return y == 1 ? 0 : 1;
}
