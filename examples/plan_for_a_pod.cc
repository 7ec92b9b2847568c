// Plans a 32-layer network for 4,096 devices that this machine does not have. Shardings,
// collectives and bytes are known within milliseconds.
#include <tessera/tessera.h>

#include <chrono>
#include <iostream>

using namespace tessera;

int main() {
  const Mesh pod = Mesh::abstract({256, 16}, {"data", "model"});
  auto on = [&](PartitionSpec spec) { return NamedSharding(pod, std::move(spec)); };
  const int64_t batch = 8192, width = 4096, layers = 32;

  struct Layer {
    Array up, down;
  };
  std::vector<Layer> network;
  for (int i = 0; i < layers; ++i)
    network.push_back({abstract_array({width, 4 * width}, bfloat16, on(P(None, "model"))),
                       abstract_array({4 * width, width}, bfloat16, on(P("model", None)))});
  auto forward = jit([](const std::vector<Layer>& network, const Array& x) {
    Array h = x;
    for (const Layer& layer : network) h = h + matmul(relu(matmul(h, layer.up)), layer.down);
    return h;
  });

  const auto start = std::chrono::steady_clock::now();
  const Lowered plan =
      forward.lower(network, abstract_array({batch, width}, bfloat16, on(P("data", None))));
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

  const Cost cost = plan.cost();
  std::cout << "planned for " << pod << " in " << ms << " ms\n"
            << plan.collectives().size()
            << " collectives; the first: " << plan.collectives()[0].name << " over "
            << plan.collectives()[0].axes[0] << ", because " << plan.collectives()[0].reason << "\n"
            << "a device computes " << cost.flops / 1e12 << " Tflop and sends "
            << cost.communication_bytes / 1e9 << " GB in about " << cost.communication_seconds * 1e3
            << " ms\n";
  // There is one all_reduce for each layer: it completes the partial sums over "model".
  return plan.collectives().size() == static_cast<size_t>(layers) ? 0 : 1;
}
