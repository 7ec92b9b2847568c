// A long short-term memory (Hochreiter and Schmidhuber, 1997) learns to add the two marked numbers
// in a sequence. It must remember them until the end.
#include <tessera/tessera.h>

#include <iostream>

#include "examples/timed.h"

using namespace tessera;

constexpr int64_t kBatch = 64, kLength = 30, kWidth = 64;

struct Params {
  Array input, recurrent, bias;  // (2, 4 width), (width, 4 width), (4 width)
  Array out, out_bias;           // (width), ()
};

Params random_params(const random::Key& key) {
  const auto [a, b, c] = random::split<3>(key);
  // The bias of 1 opens the forget gates at first.
  const Array bias = concatenate({zeros(kWidth), ones(kWidth), zeros(2 * kWidth)});
  return {initializers::glorot_uniform()(a, {2, 4 * kWidth}),
          initializers::orthogonal()(b, {kWidth, 4 * kWidth}), bias,
          0.1f * random::normal(c, {kWidth}), zeros(Shape{})};
}

// Returns a prediction for each sequence of (batch, length, 2).
Array predict(const Params& p, const Array& sequences) {
  const auto cell = [&](const std::pair<Array, Array>& state, const Array& x) {
    const auto& [h, c] = state;
    const std::vector<Array> gates = split(x + matmul(h, p.recurrent), 4, 1);
    const Array next = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
    return std::pair(std::pair(sigmoid(gates[3]) * tanh(next), next), None);
  };
  // One product for all times computes what the inputs add to the gates.
  const Array inputs = matmul(swapaxes(sequences, 0, 1), p.input) + p.bias;
  const Array start = zeros({sequences.shape(0), kWidth});
  return matmul(scan(cell, std::pair(start, start), inputs).first.first, p.out) + p.out_bias;
}

// Returns sequences of random numbers and marks, and the sum of the marked numbers of each
// sequence.
std::pair<Array, Array> batch(const random::Key& key) {
  const auto [a, b] = random::split<2>(key);
  const Array numbers = random::uniform(a, {kBatch, kLength});
  const Array order = argsort(random::uniform(b, {kBatch, kLength}));
  const Array marks = astype(order < 2, float32);
  return {stack({numbers, marks}, -1), sum(numbers * marks, {.axis = 1})};
}

Array loss(const Params& p, const Array& sequences, const Array& sums) {
  return mean(square(predict(p, sequences) - sums));
}

int main(int argc, char** argv) {
  Params params = random_params(random::key(0));
  const Params start = params;
  const auto optimizer = optim::chain(optim::clip_by_global_norm(1.0), optim::adam(3e-3));
  auto state = optimizer.init(params);
  const auto step = jit([&](const Params& p, const auto& s, const random::Key& key) {
    const auto [sequences, sums] = batch(key);
    const auto [value, gradient] = value_and_grad(loss)(p, sequences, sums);
    const auto [updates, next] = optimizer.update(gradient, s, p);
    return std::tuple(optim::apply_updates(p, updates), next, value);
  });
  Array value;
  for (int i = 1; i <= 900; ++i) {
    std::tie(params, state, value) = step(params, state, random::fold_in(random::key(1), i));
    if (i % 300 == 0) std::cout << "step " << i << ", mean square " << value << "\n";
  }
  const auto test = batch(random::key(2));
  const Array &sequences = test.first, &sums = test.second;
  const double error = jit(loss)(params, sequences, sums).item<double>();
  std::cout << "mean square for new sequences " << error << "; that of guessing 1 is about "
            << var(sums) << "\n";

  // The check: in the direction of the gradient, the slope of the loss is the gradient's squared
  // norm.
  const auto gradients = jit([](const Params& p, const Array& x, const Array& y) {
    return value_and_grad(loss)(p, x, y);
  });
  const auto start_loss = gradients(start, sequences, sums);
  const Params& gradient = start_loss.second;
  const auto moved = [&](float by) {
    const Params p =
        tree::map([by](const Array& x, const Array& g) { return x + by * g; }, start, gradient);
    return loss(p, sequences, sums).item<double>();
  };
  double squares = 0;
  for (const Array& g : tree::leaves(gradient)) squares += sum(square(g)).item<double>();
  const double slope = (moved(0.01f) - moved(-0.01f)) / 0.02;
  std::cout << "slope along the gradient " << slope << ", its square " << squares << "\n";
  print_times(argc, argv, start_loss.first.item<double>(),
              [&] { gradients(start, sequences, sums); });
  return error < 0.03 && std::abs(slope / squares - 1) < 0.01 ? 0 : 1;
}
