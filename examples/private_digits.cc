// Differentially private training: a classifier of handwritten digits that reveals of any one image
// no more than epsilon 3 (delta 1e-4) allows. A plan computes how much noise this needs. The
// trainer selects the batches, clips each example's gradient, adds the noise and accounts for it.
//
//   private_digits [--run FOLDER] [--report FILE] [--release FILE] [--stop-after N]
//                  [--reproducible SEED] [FILE]
//
// With --run, the state is saved every 10 steps: a run that was killed continues from there, with
// the same bits. --report writes a page with the curves of loss, norms and epsilon. --release
// writes only the parameters. --reproducible makes every run the same, so anybody who knows the
// seed can subtract the noise. It is for data that is public, as these digits are.
#include <tessera/privacy/privacy.h>
#include <tessera/tessera.h>

#include <iostream>
#include <optional>
#include <string>

#include "examples/progress.h"

using namespace tessera;

constexpr int64_t kTrain = 1536, kSteps = 150;

struct Classifier {
  nnx::Linear first, second;

  explicit Classifier(nnx::Rngs rngs) : first(64, 64, rngs), second(64, 10, rngs) {}
  Array operator()(const Array& x) const { return second(tanh(first(x))); }
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.first, self.second);
  }
};

Array loss_fn(Classifier model, const Array& images, const Array& labels) {
  return -mean(sum(one_hot(labels, 10) * log_softmax(model(images)), {.axis = -1}));
}

// Returns each image standardized by its own mean and norm. Statistics of the whole set would have
// to be private, too.
Array standardised(const Array& images) {
  const Array x = images - mean(images, {.axis = 1, .keepdims = true});
  return 4 * x / sqrt(sum(square(x), {.axis = 1, .keepdims = true}));
}

struct Options {
  std::string data = "examples/data/digits.npz", run, report, release;
  int64_t stop_after = kSteps;
  std::optional<int64_t> seed;
};

Options options_of(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool has_value = i + 1 < argc;
    if (arg == "--run" && has_value) {
      out.run = argv[++i];
    } else if (arg == "--report" && has_value) {
      out.report = argv[++i];
    } else if (arg == "--release" && has_value) {
      out.release = argv[++i];
    } else if (arg == "--reproducible" && has_value) {
      out.seed = std::atoll(argv[++i]);
    } else if (arg == "--stop-after" && has_value) {
      out.stop_after = std::atoll(argv[++i]);
    } else {
      out.data = arg;
    }
  }
  return out;
}

int run(const Options& options) {
  const auto data = load_npz(options.data);
  const int64_t count = data.at("images").shape(0);
  const random::Key mix = random::key(0);
  const Array images = random::permutation(
      mix, standardised(reshape(astype(data.at("images"), float32), {count, 64})));
  const Array labels = random::permutation(mix, astype(data.at("labels"), int32));
  const Array train_images = slice_in_dim(images, 0, kTrain);
  const Array train_labels = slice_in_dim(labels, 0, kTrain);

  const privacy::Plan plan = privacy::make_plan({.num_examples = kTrain,
                                                 .steps = kSteps,
                                                 .expected_batch_size = kTrain / 2,
                                                 .epsilon = 3,
                                                 .delta = 1e-4,
                                                 .l2_clip_norm = 1});
  std::cout << "plan: " << to_string(plan) << "\n";

  // The rate is constant at first, then decreases to 0, so that the noise of the last steps
  // averages out.
  const auto rate = [](const Array& step) {
    return 0.35 * minimum(1.0, (kSteps - astype(step, float32)) / (0.4 * kSteps));
  };
  const privacy::Trainer trainer(plan, loss_fn, optim::sgd(rate, {.momentum = 0.9}));
  const Classifier start(nnx::Rngs(0));
  auto state = options.seed ? trainer.init(start, privacy::reproducible(random::key(*options.seed)))
                            : trainer.init(start);
  if (!options.run.empty() && trainer.restore(options.run, state))
    std::cout << fmt::format("resumed after step {}\n", trainer.steps_done(state));

  while (trainer.steps_done(state) < std::min(plan.steps(), options.stop_after)) {
    const privacy::StepReport report = trainer.step(state, train_images, train_labels);
    if (report.step % 10 != 0) continue;
    progress("step", static_cast<int>(report.step), kSteps, 10, trainer.progress(report));
    if (!options.run.empty()) trainer.save(options.run, state, {.keep = 2});
  }
  if (!options.report.empty()) trainer.report_html(options.report, state);
  if (trainer.steps_done(state) < plan.steps()) return 0;

  const Classifier model = trainer.release(state);
  if (!options.release.empty()) trainer.release(options.release, state);
  const Array predicted = argmax(model(slice_in_dim(images, kTrain, count)), {.axis = -1});
  const double accuracy =
      mean(astype(predicted == slice_in_dim(labels, kTrain, count), float32)).item<double>();
  std::cout << fmt::format("test accuracy {:.1f}% at epsilon {:.2f}, delta {}\n", 100 * accuracy,
                           trainer.epsilon(state), plan.delta());
  return accuracy >= 0.9 ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(options_of(argc, argv));
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
