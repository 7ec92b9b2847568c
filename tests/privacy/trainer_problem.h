// A small problem for the tests of the trainer.
#pragma once

#include <cmath>
#include <vector>

#include "../errors.h"
#include "tessera/nnx/modules.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/optim/optim.h"
#include "tessera/privacy/trainer.h"
#include "tessera/random/random.h"

namespace tessera::privacy::trainer_problem {

struct Weights {
  Array w, b;
};
inline Weights weights() { return {full(Shape{3, 2}, .1, float32), zeros({2})}; }

constexpr auto loss = [](const Weights& p, const Array& x, const Array& y) {
  return mean(square(matmul(x, p.w) + p.b - y));
};

// A model with parameters and a stream of keys, and its loss.
struct Module {
  nnx::Linear linear;
  nnx::Dropout dropout;
  explicit Module(nnx::Rngs rngs) : linear(3, 2, rngs), dropout(.5, rngs) {}
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.linear, self.dropout);
  }
};

constexpr auto module_loss = [](Module m, const Array& x, const Array& y) {
  return mean(square(m.dropout(m.linear(x)) - y));
};

constexpr int64_t kExamples = 64;
inline Array xs() { return random::normal(random::key(1), {kExamples, 3}); }
inline Array ys() { return random::normal(random::key(2), {kExamples, 2}); }

inline PlanOptions options_of(double probability = .25) {
  return {.num_examples = kExamples,
          .steps = 12,
          .sampling_prob = probability,
          .noise_multiplier = 1,
          .delta = 1e-3,
          .mechanism = Gaussian{},
          .l2_clip_norm = .5};
}
inline Plan plan_of(double probability = .25) { return make_plan(options_of(probability)); }

template <class State>
std::vector<float> bits_of(const State& state) {
  std::vector<float> out;
  for (const Array& leaf : tree::leaves(state)) {
    const std::vector<float> values = to_vector<float>(astype(leaf, float32));
    out.insert(out.end(), values.begin(), values.end());
  }
  // Rows of the history that are not written yet are NaN, which is not equal to itself.
  for (float& x : out)
    if (std::isnan(x)) x = -12345;
  return out;
}
inline std::vector<float> parameters(const Weights& p) {
  std::vector<float> out = to_vector<float>(p.w);
  const std::vector<float> b = to_vector<float>(p.b);
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

template <class Trainer, class State>
void run_to(const Trainer& trainer, State& state, int64_t steps) {
  while (trainer.steps_done(state) < steps) trainer.step(state, xs(), ys());
}

}  // namespace tessera::privacy::trainer_problem
