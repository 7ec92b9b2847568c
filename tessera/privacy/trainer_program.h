// The program of a step of privacy::Trainer: it computes the next state and a row of the history
// from the state and the indices of a batch. trainer.h jits it.
#pragma once

#include <optional>
#include <tuple>
#include <utility>

#include "tessera/nnx/optimizer.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/operators.h"
#include "tessera/privacy/clipping/clipped_grad.h"
#include "tessera/privacy/optimizers.h"
#include "tessera/privacy/run_identity.h"
#include "tessera/privacy/trainer_step.h"

namespace tessera::privacy {

// The state of a run, except its parameters.
template <class OptimizerState>
struct TrainingBookkeeping {
  Array step;  // int32: the number of steps that are done
  random::Key selection_key;
  NoiseState<optim::LeafList> noise;
  OptimizerState optimizer;
  Array fingerprint, program, contents;  // uint32 [8]: run_identity.h
  // float32: an adaptive clip norm divided by the plan's; otherwise 1
  Array clip_factor;
  // int32: the number of examples so far with a loss or gradient that was NaN or infinite
  Array non_finite;
  Array history;  // float32 [512, 8]
};
// A state is as secret as the data: with the keys anybody can subtract the noise and reproduce the
// batches, and the history describes the examples themselves. Trainer::release returns the part
// that may be published.
template <class Params, class OptimizerState>
struct TrainingState {
  Params params;
  TrainingBookkeeping<OptimizerState> books;
};

namespace internal {

// The size of microbatches. It is static, so each value has a program of its own.
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

// The rows that a source returned for a batch. They take the place of a tree of all the data.
template <class Rows>
struct Gathered {
  Rows rows;
};

// Returns the examples of a batch, [size, ...], with rows of padding set to 0 before anything reads
// them. So the example that the indices of padding refer to has no influence.
template <class Data>
Data take_batch(const Data& data, const StepBatch& batch) {
  return tree::map(
      [&](const Array& x) {
        return clear_rows(take(x, batch.indices, {.axis = 0}), batch.padding);
      },
      data);
}
template <class Rows>
Rows take_batch(const Gathered<Rows>& data, const StepBatch& batch) {
  return tree::map(
      [&](const Array& x) { return clear_rows(take(x, batch.places, {.axis = 0}), batch.padding); },
      data.rows);
}

// The transform type of a trainer that has no transform.
struct Untransformed {};

// An optimizer that defines how gradients are transformed before they are clipped (optimizers.h).
template <class Optimizer>
concept TransformsGradients = requires {
  requires Optimizer::kTransforms;
};

// The numbers of a plan and of a trainer's options that are a part of the program.
struct StepConstants {
  ClipOptions clip;
  int64_t history_stride = 1;
  bool scheduled = false;                // whether factors of StepFactors differ from 1
  bool clip_norm_varies = false;         // whether a schedule or adaptive clipping changes it
  std::optional<AdaptiveClip> adaptive;  // updates clip_factor
  double count_scale = 0;                // Plan::count_scale()
};
StepConstants step_constants(const Plan& plan, const TrainerOptions& options);

// Returns the list to which noise is added: that of the parameters, followed by the count if the
// clip norm is adaptive.
optim::LeafList noised_list(optim::LeafList parameters, bool adaptive, const Array& count);
// Returns the state of the plan's noise before the first step.
NoiseState<optim::LeafList> initial_noise(const Plan& plan, const random::Key& key,
                                          const optim::LeafList& parameters);

template <class Loss, class Optimizer, class Transform>
struct TrainStep {
  static constexpr bool kTransforms =
      TransformsGradients<Optimizer> || !std::is_same_v<Transform, Untransformed>;
  Loss loss;
  Optimizer optimizer;
  Transform transform;
  optim::Transformation<Privatizer> privatizer;
  StepConstants constants;

  template <class Params, class Bookkeeping, class... Data>
  auto operator()(const Params& params, const Bookkeeping& books, const StepInput& input,
                  Microbatch microbatch, const Data&... data) const {
    const Array clip_factor = constants.adaptive ? books.clip_factor : input.factors.clip;
    ClipOptions options = constants.clip;
    if (options.grid_factors) {
      options.grid_factors->clip = clip_factor;
      options.grid_factors->scale = input.factors.before;
    } else if (constants.clip_norm_varies) {
      options = with_clip_factor(options, clip_factor);
    }
    for (size_t i = 1; i <= sizeof...(Data); ++i) options.batch_argnums.push_back(i);
    if (microbatch.size > 0) options.microbatch_size = microbatch.size;
    const Array& padding = input.batch.padding;
    const auto sum = clipped(options, params, books.optimizer, Padding{padding},
                             take_batch(data, input.batch)...);
    Bookkeeping next = books;
    next.step = books.step + 1;
    next.noise.key = begun_key(books.noise.key, books.program, input.program);
    next.program = input.program;
    next.contents = input.contents;
    const Array clip_norm =
        clip_factor * full(Shape{}, constants.clip.l2_clip_norm.number(), float32);
    const Array row = metrics(next.step, sum.values, sum.grad_norms, padding, clip_norm);
    next.non_finite = books.non_finite + astype(index_in_dim(row, 2, 0, false), int32);
    next.history = with_row(books.history, row, books.step, constants.history_stride);
    const Array count = constants.adaptive
                            ? constants.adaptive->centered_count(sum.grad_norms, clip_norm, padding)
                            : zeros(Shape{}, float32);
    const optim::LeafList gradients =
        privatized(list_of(sum.grads), count, clip_factor, next, input.factors);
    return std::tuple(update_params(params, gradients, next), next, row);
  }

 private:
  template <class Tree>
  static optim::LeafList list_of(const Tree& gradients) {
    return nnx::internal::parameter_list(gradients);
  }
  static const optim::LeafList& list_of(const optim::LeafList& gradients) { return gradients; }

  // Returns the clipped sum of the parameters' gradients, or of the transformed gradients.
  template <class Params, class State, class... Rows>
  auto clipped(const ClipOptions& options, const Params& params, const State& state,
               const Padding& padding, const Rows&... rows) const {
    if constexpr (kTransforms) {
      const auto transformed = [&](const Params& gradients) {
        if constexpr (std::is_same_v<Transform, Untransformed>) {
          return optimizer.pre_clipping_transform(state)(list_of(gradients));
        } else {
          static_assert(std::is_same_v<std::decay_t<decltype(transform(gradients))>, Params>,
                        "a transform of gradients returns a tree of the parameters' type");
          if constexpr (TransformsGradients<Optimizer>) {
            return optimizer.pre_clipping_transform(state)(list_of(transform(gradients)));
          } else {
            return list_of(transform(gradients));
          }
        }
      };
      return clipped_value_and_grad(loss, options, transformed)(params, rows..., padding);
    } else {
      return clipped_value_and_grad(loss, options)(params, rows..., padding);
    }
  }

  // Returns the sum with its noise. The sum is scaled by `before`, noise is added, and the result
  // is scaled by `after`. If the clip norm of the step varies, the sum is also divided by
  // clip_factor before the noise and multiplied by it afterwards, so that the noise is proportional
  // to the clip norm.
  template <class Bookkeeping>
  optim::LeafList privatized(const optim::LeafList& sum, const Array& count,
                             const Array& clip_factor, Bookkeeping& books,
                             const StepFactors& factors) const {
    // Sums of whole steps of a grid (DiscreteGaussian) are not scaled before the noise: the step's
    // grid contains the factor.
    bool whole = false;
    for (const Array& g : sum.leaves) whole = whole || !is_inexact(g.dtype());
    const bool by_clip_norm = constants.clip_norm_varies && !constants.clip.rescale_to_unit_norm;
    const Array before = by_clip_norm ? factors.before / clip_factor : factors.before;
    const Array after = by_clip_norm ? factors.after * clip_factor : factors.after;
    const auto scaled = [&](const optim::LeafList& list, const Array& factor) {
      if (!constants.scheduled && !by_clip_norm) return list;
      return tree::map([&](const Array& g) { return g * astype(factor, g.dtype()); }, list);
    };
    const bool adaptive = constants.adaptive.has_value();
    optim::LeafList noisy;
    std::tie(noisy, books.noise) =
        privatizer.update(noised_list(whole ? sum : scaled(sum, before), adaptive,
                                      count * constants.count_scale * factors.before),
                          books.noise);
    if (adaptive) {
      // The count is scaled to the plan's expected batch size, which is its divisor.
      const Array noisy_count =
          noisy.leaves.back() * factors.batch_factor / (factors.before * constants.count_scale);
      books.clip_factor = constants.adaptive->update(books.clip_factor, noisy_count);
      noisy.leaves.pop_back();
      noisy.paths.pop_back();
    }
    return scaled(noisy, after);
  }

  // Returns the parameters after an update. Gradients are converted to the parameters' dtypes for
  // the optimizer.
  template <class Params, class Bookkeeping>
  Params update_params(const Params& params, optim::LeafList gradients, Bookkeeping& books) const {
    const optim::LeafList current = nnx::internal::parameter_list(params);
    gradients = tree::map([](const Array& g, const Array& p) { return astype(g, p.dtype()); },
                          gradients, current);
    optim::LeafList updates;
    std::tie(updates, books.optimizer) = optimizer.update(gradients, books.optimizer, current);
    Params out =
        nnx::internal::with_parameters(params, optim::apply_updates(current, updates).leaves);
    // Each stream gets a new key, which differs from the keys of all of its draws.
    for_each_stream(out, [](nnx::RngStream& stream) {
      stream.key = random::fold_in(stream.key, uint32_t{0xffffffff});
    });
    return out;
  }
};

}  // namespace internal
}  // namespace tessera::privacy
