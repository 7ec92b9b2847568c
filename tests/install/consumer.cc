// What an installed Tessera must give a project of its own: headers, libraries, the ops and
// transforms, which register themselves, and the compiler.
#include <tessera/tessera.h>

#include <iostream>

int main() {
  using namespace tessera;
  const auto f = jit(grad([](const Array& x) { return sum(x * x); }));
  std::cout << f(arange(3.f)) << "\n"
            << (find_op("stablehlo", "sine") ? "sine is defined" : "sine is missing") << "\n";
}
