// Differentially private training of a character-level transformer on the text of the GPL, which is
// split into windows. What the model reveals of any one window is bounded by epsilon 8 (delta
// 1e-4).
//
//   private_char_transformer [--steps N] [--reproducible SEED] [--mechanism NAME]
//                            [--audit CANARIES] [FILE]
//
// The mechanism is the kind of noise: discrete (the default), gaussian, system, banded, buffered,
// banded_inverse or dense; none trains without privacy. --audit trains once more, with CANARIES
// windows of random characters among the data, and computes from them a lower bound of what the run
// reveals.
//
// The embedding is also the output layer. The gradient of an example is clipped as a whole, over
// all uses of a parameter, including those in a scan over layers.
#include <tessera/privacy/privacy.h>
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

// All layers together. The first dimension of each array counts the layers.
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

// Maps [n, length] to [n, length, characters], the logits of the character that follows.
Array logits_of(const Model& p, const Array& x) {
  const auto step = [](const Array& x, const Layers& w) { return std::pair(layer(w, x), None); };
  const Array embedded = take(p.embedding, x, {.axis = 0}) + p.position;
  const Array seen = standardize(scan(step, embedded, p.layers).first) * p.norm;
  return matmul(seen, transpose(p.embedding));
}

// Returns the loss of a window [1, length + 1], the mean cross-entropy of each character after
// those before it.
Array loss_fn(const Model& p, const Array& window) {
  const Array logits = logits_of(p, slice_in_dim(window, 0, kLength, 1, 1));
  const Array y = slice_in_dim(window, 1, kLength + 1, 1, 1);
  return -mean(sum(one_hot(y, logits.shape(-1)) * log_softmax(logits), {.axis = -1}));
}

// Returns the fraction of characters in windows [n, length + 1] that the model's first guess gets
// right.
double accuracy(const Model& p, const Array& windows) {
  const auto right = [](const Model& p, const Array& windows) {
    const Array guess = argmax(logits_of(p, slice_in_dim(windows, 0, kLength, 1, 1)), {.axis = -1});
    return mean(astype(guess == slice_in_dim(windows, 1, kLength + 1, 1, 1), float32));
  };
  return jit(right)(p, windows).item<double>();
}

struct Text {
  Array windows;   // int32 [windows, length + 1]; they do not overlap
  Array held_out;  // the last tenth, on which no run trains
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
  const Array all = from_host(tokens, {windows, kLength + 1});
  const int64_t trained_on = windows - windows / 10;
  return {slice_in_dim(all, 0, trained_on), slice_in_dim(all, trained_on, windows),
          static_cast<int64_t>(token.size())};
}

enum class NoiseKind : uint8_t {
  kNone,
  kGaussian,
  kDiscrete,
  kSystem,
  kBanded,
  kBuffered,
  kBandedInverse,
  kDense
};
const std::map<std::string, NoiseKind> kNoiseKinds = {{"none", NoiseKind::kNone},
                                                      {"gaussian", NoiseKind::kGaussian},
                                                      {"discrete", NoiseKind::kDiscrete},
                                                      {"system", NoiseKind::kSystem},
                                                      {"banded", NoiseKind::kBanded},
                                                      {"buffered", NoiseKind::kBuffered},
                                                      {"banded_inverse", NoiseKind::kBandedInverse},
                                                      {"dense", NoiseKind::kDense}};

// Returns a plan with a quarter of the examples in each step, at epsilon 8.
privacy::Plan plan_of(NoiseKind kind, int64_t examples, int64_t steps) {
  constexpr int64_t kCycle = 4;
  privacy::PlanOptions options{.num_examples = examples,
                               .steps = steps,
                               .expected_batch_size = static_cast<double>(examples) / kCycle,
                               .epsilon = 8,
                               .delta = 1e-4,
                               .mechanism = privacy::Gaussian{},
                               .l2_clip_norm = 1};
  // Sampling does not amplify the privacy of noise that is correlated beyond a cycle. With such
  // noise each example is in one batch of every cycle, and the number of cycles determines the
  // noise.
  const auto in_cycles = [&](privacy::NoiseStrategy strategy) {
    options.num_examples = options.steps = 0;
    options.expected_batch_size.reset();
    options.sampler = privacy::batch_selection::BallsInBinsSampling{
        .num_examples = examples, .iterations = steps, .cycle_length = kCycle};
    options.amplified = false;
    options.strategy = std::move(strategy);
  };
  switch (kind) {
    case NoiseKind::kNone:
      return privacy::make_plan(options).without_privacy();
    case NoiseKind::kGaussian:
      break;
    case NoiseKind::kDiscrete:
      options.mechanism.reset();
      break;
    case NoiseKind::kSystem:
      options.random_source = privacy::RandomSource::kSystem;
      break;
    case NoiseKind::kBanded:
      options.strategy = privacy::BandedNoise{.bands = 2};
      break;
    case NoiseKind::kBuffered:
      in_cycles(privacy::BufferedNoise{});
      break;
    case NoiseKind::kBandedInverse:
      in_cycles(privacy::BandedInverseNoise{});
      break;
    case NoiseKind::kDense:
      in_cycles(privacy::DenseNoise{
          privacy::matrix_factorization::dense::optimize({.n = steps, .epochs = steps / kCycle})});
      break;
  }
  return privacy::make_plan(options);
}

struct Arguments {
  std::string path = kText;
  int64_t steps = 100;
  std::optional<int64_t> seed;
  NoiseKind noise = NoiseKind::kDiscrete;
  int64_t canaries = 0;  // of an audit; 0: there is none
};

void audit(const Arguments& arguments, const Text& text, const Model& start) {
  namespace auditing = privacy::auditing;
  const privacy::Plan plan =
      plan_of(arguments.noise, text.windows.shape(0) + arguments.canaries, arguments.steps);
  const privacy::Trainer trainer(plan, auditing::counted(loss_fn), optim::adam(5e-3));
  const auto canaries = [&](int64_t count, const random::Key& key) {
    return std::tuple(
        random::randint(key, {count, kLength + 1}, 0, static_cast<int>(text.characters)));
  };
  auditing::TrainingAuditOptions options;
  if (arguments.seed) options.seed = static_cast<uint64_t>(*arguments.seed);
  std::cout << to_string(auditing::audit(trainer, loss_fn, start, std::tuple(text.windows),
                                         arguments.canaries, canaries, options))
            << "\n";
}

int run(const Arguments& arguments) {
  const Text text = read_text(arguments.path);
  const privacy::Plan plan = plan_of(arguments.noise, text.windows.shape(0), arguments.steps);
  std::cout << "plan: " << to_string(plan) << "\n";

  const privacy::Trainer trainer(plan, loss_fn, optim::adam(5e-3));
  const Model start = init(random::key(0), text.characters);
  auto state = arguments.seed
                   ? trainer.init(start, privacy::reproducible(random::key(*arguments.seed)))
                   : trainer.init(start);
  double first = 0, last = 0;
  while (trainer.steps_done(state) < plan.steps()) {
    const privacy::StepReport report = trainer.step(state, text.windows);
    last = report.loss;
    if (report.step == 1) first = last;
    if (report.step % 10 == 0)
      progress("step", static_cast<int>(report.step), static_cast<int>(plan.steps()), 10,
               trainer.progress(report));
  }
  std::cout << fmt::format(
      "loss {:.3f} after {:.3f}, {:.1f}% of the next characters right in other text, at epsilon "
      "{:.2f}, delta {}\n",
      last, first, 100 * accuracy(state.params, text.held_out), trainer.epsilon(state),
      plan.delta());
  if (arguments.canaries > 0) audit(arguments, text, start);
  return last < first ? 0 : 1;
}

Arguments parsed(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const bool more = i + 1 < argc;
    if (option == "--steps" && more) {
      out.steps = std::stoll(argv[++i]);
    } else if (option == "--reproducible" && more) {
      out.seed = std::stoll(argv[++i]);
    } else if (option == "--audit" && more) {
      out.canaries = std::stoll(argv[++i]);
    } else if (option == "--mechanism" && more) {
      const auto found = kNoiseKinds.find(argv[++i]);
      if (found == kNoiseKinds.end()) {
        std::string names;
        for (const auto& [name, kind] : kNoiseKinds) names += (names.empty() ? "" : ", ") + name;
        throw std::runtime_error(fmt::format("expected a mechanism of {}, got {}", names, argv[i]));
      }
      out.noise = found->second;
    } else {
      out.path = option;
    }
  }
  return out;
}

int main(int argc, char** argv) {
  try {
    return run(parsed(argc, argv));
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
