// Lesson 6: meshes and shardings.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

int main() {
  initialize({.devices = "cpu:8"});
  std::cout << device_count() << " devices, the first is " << devices()[0] << "\n";

  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  std::cout << mesh << "\n";

  const Array table = reshape(arange(64.0f), {8, 8});
  const Array blocks = device_put(table, NamedSharding(mesh, P("x", "y")));
  visualize_array_sharding(blocks);

  for (const Shard& shard : addressable_shards(blocks))
    if (shard.device.id < 3)
      std::cout << shard.device << " holds [" << shard.index[0] << ", " << shard.index[1]
                << "], a shard of " << shard.data.shape() << "\n";

  const Array rows = device_put(table, NamedSharding(mesh, P("x")));
  visualize_array_sharding(rows);

  std::cout << sum(blocks) << " " << sum(table) << " " << array_equal(blocks, rows) << "\n";

  const auto f = jit([](const Array& a, const Array& b) { return relu(matmul(a, b)) - 1; });
  const Array columns = device_put(table, NamedSharding(mesh, P(None, "y")));
  std::cout << f(rows, columns).sharding() << "\n";

  const Array whole = device_put(table, NamedSharding(mesh, P()));
  std::cout << f(rows, whole).sharding() << "\n";
  std::cout << f(whole, columns).sharding() << "\n";

  const NamedSharding by_rows(mesh, P("x"));
  const auto g = jit([](const Array& a, const Array& b) { return relu(matmul(a, b)) - 1; },
                     {.out_shardings = by_rows});
  std::cout << g(rows, columns).sharding() << "\n";

  const auto h = jit([&](const Array& a, const Array& b) {
    const Array product = with_sharding_constraint(matmul(a, b), by_rows);
    return relu(product) - 1;
  });
  std::cout << h(rows, columns).sharding() << "\n";

  const Array ten = device_put(arange(10.0f), by_rows);
  visualize_array_sharding(ten);
  std::cout << "the mean of ten is " << mean(ten) << "\n";

  try {
    device_put(table, NamedSharding(mesh, P("z")));
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }
}
