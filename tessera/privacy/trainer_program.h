// The program of a step of privacy::Trainer: from the state and the indices of a batch to the next
// state and a row of the history. For trainer.h, which jits it.
#pragma once

#include <tuple>
#include <utility>

#include "tessera/nnx/optimizer.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/operators.h"
#include "tessera/privacy/clipping/clipped_grad.h"
#include "tessera/privacy/run_identity.h"
#include "tessera/privacy/trainer_step.h"

namespace tessera::privacy {

// What a run keeps besides its parameters.
template <class OptimizerState>
struct TrainingBooks {
  Array step;  // int32: how many are done
  random::Key selection_key;
  NoiseState<optim::LeafList> noise;
  OptimizerState optimizer;
  Array fingerprint, program, contents;  // uint32 [8]: run_identity.h
  Array non_finite;  // int32: examples so far whose loss or gradient was NaN or infinite
  Array history;     // float32 [512, 7]
};
// A state is as secret as the data: with the keys anybody can subtract the noise and knows the
// batches, and the history is of the examples themselves. Trainer::release gives what may be seen.
template <class Params, class OptimizerState>
struct TrainingState {
  Params params;
  TrainingBooks<OptimizerState> books;
};

namespace internal {

// Static: another one is another program.
struct Microbatch {
  int64_t size;  // 0: the whole batch
};

// Calls visit(stream) for every stream of random keys in a module.
template <class T, class F>
void for_each_stream(T& node, const F& visit) {
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, nnx::RngStream>) {
    visit(node);
  } else if constexpr (!tree::Leaf<U> && !tree::internal::StaticValue<U>) {
    tree::internal::for_each_unnamed_child(node,
                                           [&](auto& child) { for_each_stream(child, visit); });
  }
}

template <class Loss, class Rule>
struct TrainStep {
  Loss loss;
  optim::Transformation<Rule> optimizer;
  optim::Transformation<Privatizer> privatizer;
  ClipOptions clip;
  int64_t history_stride;
  bool scheduled;  // the factors are not all 1

  template <class Params, class Books, class... Data>
  auto operator()(const Params& params, const Books& books, const StepInput& input,
                  Microbatch microbatch, const Data&... data) const {
    ClipOptions options = clip;
    for (size_t i = 1; i <= sizeof...(Data); ++i) options.batch_argnums.push_back(i);
    if (microbatch.size > 0) options.microbatch_size = microbatch.size;
    // Padding is cleared before anything reads it: the example that its indices point at has no
    // influence.
    const Array& padding = input.batch.padding;
    const auto taken = [&](const Array& x) {
      return cleared(take(x, input.batch.indices, {.axis = 0}), padding);
    };
    const auto sum =
        clipped_value_and_grad(loss, options)(params, tree::map(taken, data)..., Padding{padding});
    Books next = books;
    next.step = books.step + 1;
    next.noise.key = begun_key(books.noise.key, books.program, input.program);
    next.program = input.program;
    next.contents = input.contents;
    const Array row = metrics(next.step, sum.values, sum.grad_norms, padding, clip_norm());
    next.non_finite = books.non_finite + astype(index_in_dim(row, 2, 0, false), int32);
    next.history = with_row(books.history, row, books.step, history_stride);
    return std::tuple(moved(params, sum.grads, next, input.factors), next, row);
  }

 private:
  double clip_norm() const { return clip.l2_clip_norm.number(); }

  // The parameters after an update by the sum. Nothing comes before the noise but the factor that
  // the noise is scaled by. The optimizer sees gradients of the parameters' dtypes.
  template <class Params, class Books>
  Params moved(const Params& params, const Params& sum, Books& books,
               const StepFactors& factors) const {
    const optim::LeafList current = nnx::internal::parameter_list(params);
    optim::LeafList gradients = nnx::internal::parameter_list(sum);
    const auto scale = [&](const Array& factor) {
      if (scheduled)
        gradients =
            tree::map([&](const Array& g) { return g * astype(factor, g.dtype()); }, gradients);
    };
    scale(factors.before);
    std::tie(gradients, books.noise) = privatizer.update(gradients, books.noise);
    scale(factors.after);
    gradients = tree::map([](const Array& g, const Array& p) { return astype(g, p.dtype()); },
                          gradients, current);
    optim::LeafList updates;
    std::tie(updates, books.optimizer) = optimizer.update(gradients, books.optimizer, current);
    Params out =
        nnx::internal::with_parameters(params, optim::apply_updates(current, updates).leaves);
    // Every stream gets a key that none of its own draws has.
    for_each_stream(out, [](nnx::RngStream& stream) {
      stream.key = random::fold_in(stream.key, uint32_t{0xffffffff});
    });
    return out;
  }
};

}  // namespace internal
}  // namespace tessera::privacy
