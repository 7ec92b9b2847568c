// Lesson 9: a network and an optimizer.
#include <tessera/format.h>
#include <tessera/tessera.h>

#include <iostream>

using namespace tessera;

struct Network {
  nnx::Linear first, second;

  explicit Network(nnx::Rngs rngs) : first(2, 32, rngs), second(32, 2, rngs) {}
  Array operator()(const Array& x) const { return second(tanh(first(x))); }

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.first, self.second);
  }
};

Array loss_fn(const Network& network, const Array& points, const Array& labels) {
  const Array log_probability = log_softmax(network(points));
  return -mean(sum(one_hot(labels, 2) * log_probability, {.axis = -1}));
}

Array accuracy(const Network& network, const Array& points, const Array& labels) {
  return mean(astype(argmax(network(points), {.axis = -1}) == labels, float32));
}

std::pair<Array, Array> make_data(const random::Key& key, int64_t count) {
  const Array points = random::uniform(key, {count, 2}, {}, -1, 1);
  const Array inside = sum(square(points), {.axis = 1}) < 0.5;
  return {points, astype(inside, int32)};
}

int main() {
  const auto [train_key, test_key] = random::split<2>(random::key(0));
  const auto [points, labels] = make_data(train_key, 1024);
  const auto [test_points, test_labels] = make_data(test_key, 256);

  Network network(nnx::Rngs(0));
  std::cout << fmt::format("before: loss {:.2f}, accuracy {:.2f}\n",
                           loss_fn(network, points, labels).item<float>(),
                           accuracy(network, test_points, test_labels).item<float>());
  tree::for_each_leaf_with_path(network, [](const Array& leaf, const std::string& path) {
    std::cout << path << " " << leaf.shape() << "\n";
  });

  nnx::Optimizer optimizer(network, optim::adam(0.01));
  const auto step = jit([](Network network, auto optimizer, const Array& x, const Array& y) {
    const auto [loss, gradients] = value_and_grad(loss_fn)(network, x, y);
    optimizer.update(network, gradients);
    return std::tuple(network, optimizer, loss);
  });

  const int64_t batch = 128;
  for (int epoch = 1; epoch <= 20; ++epoch) {
    const random::Key key = random::fold_in(random::key(1), epoch);
    const Array order = random::permutation(key, labels.shape(0));
    Array loss;
    for (int64_t start = 0; start < order.shape(0); start += batch) {
      const Array chosen = slice_in_dim(order, start, start + batch);
      const Array x = take(points, chosen, {.axis = 0}), y = take(labels, chosen);
      std::tie(network, optimizer, loss) = step(network, optimizer, x, y);
    }
    if (epoch % 5 == 0)
      std::cout << fmt::format("epoch {:2}: loss {:.2f}\n", epoch, loss.item<float>());
  }
  std::cout << fmt::format("after: accuracy {:.2f}\n",
                           accuracy(network, test_points, test_labels).item<float>());

  const auto schedule = optim::cosine_decay_schedule(0.01, 160);
  std::cout << fmt::format("rate {:.4f}, {:.4f}, {:.4f}\n", schedule(0).item<float>(),
                           schedule(80).item<float>(), schedule(160).item<float>());
  const auto recipe = optim::chain(optim::clip_by_global_norm(1.0), optim::adamw(schedule));
  nnx::Optimizer careful(network, recipe);
  std::tie(network, careful) =
      jit([](Network network, auto optimizer, const Array& x, const Array& y) {
        optimizer.update(network, grad(loss_fn)(network, x, y));
        return std::tuple(network, optimizer);
      })(network, careful, points, labels);
  std::cout << "updates made: " << careful.step << "\n";
}
