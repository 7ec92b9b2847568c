// Private training with a plan, a loss and an optimizer, one call for each step.
//
//   const privacy::Trainer trainer(plan, loss, optim::adam(1e-3));  // loss(params, x, y)
//   auto state = trainer.init(params);
//   trainer.restore("runs/digits", state);                          // if there is a checkpoint
//   while (trainer.steps_done(state) < plan.steps()) {
//     privacy::StepReport report = trainer.step(state, images, labels);  // all of the data
//     std::cout << trainer.progress(report) << "\n";                     // ..., epsilon 1.21 of 3
//   }
//   Model model = trainer.release(state);
//
// A step selects a batch, computes the clipped sum of its gradients, adds the noise, and moves the
// parameters by the optimizer's update, in this order. So gradients are scaled (normalize_by)
// before they are privatised, and afterwards only by a schedule's factors. A step is a function of
// the state and the data: batches depend on the state's key and step count, and noise on a key that
// each step replaces.
//
// The state is a tree of Arrays: parameters, step count (which is the budget spent), keys, the
// states of noise and optimizer, the history that report_html() draws, and digests of the plan, the
// optimizer, the loss and the data (run_identity.h). A state that is restored from a checkpoint
// continues with the same results, bit for bit. Continuing under another plan, optimizer or loss,
// or on other data, is an error, because the gradients would differ and the noise would not. A step
// uses up the part of the state that makes the noise: an old copy of a state that has advanced
// cannot be used again. A state is as secret as the data; release() returns the parameters alone.
//
// Runs do not share noise: init() folds fresh entropy into the keys of the state. With
// RandomSource::kSystem there are no keys in the state: noise and batches are drawn with keys that
// exist only in memory. If the sampler has a schedule (system_batches.h), such a run continues only
// in the trainer that has begun it.
//
// In nnx modules only the parameters are trained. Streams of random keys advance with each step,
// and other state does not change.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/compile/jit.h"
#include "tessera/io/checkpoint.h"
#include "tessera/privacy/example_source.h"
#include "tessera/privacy/noise/shared_noise.h"
#include "tessera/privacy/report.h"
#include "tessera/privacy/trainer_program.h"

namespace tessera::privacy {

// The options of Trainer::fit.
template <class State>
struct FitOptions {
  // The number of the plan's steps after which fit() stops; if absent, all of them. A choice that
  // depends on the data (a loss that is good enough) is not covered by the guarantee.
  std::optional<int64_t> until = std::nullopt;
  // A function that is called after each step. Its arguments reveal the data.
  std::function<void(const StepReport&, const State&)> callback = {};
  // A function that is called with Trainer::progress() after each progress_every-th step and the
  // last.
  std::function<void(const std::string&)> progress = {};
  int64_t progress_every = 10;
  // Whether Trainer::precompile is called first.
  bool precompile = false;
  // A folder of checkpoints: training continues from the latest state in it, and the states after
  // each save_every-th step and the last one are saved in it.
  std::optional<FilePath> checkpoints = std::nullopt;
  int64_t save_every = 100;
  SaveOptions save = {.keep = 2};
};

namespace internal {

// Returns the number of steps after which fit() stops. Throws UserError for numbers outside their
// range.
int64_t fit_until(const Plan& plan, std::optional<int64_t> until, int64_t progress_every,
                  int64_t save_every);

// The functions that a run's digest covers: the loss, the transform, and the optimizer's update.
template <class Loss, class Optimizer, class Transform>
struct RunProgram {
  const Loss& loss;
  const Optimizer& optimizer;
  const Transform& transform;

  template <class Params, class State, class... Rows>
  auto operator()(const Params& params, const State& state, const Rows&... rows) const {
    const optim::LeafList list = nnx::internal::parameter_list(params);
    const optim::LeafList updates = optimizer.update(list, state, list).first;
    if constexpr (std::is_same_v<Transform, Untransformed>) {
      return std::tuple(loss(params, rows...), updates);
    } else {
      return std::tuple(loss(params, rows...), updates, transform(params));
    }
  }
};

template <class Data>
inline constexpr bool kIsGathered = false;
template <class Rows>
inline constexpr bool kIsGathered<Gathered<Rows>> = true;

template <class Data>
const Data& rows_of(const Data& data) {
  return data;
}
template <class Rows>
const Rows& rows_of(const Gathered<Rows>& data) {
  return data.rows;
}

}  // namespace internal

// A trainer of loss(params, data...) by an optimizer of optim/ or one that transforms gradients
// (optimizers.h: scale_then_privatize). `transform` maps the gradients of one example, in the
// parameters' tree, to the tree that is clipped in their place. The guarantee is that of the
// clipping, whatever the transform is. Transformed gradients are computed for each example: set a
// microbatch_size.
//
// The constructor throws UserError (kValue) for: an option outside its range; more than one of
// microbatch_size, memory_budget_bytes and automatic_microbatch_size; a microbatch_size that does
// not divide padding_multiple; a transform with a plan of subtree_norms or an adaptive clip norm.
template <class Loss, class Optimizer, class Transform = internal::Untransformed>
class Trainer {
  using OptimizerState = decltype(std::declval<const Optimizer&>().init(optim::LeafList{}));
  using Step = internal::TrainStep<Loss, Optimizer, Transform>;

 public:
  template <class Params>
  using State = TrainingState<Params, OptimizerState>;

  Trainer(Plan plan, Loss loss, Optimizer optimizer, TrainerOptions options = {},
          Transform transform = {})
      : plan_(std::move(plan)),
        loss_(loss),
        optimizer_(optimizer),
        transform_(transform),
        options_(options),
        batches_(std::make_shared<internal::StepBatches>(plan_, options)),
        step_(jit(Step{std::move(loss), std::move(optimizer), std::move(transform),
                       plan_.scaled_privatizer(plan_.noise_key(random::key(0))),
                       internal::step_constants(plan_, options)},
                  {.donate_argnums = {1}})) {
    if (Step::kTransforms) internal::expect_plan_for_transforms(plan_);
    std::string statics;
    tree::append_static_key(optimizer_, statics);
    identity_ = std::make_shared<internal::RunIdentity>(plan_.fingerprint(statics),
                                                        options.unchecked_data_contents);
  }

  const Plan& plan() const { return plan_; }

  // Returns the state before the first step. Its keys are made from the operating system's entropy,
  // so that nobody can know the noise and no two runs share noise.
  template <class Params>
  State<Params> init(const Params& params) const {
    State<Params> out = begun(params, identity_->run_key());
    out.books.selection_key = batches_->begin(out.books.selection_key);
    return out;
  }
  // Returns the same, with keys made from `key` and from entropy that this trainer has drawn. With
  // one trainer equal keys make equal runs; with another trainer they make other runs.
  template <class Params>
  State<Params> init(const Params& params, const random::Key& key) const {
    plan_.expect_keyed("privacy::Trainer::init");
    return begun(params, identity_->run_key(key));
  }
  // Returns the same state each time, without any entropy: init(params,
  // reproducible(random::key(0))). Two such runs with the same key, plan and optimizer have the
  // same batches. If they also have the same loss, they have the same noise: then the first step of
  // one on other data or from other parameters is an error, unless the key is reproducible(key,
  // KeyReuse::kAllowed). Throws UserError (kValue), like init(params, key), if the plan has
  // RandomSource::kSystem, which takes no keys, and if the key is an array of keys.
  template <class Params>
  State<Params> init(const Params& params, const Reproducible& key) const {
    plan_.expect_keyed("privacy::Trainer::init");
    State<Params> out = begun(params, identity_->run_key(key));
    internal::name_reproducible(out.books.noise.key, key.reuse);
    return out;
  }

  // Does the next step and returns its report. `data` are the arguments of the loss after params:
  // trees of all the data, with leaves whose first dimension is the plan's num_examples, or sources
  // of as many examples (example_source.h). The state is replaced by the next one. Throws UserError
  // (kValue), with the state unchanged, for: data with another number of examples; a state of
  // another plan, optimizer, loss or data, or one that was already used; a reproducible key that
  // another run has used; a loss that mixes examples or captures all the data; a step beyond the
  // plan; and a memory budget that no microbatch satisfies.
  template <class Params, class... Data>
  StepReport step(State<Params>& state, const Data&... data) const {
    internal::expect_same_run(plan_, identity_->fingerprint(), state.books.fingerprint);
    const int64_t step = internal::expect_next_step(plan_, state.books.step);
    const batch_selection::Batch examples = batches_->examples(state.books.selection_key, step);
    const int64_t size = batches_->padded_size(static_cast<int64_t>(examples.size()));
    const StepReport report = run(state, step, examples, size, contents_of(data...),
                                  examples_of(data, examples, size)...);
    if (step + 1 == plan_.steps()) batches_->end(state.books.selection_key);
    return report;
  }

  // Trains by step() up to the last step of the plan, or options.until. Returns the epsilon that
  // the state has spent.
  //
  //   trainer.fit(state, {.progress = [](const std::string& line) { std::cout << line << "\n"; }},
  //               images, labels);
  //
  // Throws UserError, with the state of the last step that was done, for the errors of step(),
  // save() and restore(), and for options outside their range. Exceptions of the callbacks are
  // passed on.
  template <class Params, class... Data>
  double fit(State<Params>& state, const std::type_identity_t<FitOptions<State<Params>>>& options,
             const Data&... data) const {
    const int64_t until =
        internal::fit_until(plan_, options.until, options.progress_every, options.save_every);
    if (options.checkpoints) restore(*options.checkpoints, state);
    if (options.precompile && steps_done(state) < until) precompile(state, data...);
    while (steps_done(state) < until) {
      const StepReport report = step(state, data...);
      const bool last = report.step == until;
      if (options.checkpoints && (last || report.step % options.save_every == 0))
        save(*options.checkpoints, state, options.save);
      if (options.callback) options.callback(report, state);
      if (options.progress && (last || report.step % options.progress_every == 0))
        options.progress(progress(report));
    }
    return epsilon(state);
  }

  // Returns the sizes to which batches are padded, and how often each occurs; precompile() makes
  // programs for them. They follow from the plan alone and reveal nothing about the samples.
  std::vector<BatchSize> batch_sizes() const { return batches_->sizes(plan_); }

  // Compiles the programs of the steps that may occur, one for each of batch_sizes(), which it
  // returns. So no step waits for a compilation, and the time of compilations does not reveal the
  // samples' sizes. `state` is unchanged: the programs run on padding alone, with keys of their
  // own. Throws the UserErrors of step().
  template <class Params, class... Data>
  std::vector<BatchSize> precompile(const State<Params>& state, const Data&... data) const {
    const std::vector<BatchSize> sizes = batch_sizes();
    for (const BatchSize& each : sizes) {
      // The first step reads parameters with the shardings that the user chose, and later steps
      // with those of a step's results. So there are two programs.
      State<Params> spare = begun(state.params, identity_->run_key());
      for (int time = 0; time < 2; ++time)
        run(spare, 0, {}, each.size, {}, examples_of(data, {}, each.size)...);
    }
    return sizes;
  }

  // Returns a state that can continue under another loss or on other data, which step() otherwise
  // refuses. Fresh entropy is folded into the key of its noise, so that it shares no noise with a
  // continuation of `state` itself.
  template <class Params>
  State<Params> rebound(State<Params> state, GivesUp what) const {
    internal::expect_same_run(plan_, identity_->fingerprint(), state.books.fingerprint);
    state.books.noise.key = internal::refresh_key(state.books.noise.key);
    if (what != GivesUp::kSameData) state.books.program = internal::no_digest_words();
    if (what != GivesUp::kSameLoss) state.books.contents = internal::no_digest_words();
    return state;
  }

  // Returns the parameters, for which the guarantee holds. Streams of random keys in a module are
  // cleared, because they are not parameters.
  template <class Params>
  Params release(const State<Params>& state) const {
    Params out = state.params;
    internal::for_each_stream(out, [](nnx::RngStream& stream) {
      stream.key = random::Key{zeros_like(stream.key.data)};
      stream.count = zeros_like(stream.count);
    });
    return out;
  }
  // Writes the parameters alone as a safetensors file, with their paths as names ("first.kernel"; a
  // single Array is "params"). Returns their number. Throws UserError kIo if the file cannot be
  // written.
  template <class Params>
  int64_t release(const FilePath& path, const State<Params>& state) const {
    return internal::write_parameters(path, nnx::internal::parameter_list(state.params));
  }

  template <class Params>
  int64_t steps_done(const State<Params>& state) const {
    return state.books.step.template item<int64_t>();
  }
  // Returns the epsilon that the state's steps spent.
  template <class Params>
  double epsilon(const State<Params>& state) const {
    return plan_.epsilon(steps_done(state));
  }

  // Returns one line with the report, and the epsilon that all steps up to it spent.
  std::string progress(const StepReport& report) const {
    return internal::progress_line(plan_, report);
  }

  // Saves the state as a checkpoint of its step.
  template <class Params>
  void save(const FilePath& path, const State<Params>& state,
            const SaveOptions& options = {}) const {
    save_checkpoint(path, steps_done(state), state, options);
  }
  // Loads the latest state in `path` and returns true; if there is none, the state does not change
  // and the result is false. Throws UserError, with the state unchanged: the errors of
  // restore_checkpoint; if the state belongs to another plan or optimizer; and if a run with
  // RandomSource::kSystem is not finished and only another trainer has the key of its schedule.
  template <class Params>
  bool restore(const FilePath& path, State<Params>& state) const {
    if (!latest_step(path)) return false;
    State<Params> restored = restore_checkpoint(path, state);
    internal::expect_same_run(plan_, identity_->fingerprint(), restored.books.fingerprint);
    if (steps_done(restored) < plan_.steps()) batches_->expect_known(restored.books.selection_key);
    state = std::move(restored);
    return true;
  }

  // Writes a page with curves of the loss, the norms and the clip norm, and epsilon over the steps
  // so far. Like StepReport it reveals the data. Throws UserError kIo if the file cannot be
  // written.
  template <class Params>
  void report_html(const FilePath& path, const State<Params>& state) const {
    internal::write_report(path, plan_, state.books.history, steps_done(state),
                           state.books.non_finite.template item<int64_t>());
  }

 private:
  template <class Params>
  State<Params> begun(const Params& params, const random::Key& key) const {
    const optim::LeafList list = nnx::internal::parameter_list(params);
    const auto [selection, noise] = random::split<2>(key);
    return {params,
            {.step = zeros(Shape{}, int32),
             .selection_key = selection,
             .noise = internal::initial_noise(plan_, noise, list),
             .optimizer = optimizer_.init(list),
             .fingerprint = internal::digest_words(identity_->fingerprint()),
             .program = internal::no_digest_words(),
             .contents = internal::no_digest_words(),
             .clip_factor = ones(Shape{}, float32),
             .non_finite = zeros(Shape{}, int32),
             .history = internal::empty_history()}};
  }

  // Returns the data for the program: all data of a tree, or the rows of the batch from a source.
  template <class Data>
  auto examples_of(const Data& data, const batch_selection::Batch& examples, int64_t size) const {
    if constexpr (ExampleSource<Data>) {
      internal::expect_num_examples(data.num_examples(), plan_.sampling().num_examples);
      internal::Gathered<std::decay_t<decltype(data.examples(std::span<const int64_t>{}))>> out{
          data.examples(internal::StepBatches::source_indices(examples, size))};
      internal::expect_rows(tree::leaves(out.rows), size);
      return out;
    } else {
      internal::expect_examples(plan_, tree::leaves(data));
      return data;
    }
  }

  // Returns the digest of the data's contents; nullopt if they are not checked.
  template <class... Data>
  std::optional<std::string> contents_of(const Data&... data) const {
    static_assert(sizeof...(Data) > 0,
                  "step(state, data...) takes what the loss takes after params");
    std::vector<Array> leaves;
    std::vector<std::string> sources;
    const auto add = [&](const auto& one) {
      if constexpr (ExampleSource<std::decay_t<decltype(one)>>) {
        sources.push_back(one.contents_digest().value_or("not checked"));
      } else {
        for (const Array& leaf : tree::leaves(one)) leaves.push_back(leaf);
      }
    };
    (add(data), ...);
    return identity_->contents(leaves, sources);
  }

  template <class Params, class... Data>
  std::string program_of(const State<Params>& state, const Data&... data) const {
    const internal::RunProgram<Loss, Optimizer, Transform> program{loss_, optimizer_, transform_};
    const OptimizerState& optimizer = state.books.optimizer;
    const auto traced = [&](const auto&... rows) {
      const std::tuple<const Params&, const OptimizerState&, const std::decay_t<decltype(rows)>&...>
      arguments(state.params, optimizer, rows...);
      const tessera::internal::ErasedCall call = tessera::internal::erase_call(program, arguments);
      internal::LossCall loss{
          .call = call,
          .types = &tessera::internal::kTypesTag<Params, std::decay_t<decltype(rows)>...>,
          .leaves = tree::leaves(std::tie(state.params, optimizer)),
          .keep_batch_dim = options_.keep_batch_dim,
          .num_examples = plan_.sampling().num_examples,
          .shared_captures = options_.shared_captures};
      loss.num_parameters = loss.leaves.size();
      tessera::internal::append_leaves(loss.leaves, rows...);
      tree::append_static_key(state.params, loss.statics);
      (tree::append_static_key(rows, loss.statics), ...);
      return identity_->program(loss);
    };
    return traced(internal::rows_of(data)...);
  }

  // Runs a step with these examples. `contents` is the digest of the data; if nullopt, the state
  // keeps its own.
  template <class Params, class... Data>
  StepReport run(State<Params>& state, int64_t step, const batch_selection::Batch& examples,
                 int64_t size, const std::optional<std::string>& contents,
                 const Data&... data) const {
    const auto& books = state.books;
    internal::expect_known_memory(options_, tree::leaves(std::tie(data...)));
    const std::string program = program_of(state, data...);
    internal::expect_same_program(program, books.program);
    internal::StepInput input{.factors = internal::factors_of(plan_, step),
                              .program = internal::digest_words(program),
                              .contents = internal::digest_words(
                                  internal::expect_same_contents(contents, books.contents))};
    const internal::SharedNoise noise("privacy::Trainer", plan_.random_source());
    const int64_t microbatch = batches_->microbatch(size, [&](int64_t m) {
      input.batch = batches_->padded({}, m, size);
      return step_.lower(state.params, books, input, internal::Microbatch{m}, data...)
          .cost()
          .arena_bytes;
    });
    input.batch = batches_->padded(examples, microbatch, size);
    if (plan_.random_source() == RandomSource::kKey &&
        !internal::is_digest(internal::digest_of_words(books.program)))
      internal::claim_noise(books.noise.key,
                            {.program = program,
                             .contents = contents,
                             .sources = {(internal::kIsGathered<Data> ? 's' : 'a')...},
                             .parameters = tree::leaves(state.params)});
    Array row;
    std::tie(state.params, state.books, row) =
        step_(state.params, books, input, internal::Microbatch{microbatch}, data...);
    return internal::report_of(row);
  }

  Plan plan_;
  Loss loss_;
  Optimizer optimizer_;
  Transform transform_;
  TrainerOptions options_;
  std::shared_ptr<internal::RunIdentity> identity_;  // a cache, for one thread
  std::shared_ptr<internal::StepBatches> batches_;   // a cache, for one thread
  Jitted<Step> step_;
};

}  // namespace tessera::privacy
