// Private training: a plan, a loss and an optimizer, one call a step.
//
//   const privacy::Trainer trainer(plan, loss, optim::adam(1e-3));  // loss(params, x, y)
//   auto state = trainer.init(params, random::key(0));
//   trainer.restore("runs/digits", state);                          // where there is a checkpoint
//   while (trainer.steps_done(state) < plan.steps()) {
//     privacy::StepReport report = trainer.step(state, images, labels);  // all of the data
//     std::cout << trainer.progress(report) << "\n";                     // ..., epsilon 1.21 of 3
//   }
//
// A step selects a batch, computes the clipped sum of its gradients, adds the noise, and moves the
// parameters by the optimizer's update: in this order, so that gradients are scaled (normalize_by)
// before they are privatised, and after that by a schedule's factors alone. It is a function of the
// state and the data: batches are of the state's key and step count, noise of its key, which moves
// on.
//
// State. A tree of Arrays: parameters, step count (which is the budget spent), keys, the states of
// noise and optimizer, the history that report_html() draws, and the fingerprint of the plan and
// the optimizer. What is restored from a checkpoint goes on to the same bits; under another plan or
// optimizer, whose gradients would differ and whose noise would not, it is an error. Keys are folded
// with the fingerprint: runs of one seed under two plans share no noise. A step uses up what of
// the state makes the noise: a copy of a state that has moved on cannot be used again.
//
// Of nnx modules the parameters alone are trained; streams of random keys move on with each step.
// Other state stays.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "tessera/compile/jit.h"
#include "tessera/io/checkpoint.h"
#include "tessera/nnx/optimizer.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/operators.h"
#include "tessera/privacy/clipping/clipped_grad.h"
#include "tessera/privacy/report.h"
#include "tessera/privacy/trainer_step.h"

namespace tessera::privacy {

// All but the parameters.
template <class OptimizerState>
struct TrainingBooks {
  Array step;  // int32: how many are done
  random::Key selection_key;
  NoiseState<optim::LeafList> noise;
  OptimizerState optimizer;
  Array fingerprint;  // uint32 [4]
  Array non_finite;   // int32: examples so far whose loss or gradient was NaN or infinite
  Array history;      // float32 [512, 7]
};
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

// Every stream gets a key that none of its own draws has.
template <class T>
void move_streams(T& node) {
  if constexpr (std::is_same_v<T, nnx::RngStream>) {
    node.key = random::fold_in(node.key, uint32_t{0xffffffff});
  } else if constexpr (!tree::Leaf<T> && !tree::internal::StaticValue<T>) {
    tree::internal::for_each_unnamed_child(node, [](auto& child) { move_streams(child); });
  }
}

// The program of a step.
template <class Loss, class Rule>
struct TrainStep {
  Loss loss;
  optim::Transformation<Rule> optimizer;
  optim::Transformation<Privatizer> privatizer;
  ClipOptions clip;
  int64_t history_stride;
  bool scheduled;  // the factors are not all 1

  template <class Params, class Books, class... Data>
  auto operator()(const Params& params, const Books& books, const Array& indices,
                  const Array& padding, const StepFactors& factors, Microbatch microbatch,
                  const Data&... data) const {
    ClipOptions options = clip;
    for (size_t i = 1; i <= sizeof...(Data); ++i) options.batch_argnums.push_back(i);
    if (microbatch.size > 0) options.microbatch_size = microbatch.size;
    const auto taken = [&](const Array& x) { return take(x, indices, {.axis = 0}); };
    const auto sum =
        clipped_value_and_grad(loss, options)(params, tree::map(taken, data)..., Padding{padding});
    Books next = books;
    next.step = books.step + 1;
    const Array row = metrics(next.step, sum.values, sum.grad_norms, padding, clip_norm());
    next.non_finite = books.non_finite + astype(index_in_dim(row, 2, 0, false), int32);
    next.history = with_row(books.history, row, books.step, history_stride);
    return std::tuple(moved(params, sum.grads, next, factors), next, row);
  }

 private:
  double clip_norm() const { return clip.l2_clip_norm.number(); }

  // Noise before all else. The optimizer sees gradients of the parameters' dtypes.
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
    move_streams(out);
    return out;
  }
};

ClipOptions clip_options(const Plan& plan, const TrainerOptions& options);

}  // namespace internal

// UserError of the constructor (kValue): an option outside its range; microbatch_size together with
// memory_budget_bytes, or not a divisor of padding_multiple.
template <class Loss, class Rule>
class Trainer {
  using OptimizerState = decltype(std::declval<const Rule&>().init(optim::LeafList{}));

 public:
  template <class Params>
  using State = TrainingState<Params, OptimizerState>;

  Trainer(Plan plan, Loss loss, optim::Transformation<Rule> optimizer, TrainerOptions options = {})
      : plan_(std::move(plan)),
        optimizer_(optimizer),
        batches_(std::make_shared<internal::StepBatches>(plan_, options)),
        step_(jit(internal::TrainStep<Loss, Rule>{std::move(loss), std::move(optimizer),
                                                  plan_.scaled_privatizer(random::key(0)),
                                                  internal::clip_options(plan_, options),
                                                  internal::history_stride(plan_.steps()),
                                                  internal::is_scheduled(plan_)},
                  {.donate_argnums = {1}})) {
    std::string statics;
    tree::append_static_key(optimizer_, statics);
    fingerprint_ = plan_.fingerprint(statics);
  }

  const Plan& plan() const { return plan_; }

  // Before the first step. A seed's key, or one of entropy that nobody knows: whoever has the key
  // can subtract the noise.
  template <class Params>
  State<Params> init(const Params& params, const random::Key& key) const {
    const optim::LeafList list = nnx::internal::parameter_list(params);
    const auto [selection, noise] = random::split<2>(internal::folded(key, fingerprint_));
    return {params,
            {.step = zeros(Shape{}, int32),
             .selection_key = selection,
             .noise = plan_.scaled_privatizer(noise).init(list),
             .optimizer = optimizer_.init(list),
             .fingerprint = internal::fingerprint_words(fingerprint_),
             .non_finite = zeros(Shape{}, int32),
             .history = internal::empty_history()}};
  }

  // The next step, on trees of all the data: of every leaf the first dimension is the plan's
  // num_examples. The state moves on. UserError (kValue), with the state as it was: data of another
  // number of examples, a state of another plan or optimizer or one that is used up, a step beyond
  // the plan, a memory budget that no microbatch keeps.
  template <class Params, class... Data>
  StepReport step(State<Params>& state, const Data&... data) const {
    static_assert(sizeof...(Data) > 0,
                  "step(state, data...) takes what the loss takes after params");
    const auto& books = state.books;
    const int64_t step =
        internal::expect_next_step(plan_, fingerprint_, books.step, books.fingerprint);
    internal::expect_examples(plan_, tree::leaves(std::tie(data...)));
    const batch_selection::Batch examples = batches_->examples(books.selection_key, step);
    const int64_t size = batches_->padded_size(static_cast<int64_t>(examples.size()));
    const internal::StepFactors factors = internal::factors_of(plan_, step);
    const int64_t microbatch = batches_->microbatch(size, [&](int64_t m) {
      const internal::StepBatch any = batches_->padded({}, m, size);
      return step_
          .lower(state.params, books, any.indices, any.padding, factors, internal::Microbatch{m},
                 data...)
          .cost()
          .arena_bytes;
    });
    const internal::StepBatch batch = batches_->padded(examples, microbatch, size);
    Array row;
    std::tie(state.params, state.books, row) =
        step_(state.params, books, batch.indices, batch.padding, factors,
              internal::Microbatch{microbatch}, data...);
    return internal::report_of(row);
  }

  template <class Params>
  int64_t steps_done(const State<Params>& state) const {
    return state.books.step.template item<int64_t>();
  }
  // What the state's steps spent.
  template <class Params>
  double epsilon(const State<Params>& state) const {
    return plan_.epsilon(steps_done(state));
  }

  // The report, and the epsilon that its step and those before it spent, in one line.
  std::string progress(const StepReport& report) const {
    return internal::progress_line(plan_, report);
  }

  // save_checkpoint of the state as its step.
  template <class Params>
  void save(const FilePath& path, const State<Params>& state,
            const SaveOptions& options = {}) const {
    save_checkpoint(path, steps_done(state), state, options);
  }
  // The latest state of `path`, if there is one; else the state stays, and the result is false.
  // UserError, with the state as it was: those of restore_checkpoint, and a state of another plan
  // or optimizer.
  template <class Params>
  bool restore(const FilePath& path, State<Params>& state) const {
    if (!latest_step(path)) return false;
    State<Params> restored = restore_checkpoint(path, state);
    internal::expect_same_run(plan_, fingerprint_, restored.books.fingerprint);
    state = std::move(restored);
    return true;
  }

  // Writes a page with curves of loss, norms against the clip norm, and epsilon over the steps so
  // far. As StepReport it is for those who may see the data. UserError kIo where it cannot.
  template <class Params>
  void report_html(const FilePath& path, const State<Params>& state) const {
    internal::write_report(path, plan_, state.books.history, steps_done(state),
                           state.books.non_finite.template item<int64_t>());
  }

 private:
  Plan plan_;
  optim::Transformation<Rule> optimizer_;
  std::string fingerprint_;
  std::shared_ptr<internal::StepBatches> batches_;  // a cache, of one thread
  Jitted<internal::TrainStep<Loss, Rule>> step_;
};

}  // namespace tessera::privacy
