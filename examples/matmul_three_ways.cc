// One product, C = A B, with three shardings: what each of them communicates, and what that costs.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main() {
  initialize({.devices = "tpu_v4:2x2x2"});
  Mesh mesh = make_mesh({8}, {"x"});
  auto on = [&](PartitionSpec spec) { return NamedSharding(mesh, std::move(spec)); };
  Array a = random::normal(random::key(0), {512, 1024}),
        b = random::normal(random::key(1), {1024, 256});
  Array expected = matmul(a, b);
  auto product = jit([](const Array& a, const Array& b) { return matmul(a, b); });

  struct Layout {
    const char* name;
    PartitionSpec a, b;
  };
  for (const Layout& layout :
       {Layout{"rows of A: nothing moves", P("x", None), P()},
        Layout{"columns of B: nothing moves", P(), P(None, "x")},
        Layout{"the contracted dimension: partial sums are added", P(None, "x"), P("x", None)}}) {
    Array sharded_a = device_put(a, on(layout.a)), sharded_b = device_put(b, on(layout.b));
    Array c = product(sharded_a, sharded_b);
    std::cout << "== " << layout.name << "\n" << product.lower(sharded_a, sharded_b).explain();
    visualize_array_sharding(c);
    if (!allclose(c, expected, {.rtol = 1e-4, .atol = 1e-3})) {
      std::cerr << "the sharded product differs from the one on one device\n";
      return 1;
    }
  }
}
