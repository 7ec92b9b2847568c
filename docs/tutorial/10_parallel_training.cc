// Lesson 10: training in parallel, checkpoints, and going on.
#include <tessera/format.h>
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>

using namespace tessera;

struct Params {
  Array up, down;
};

Array loss_fn(const Params& params, const Array& x, const Array& y) {
  return mean(square(matmul(relu(matmul(x, params.up)), params.down) - y));
}

std::pair<Array, Array> batch_of(int64_t step) {
  const Array x = random::normal(random::fold_in(random::key(1), step), {64, 16});
  return {x, flip(x, 1)};
}

const auto optimizer = optim::adam(3e-3);
using State = decltype(optimizer.init(Params{}));

std::pair<Params, State> start() {
  const auto [first, second] = random::split<2>(random::key(0));
  const Params params{random::normal(first, {16, 64}) / 4, random::normal(second, {64, 16}) / 8};
  return {params, optimizer.init(params)};
}

std::tuple<Params, State, Array> step(const Params& params, const State& state, const Array& x,
                                      const Array& y) {
  const auto [loss, gradients] = value_and_grad(loss_fn)(params, x, y);
  const auto [updates, next] = optimizer.update(gradients, state, params);
  return {optim::apply_updates(params, updates), next, loss};
}

class Training {
 public:
  Training(const Mesh& mesh, const PartitionSpec& up, const PartitionSpec& down)
      : rows_(mesh, P("data")) {
    const NamedSharding everywhere(mesh, P());
    const PrefixTree<NamedSharding> weights{NamedSharding(mesh, up), NamedSharding(mesh, down)};
    const PrefixTree<NamedSharding> moments{{everywhere, weights, weights}, everywhere};
    std::tie(params_, state_) = jit(start, {.out_shardings = {weights, moments}})();
  }

  double run(int64_t until) {
    const auto compiled = jit(step, {.donate_argnums = {0, 1}});
    Array loss;
    for (; done_ < until; ++done_) {
      const auto [x, y] = device_put(batch_of(done_), rows_);
      std::tie(params_, state_, loss) = compiled(params_, state_, x, y);
    }
    return loss.item<double>();
  }

  void print_plan() const {
    const auto [x, y] = device_put(batch_of(0), rows_);
    for (const Collective& c : jit(step).lower(params_, state_, x, y).collectives())
      std::cout << "  " << c.name << " over " << c.axes[0] << ": " << c.bytes_per_device
                << " bytes\n";
  }

  void save(const std::string& folder) const {
    save_checkpoint(folder, done_, std::tuple(params_, state_), {.keep = 2});
  }
  bool restore(const std::string& folder) {
    const std::optional<int64_t> last = latest_step(folder);
    if (!last) return false;
    std::tie(params_, state_) = restore_checkpoint(folder, std::tuple(params_, state_));
    done_ = *last;
    return true;
  }

 private:
  NamedSharding rows_;
  Params params_;
  State state_;
  int64_t done_ = 0;
};

int main() {
  initialize({.devices = "cpu:8"});
  const Mesh one(std::vector<Device>{devices()[0]}, {"data"});
  Training alone(one, P(), P());
  const double expected = alone.run(60);
  std::cout << fmt::format("one device: loss {:.3f}\n", expected);

  const Mesh line(devices(), {"data"});
  Training data_parallel(line, P(), P());
  std::cout << fmt::format("data parallel: loss {:.3f}\n", data_parallel.run(60));
  data_parallel.print_plan();

  const Mesh grid = make_mesh({2, 4}, {"data", "model"});
  const PartitionSpec columns = P(None, "model"), rows = P("model");
  Training both(grid, columns, rows);
  std::cout << fmt::format("data and tensor parallel: loss {:.3f}\n", both.run(60));
  both.print_plan();

  Training interrupted(grid, columns, rows);
  interrupted.run(30);
  interrupted.save("checkpoints");
  interrupted.run(40);

  Training resumed(line, P(), P());
  std::cout << "found a checkpoint: " << std::boolalpha << resumed.restore("checkpoints") << "\n";
  const double loss = resumed.run(60);
  std::cout << fmt::format("resumed on another mesh: loss {:.3f}\n", loss);
  return std::abs(loss - expected) < 1e-5 ? 0 : 1;
}
