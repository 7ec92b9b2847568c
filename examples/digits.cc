// Data-parallel training: a classifier of handwritten digits on 8 virtual devices. The program is
// written for one device. The batch is sharded over the mesh, the model is on every device, and the
// compiler adds the only collective that this needs, a reduction of the gradients.
#include <tessera/tessera.h>

#include <iostream>

#include "examples/progress.h"

using namespace tessera;

struct Classifier {
  nnx::Linear first, second;
  nnx::Dropout dropout;

  explicit Classifier(nnx::Rngs rngs)
      : first(64, 128, rngs), second(128, 10, rngs), dropout(0.2, rngs) {}
  Array operator()(const Array& x) { return second(dropout(relu(first(x)))); }
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.first, self.second, self.dropout);
  }
};

// Returns the mean cross-entropy, and the model with the next key of its dropout.
std::pair<Array, Classifier> loss_fn(Classifier model, const Array& images, const Array& labels) {
  const Array log_probability = log_softmax(model(images));
  const Array loss = -mean(sum(one_hot(labels, 10) * log_probability, {.axis = -1}));
  return {loss, model};
}

int main(int argc, char** argv) {
  initialize({.devices = "cpu:8"});
  const auto data = load_npz(argc > 1 ? argv[1] : "examples/data/digits.npz");
  const int64_t count = data.at("images").shape(0), train_count = 1536, batch = 128, epochs = 20;
  const Array images = reshape(astype(data.at("images"), float32), {count, 64}) / 16;
  const Array labels = astype(data.at("labels"), int32);

  const Mesh mesh(devices(), {"data"});
  const NamedSharding by_rows(mesh, P("data")), everywhere(mesh, P());

  // Images of one writer are adjacent in the file, so they are shuffled before some are set aside
  // for the test.
  const random::Key key = random::key(0);
  const Array mixed_images = random::permutation(key, images);
  const Array mixed_labels = random::permutation(key, labels);
  // There are 261 rows on 8 devices, so the last shard is padded, and masked if the padding
  // matters.
  const Array test_images = device_put(slice_in_dim(mixed_images, train_count, count), by_rows);
  const Array test_labels = device_put(slice_in_dim(mixed_labels, train_count, count), by_rows);

  Classifier model = device_put(Classifier(nnx::Rngs(0)), everywhere);
  nnx::Optimizer made(model, optim::adamw(optim::warmup_cosine_decay_schedule(
                                 0, 4e-3, 40, epochs * (train_count / batch))));
  auto optimizer = device_put(made, everywhere);

  auto step = jit([](Classifier model, auto optimizer, const Array& x, const Array& y) {
    auto [loss_and_model, grads] = nnx::value_and_grad(loss_fn)(model, x, y);
    model = loss_and_model.second;
    optimizer.update(model, grads);
    return std::tuple(model, optimizer, loss_and_model.first);
  });
  auto accuracy = jit([](Classifier model, const Array& x, const Array& y) {
    return mean(astype(argmax(model(x), {.axis = -1}) == y, float32));
  });
  const auto evaluate = [&] {
    Classifier evaluated = model;
    nnx::eval(evaluated);
    return accuracy(evaluated, test_images, test_labels).item<double>();
  };

  std::cout << step.lower(model, optimizer,
                          device_put(slice_in_dim(mixed_images, 0, batch), by_rows),
                          device_put(slice_in_dim(mixed_labels, 0, batch), by_rows))
                   .explain();

  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    // With the same key and length, images and labels get the same order.
    const random::Key order = random::fold_in(random::key(1), epoch);
    const Array x = random::permutation(order, slice_in_dim(mixed_images, 0, train_count));
    const Array y = random::permutation(order, slice_in_dim(mixed_labels, 0, train_count));
    Array loss;
    for (int64_t i = 0; i < train_count; i += batch)
      std::tie(model, optimizer, loss) =
          step(model, optimizer, device_put(slice_in_dim(x, i, i + batch), by_rows),
               device_put(slice_in_dim(y, i, i + batch), by_rows));
    progress("epoch", static_cast<int>(epoch) + 1, epochs, 5,
             fmt::format("loss {:.4f}, test accuracy {:.3f}", loss.item<double>(), evaluate()));
  }
  const double final_accuracy = evaluate();
  std::cout << fmt::format("test accuracy {:.1f}% of {} images\n", 100 * final_accuracy,
                           count - train_count);
  return final_accuracy > 0.95 ? 0 : 1;
}
