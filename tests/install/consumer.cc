// Tests an installed Tessera in another project: its headers, its libraries, the ops and
// transforms, which register themselves, and the compiler. The project must be free to use its own
// names.
#include <tessera/ffi/ffi.h>
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;
using namespace tessera::ir;

struct Params {
  Array w;
};

int main() {
  const auto f = jit(grad([](const Params& p) { return sum(p.w * p.w); }));
  const Params g = f(Params{arange(3.f)});
  try {
    lax::ffi_call("absent", {{float32, {3}}}, {lax::reduce_precision(g.w, 8, 7)});
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }
  std::cout << g.w << "\n"
            << (find_op("stablehlo", "sine") ? "sine is defined" : "sine is missing") << "\n";
}
