// Lesson 11: one program in several processes.
#include <tessera/format.h>
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

void say(const std::string& line) {
  if (process_index() == 0) std::cout << line << std::endl;
}

Array loss_fn(const Array& weights, const Array& x, const Array& y) {
  return mean(square(matmul(x, weights) - y));
}

int main() {
  initialize({.devices = "cpu:8", .cluster = Cluster::mpi({.share_devices = true})});
  say(fmt::format("{} devices, {} of them here, {} processes", device_count(), local_device_count(),
                  process_count()));

  const Mesh mesh(devices(), {"data"});
  const NamedSharding rows(mesh, P("data")), everywhere(mesh, P());

  const int64_t batch = 32;
  const int64_t mine = batch / process_count();
  const Array first = Array(static_cast<float>(process_index() * mine));
  const Array local = reshape(first + arange(static_cast<float>(mine)), {mine, 1}) / batch;
  const Array x = make_array_from_process_local_data(rows, local);
  say(fmt::format("the batch is {}, of which this process has read {}", x.shape(), local.shape()));

  const Array y = jit([](const Array& x) { return 3 * x; })(x);
  Array weights = device_put(zeros({1, 1}), everywhere);
  const auto step = jit([](const Array& weights, const Array& x, const Array& y) {
    const auto [loss, gradient] = value_and_grad(loss_fn)(weights, x, y);
    return std::pair(weights - gradient, loss);
  });
  Array loss;
  for (int i = 0; i < 100; ++i) std::tie(weights, loss) = step(weights, x, y);
  say(fmt::format("weight {:.3f}", weights.item<float>()));

  try {
    y.to_host();
    say("y is here as a whole");
  } catch (const UserError& error) {
    say(error.what());
  }
  const Array everything = process_allgather(y, true);
  say(fmt::format("the last target is {:.4f}", index(everything, {-1, 0}).item<float>()));

  const Array seed = broadcast_one_to_all(Array(process_index() + 42));
  say(fmt::format("all processes use seed {}", seed.item<int32_t>()));
  sync_global_devices("done");
}
