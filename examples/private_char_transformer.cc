// Differentially private training of a character-level transformer on the text of the GPL, cut into
// windows: what the model tells of any one window is bounded by epsilon 8 (delta 1e-4).
//
//   private_char_transformer [--steps N] [--reproducible SEED] [FILE]
//
// The embedding is the output layer too: the gradient of an example is clipped as a whole, over all
// uses of a parameter, layers of a scan among them.
#include <tessera/tessera.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "examples/progress.h"

using namespace tessera;

constexpr const char* kText = "/usr/share/common-licenses/GPL-3";
constexpr int64_t kLayers = 2, kWidth = 32, kHeads = 4, kLength = 32;

// All layers in one: each array has them along its first dimension.
struct Layers {
  Array norm1, qkv, out, norm2, up, down;
};
struct Model {
  Array embedding, position;
  Layers layers;
  Array norm;
};

Model init(random::Key key, int64_t characters) {
  uint32_t count = 0;
  const auto normal = [&](const Shape& shape, double scale) {
    return random::normal(random::fold_in(key, count++), shape) * scale;
  };
  const int64_t depth = kWidth / kHeads;
  const double in = 1 / std::sqrt(kWidth), down = 1 / std::sqrt(4.0 * kWidth);
  return {.embedding = normal({characters, kWidth}, in),
          .position = normal({kLength, kWidth}, 0.1 * in),
          .layers = {.norm1 = ones({kLayers, kWidth}),
                     .qkv = normal({kLayers, kWidth, 3, kHeads, depth}, in),
                     .out = normal({kLayers, kHeads, depth, kWidth}, in),
                     .norm2 = ones({kLayers, kWidth}),
                     .up = normal({kLayers, kWidth, 4 * kWidth}, in),
                     .down = normal({kLayers, 4 * kWidth, kWidth}, down)},
          .norm = ones({kWidth})};
}

Array layer(const Layers& w, const Array& x) {
  const Array qkv = einsum("btd,dnhk->btnhk", {standardize(x) * w.norm1, w.qkv});
  const auto part = [&](int64_t n) { return index_in_dim(qkv, n, 2, /*keepdims=*/false); };
  const Array seen = dot_product_attention(part(0), part(1), part(2), {.is_causal = true});
  const Array y = x + einsum("bthk,hkd->btd", {seen, w.out});
  return y + matmul(gelu(matmul(standardize(y) * w.norm2, w.up)), w.down);
}

// Of a window [1, length + 1]: the mean cross-entropy of the characters that follow.
Array loss_fn(const Model& p, const Array& window) {
  const Array x = slice_in_dim(window, 0, kLength, 1, 1);
  const Array y = slice_in_dim(window, 1, kLength + 1, 1, 1);
  const auto step = [](const Array& x, const Layers& w) { return std::pair(layer(w, x), None); };
  const Array embedded = take(p.embedding, x, {.axis = 0}) + p.position;
  const Array seen = standardize(scan(step, embedded, p.layers).first) * p.norm;
  const Array logits = matmul(seen, transpose(p.embedding));
  return -mean(sum(one_hot(y, logits.shape(-1)) * log_softmax(logits), {.axis = -1}));
}

struct Text {
  Array windows;  // int32 [windows, length + 1], none of which share a character
  int64_t characters;
};

Text read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const int64_t windows = static_cast<int64_t>(text.size()) / (kLength + 1);
  if (!file || windows < 100)
    throw std::runtime_error(
        fmt::format("cannot read a text of at least {} characters from {}; Debian's base-files "
                    "package installs "
                    "{}, and any other text may be given as the argument",
                    100 * (kLength + 1), path, kText));
  const std::set<char> characters(text.begin(), text.end());
  std::map<char, int32_t> token;
  for (char c : characters) token.emplace(c, static_cast<int32_t>(token.size()));
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < windows * (kLength + 1); ++i) tokens.push_back(token.at(text[i]));
  return {from_host(tokens, {windows, kLength + 1}), static_cast<int64_t>(token.size())};
}

int run(const std::string& path, int64_t steps, std::optional<int64_t> seed) {
  const Text text = read_text(path);
  const int64_t windows = text.windows.shape(0);
  const privacy::Plan plan =
      privacy::make_plan({.num_examples = windows,
                          .steps = steps,
                          .expected_batch_size = static_cast<double>(windows) / 4,
                          .epsilon = 8,
                          .delta = 1e-4,
                          .l2_clip_norm = 1});
  std::cout << "plan: " << to_string(plan) << "\n";

  const privacy::Trainer trainer(plan, loss_fn, optim::adam(5e-3));
  const Model start = init(random::key(0), text.characters);
  auto state =
      seed ? trainer.init(start, privacy::reproducible(random::key(*seed))) : trainer.init(start);
  double first = 0, last = 0;
  while (trainer.steps_done(state) < plan.steps()) {
    const privacy::StepReport report = trainer.step(state, text.windows);
    last = report.loss;
    if (report.step == 1) first = last;
    if (report.step % 10 == 0)
      progress("step", static_cast<int>(report.step), static_cast<int>(steps), 10,
               trainer.progress(report));
  }
  std::cout << fmt::format("loss {:.3f} after {:.3f}, at epsilon {:.2f}, delta {}\n", last, first,
                           trainer.epsilon(state), plan.delta());
  return last < first ? 0 : 1;
}

int main(int argc, char** argv) {
  std::string path = kText;
  int64_t steps = 100;
  std::optional<int64_t> seed;
  try {
    for (int i = 1; i < argc; ++i) {
      const std::string arg = argv[i];
      if (arg == "--steps" && i + 1 < argc) {
        steps = std::atoll(argv[++i]);
      } else if (arg == "--reproducible" && i + 1 < argc) {
        seed = std::atoll(argv[++i]);
      } else {
        path = arg;
      }
    }
    return run(path, steps, seed);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
