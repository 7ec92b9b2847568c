// Training that may be killed at any moment: a classifier of handwritten digits that writes
// checkpoints, and continues from the last one when it is started again.
//
//   restartable [--steps N] [--every K] [--checkpoints FOLDER] [DATA]
//   tessera launch -n 4 --restarts 100 -- restartable --checkpoints runs/digits
//
// Nothing in the program depends on processes: tessera launch divides the four devices among them.
// The parameters are sharded over the devices, so each process saves its part. At the end the
// program prints a digest of the parameters' bytes. It is the same for 1, 2 and 4 processes,
// however often the program was killed, because a step depends only on its number and on the
// checkpoint.
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

struct Options {
  std::string data = "examples/data/digits.npz", checkpoints = "checkpoints";
  int64_t steps = 200, every = 20;
};

struct Params {
  Array w1, b1, w2, b2;
};

Params init(const random::Key& key) {
  return {random::normal(random::fold_in(key, 0), {64, 128}) / 8, zeros({128}),
          random::normal(random::fold_in(key, 1), {128, 10}) / 11, zeros({10})};
}

Array loss_fn(const Params& p, const Array& images, const Array& labels) {
  const Array hidden = relu(matmul(images, p.w1) + p.b1);
  const Array log_probability = log_softmax(matmul(hidden, p.w2) + p.b2);
  return -mean(sum(one_hot(labels, 10) * log_probability, {.axis = -1}));
}

// Returns a digest (FNV-1a) of the bytes of all arrays.
template <class Tree>
uint64_t digest(const Tree& tree) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const Array& x : tree::leaves(tree)) {
    const Literal host = x.to_host();
    const auto* bytes = reinterpret_cast<const unsigned char*>(host.raw());
    for (int64_t i = 0; i < host.bytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  }
  return hash;
}

// Prints a line, only in the first process.
void say(const std::string& line) {
  if (process_index() == 0) std::cout << line << std::endl;
}

int run(const Options& options) {
  initialize({.devices = "cpu:4"});
  const auto data = load_npz(options.data);
  const int64_t count = data.at("images").shape(0), batch = 128;
  const Array images = reshape(astype(data.at("images"), float32), {count, 64}) / 16;
  const Array labels = astype(data.at("labels"), int32);

  const Mesh mesh(devices(), {"data"});
  const NamedSharding rows(mesh, P("data")), columns(mesh, P(None, "data")), whole(mesh, P());
  const PrefixTree<NamedSharding> where{columns, rows, rows, whole},
      state_where{{whole, where, where}, whole};

  const auto tx = optim::adam(3e-3);
  auto [params, state] = jit(
      [&] {
        const Params p = init(random::key(0));
        return std::pair(p, tx.init(p));
      },
      {.out_shardings = {where, state_where}})();
  using State = decltype(state);

  auto step = jit(
      [&](const Params& params, const State& state, const Array& x, const Array& y) {
        auto [value, grads] = value_and_grad(loss_fn)(params, x, y);
        auto [updates, next] = tx.update(grads, state, params);
        return std::tuple(optim::apply_updates(params, updates), next, value);
      },
      {.in_shardings = {where, state_where, rows, rows},
       .out_shardings = {where, state_where, whole}});
  // Returns the batch of a step. It depends only on the step's number.
  auto batch_of = jit(
      [=](const Array& images, const Array& labels, const Array& number) {
        const Array chosen =
            random::randint(random::fold_in(random::key(1), number), {batch}, 0, count);
        return std::pair(take(images, chosen, {.axis = 0}), take(labels, chosen));
      },
      {.out_shardings = {rows, rows}});

  int64_t done = 0;
  if (const std::optional<int64_t> last = latest_step(options.checkpoints)) {
    std::tie(params, state) =
        restore_checkpoint(options.checkpoints, std::tuple(params, state), last);
    done = *last;
    say(fmt::format("goes on from step {}", done));
  }
  Array loss;
  while (done < options.steps) {
    const auto [x, y] = batch_of(images, labels, Array(static_cast<int32_t>(done)));
    std::tie(params, state, loss) = step(params, state, x, y);
    ++done;
    if (done % options.every != 0 && done != options.steps) continue;
    save_checkpoint(options.checkpoints, done, std::tuple(params, state), {.keep = 3});
    say(fmt::format("step {} saved, loss {:.4f}", done, loss.item<double>()));
  }
  say(fmt::format("digest {:016x} after {} steps", digest(std::tuple(params, state)), done));
  return 0;
}

int main(int argc, char** argv) {
  try {
    Options options;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      const auto value = [&] {
        if (i + 1 == argc)
          throw std::runtime_error(fmt::format("{}: expected a value, got none", argument));
        return std::string(argv[++i]);
      };
      if (argument == "--steps") {
        options.steps = std::stoll(value());
      } else if (argument == "--every") {
        options.every = std::stoll(value());
      } else if (argument == "--checkpoints") {
        options.checkpoints = value();
      } else {
        options.data = argument;
      }
    }
    if (options.steps < 1 || options.every < 1)
      throw std::runtime_error("--steps, --every: expected 1 at least");
    return run(options);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
