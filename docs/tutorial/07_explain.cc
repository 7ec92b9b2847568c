// Lesson 7: what communication costs, and how explain() shows it.
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

struct Layer {
  Array up, down;
};

Array apply(const Layer& layer, const Array& x) {
  return matmul(relu(matmul(x, layer.up)), layer.down);
}

Layer layer_on(const Mesh& mesh, const PartitionSpec& up, const PartitionSpec& down) {
  return {abstract_array({256, 1024}, float32, NamedSharding(mesh, up)),
          abstract_array({1024, 256}, float32, NamedSharding(mesh, down))};
}

int main() {
  initialize({.devices = "cpu:8"});
  const Mesh mesh = make_mesh({2, 4}, {"data", "model"});
  const Array x = abstract_array({512, 256}, float32, NamedSharding(mesh, P("data")));

  const auto forward = jit(apply);
  const Layer whole = layer_on(mesh, P(), P());
  std::cout << forward.lower(whole, x).explain() << "\n";

  const Layer split = layer_on(mesh, P(None, "model"), P("model"));
  std::cout << forward.lower(split, x).explain() << "\n";

  const Layer wrong = layer_on(mesh, P("model"), P(None, "model"));
  std::cout << forward.lower(wrong, x).explain() << "\n";

  const auto gathering = jit([&](const Layer& layer, const Array& x) {
    return with_sharding_constraint(apply(layer, x), NamedSharding(mesh, P()));
  });
  std::cout << gathering.lower(split, x).explain() << "\n";

  for (const Collective& c : gathering.lower(split, x).collectives())
    std::cout << c.name << " over " << c.axes[0] << ": " << c.bytes_per_device << " bytes\n";

  const Mesh pod = Mesh::abstract({64, 64}, {"data", "model"});
  const Layer large{abstract_array({16384, 65536}, bfloat16, NamedSharding(pod, P(None, "model"))),
                    abstract_array({65536, 16384}, bfloat16, NamedSharding(pod, P("model")))};
  const Array batch = abstract_array({8192, 16384}, bfloat16, NamedSharding(pod, P("data")));
  std::cout << forward.lower(large, batch).explain() << "\n";

  const auto guarded = jit(apply, {.comm_budget = CommBudget{.bytes_per_device = 1 << 20}});
  const auto zeros_as = [](const Array& x) { return device_put(zeros(x.shape()), x.sharding()); };
  guarded(tree::map(zeros_as, split), zeros_as(x));
  try {
    guarded(tree::map(zeros_as, wrong), zeros_as(x));
  } catch (const UserError& error) {
    std::cout << error.what() << "\n";
  }
}
