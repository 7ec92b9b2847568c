// Private training: a plan, a loss and an optimizer, one call a step.
//
//   const privacy::Trainer trainer(plan, loss, optim::adam(1e-3));  // loss(params, x, y)
//   auto state = trainer.init(params);
//   trainer.restore("runs/digits", state);                          // where there is a checkpoint
//   while (trainer.steps_done(state) < plan.steps()) {
//     privacy::StepReport report = trainer.step(state, images, labels);  // all of the data
//     std::cout << trainer.progress(report) << "\n";                     // ..., epsilon 1.21 of 3
//   }
//   Model model = trainer.release(state);
//
// A step selects a batch, computes the clipped sum of its gradients, adds the noise, and moves the
// parameters by the optimizer's update: in this order, so that gradients are scaled (normalize_by)
// before they are privatised, and after that by a schedule's factors alone. It is a function of the
// state and the data: batches are of the state's key and step count, noise of its key, which moves
// on.
//
// State. A tree of Arrays: parameters, step count (which is the budget spent), keys, the states of
// noise and optimizer, the history that report_html() draws, and digests of the plan, the optimizer,
// the loss and the data (run_identity.h). What is restored from a checkpoint goes on to the same
// bits; under another plan, optimizer or loss, or on other data, whose gradients would differ and
// whose noise would not, it is an error. A step uses up what of the state makes the noise: a copy
// of a state that has moved on cannot be used again. A state is as secret as the data; release()
// gives the parameters alone.
//
// Keys. Runs do not share noise: init() folds in fresh entropy, which is then kept in the state.
//
// Of nnx modules the parameters alone are trained; streams of random keys move on with each step.
// Other state stays.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "tessera/compile/jit.h"
#include "tessera/io/checkpoint.h"
#include "tessera/privacy/report.h"
#include "tessera/privacy/trainer_program.h"

namespace tessera::privacy {

namespace internal {

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
        loss_(loss),
        optimizer_(optimizer),
        keep_batch_dim_(options.keep_batch_dim),
        batches_(std::make_shared<internal::StepBatches>(plan_, options)),
        step_(jit(internal::TrainStep<Loss, Rule>{std::move(loss), std::move(optimizer),
                                                  plan_.scaled_privatizer(random::key(0)),
                                                  internal::clip_options(plan_, options),
                                                  internal::history_stride(plan_.steps()),
                                                  internal::is_scheduled(plan_)},
                  {.donate_argnums = {1}})) {
    std::string statics;
    tree::append_static_key(optimizer_, statics);
    identity_ = std::make_shared<internal::RunIdentity>(plan_.fingerprint(statics),
                                                        options.unchecked_data_contents);
  }

  const Plan& plan() const { return plan_; }

  // The state before the first step. Its keys are of the operating system's entropy, so that nobody
  // can know the noise and no two runs share any.
  template <class Params>
  State<Params> init(const Params& params) const {
    return begun(params, identity_->run_key());
  }
  // The same, of the key and the entropy that this trainer has drawn: of one trainer equal keys give
  // equal runs, and elsewhere they give other ones.
  template <class Params>
  State<Params> init(const Params& params, const random::Key& key) const {
    return begun(params, identity_->run_key(key));
  }
  // The same state each time, without any entropy: init(params, reproducible(random::key(0))). Two
  // such runs of one key, plan and optimizer have the same batches, and the same noise if they have
  // the same loss too.
  template <class Params>
  State<Params> init(const Params& params, const Reproducible& key) const {
    return begun(params, identity_->run_key(key));
  }

  // What the step saw, of the next step on trees of all the data: of every leaf the first dimension
  // is the plan's num_examples. The state moves on. UserError (kValue), with the state as it was:
  // data of another number of examples, a state of another plan, optimizer or loss, of other data, or
  // one that is used up, a step beyond the plan, a memory budget that no microbatch keeps.
  template <class Params, class... Data>
  StepReport step(State<Params>& state, const Data&... data) const {
    static_assert(sizeof...(Data) > 0,
                  "step(state, data...) takes what the loss takes after params");
    const auto& books = state.books;
    internal::expect_same_run(plan_, identity_->fingerprint(), books.fingerprint);
    const int64_t step = internal::expect_next_step(plan_, books.step);
    const std::vector<Array> leaves = tree::leaves(std::tie(data...));
    internal::expect_examples(plan_, leaves);
    internal::StepInput input;
    std::tie(input.program, input.contents) = run_words(state, leaves, data...);
    input.factors = internal::factors_of(plan_, step);
    const batch_selection::Batch examples = batches_->examples(books.selection_key, step);
    const int64_t size = batches_->padded_size(static_cast<int64_t>(examples.size()));
    const int64_t microbatch = batches_->microbatch(size, [&](int64_t m) {
      input.batch = batches_->padded({}, m, size);
      return step_.lower(state.params, books, input, internal::Microbatch{m}, data...)
          .cost()
          .arena_bytes;
    });
    input.batch = batches_->padded(examples, microbatch, size);
    Array row;
    std::tie(state.params, state.books, row) =
        step_(state.params, books, input, internal::Microbatch{microbatch}, data...);
    return internal::report_of(row);
  }

  // The state, to go on under another loss or on other data, which step() refuses. Fresh entropy is
  // folded into the key of its noise, so that it shares no noise with what the state before would
  // have gone on to.
  template <class Params>
  State<Params> rebound(State<Params> state, GivesUp what) const {
    internal::expect_same_run(plan_, identity_->fingerprint(), state.books.fingerprint);
    state.books.noise.key = internal::refreshed(state.books.noise.key);
    if (what != GivesUp::kSameData) state.books.program = internal::no_digest_words();
    if (what != GivesUp::kSameLoss) state.books.contents = internal::no_digest_words();
    return state;
  }

  // The parameters, which are what the guarantee is for; streams of random keys in a module are
  // cleared, as they are not parameters.
  template <class Params>
  Params release(const State<Params>& state) const {
    Params out = state.params;
    internal::for_each_stream(out, [](nnx::RngStream& stream) {
      stream.key = random::Key{zeros_like(stream.key.data)};
      stream.count = zeros_like(stream.count);
    });
    return out;
  }
  // Writes the parameters alone as a safetensors file, by their paths ("first.kernel"; a single
  // Array is "params"). Returns their number. UserError kIo if the file cannot be written.
  template <class Params>
  int64_t release(const FilePath& path, const State<Params>& state) const {
    return internal::write_parameters(path, nnx::internal::parameter_list(state.params));
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
    internal::expect_same_run(plan_, identity_->fingerprint(), restored.books.fingerprint);
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
  template <class Params>
  State<Params> begun(const Params& params, const random::Key& key) const {
    const optim::LeafList list = nnx::internal::parameter_list(params);
    const auto [selection, noise] = random::split<2>(key);
    return {params,
            {.step = zeros(Shape{}, int32),
             .selection_key = selection,
             .noise = plan_.scaled_privatizer(noise).init(list),
             .optimizer = optimizer_.init(list),
             .fingerprint = internal::digest_words(identity_->fingerprint()),
             .program = internal::no_digest_words(),
             .contents = internal::no_digest_words(),
             .non_finite = zeros(Shape{}, int32),
             .history = internal::empty_history()}};
  }

  // The words of the program and the data that this step is of. UserError unless they are those
  // that the state has begun with.
  template <class Params, class... Data>
  std::pair<Array, Array> run_words(const State<Params>& state, const std::vector<Array>& leaves,
                                    const Data&... data) const {
    const std::tuple<const Params&, const Data&...> arguments(state.params, data...);
    const tessera::internal::ErasedCall call = tessera::internal::erase_call(loss_, arguments);
    internal::LossCall loss{.call = call,
                            .types = &tessera::internal::kTypesTag<Params, Data...>,
                            .leaves = tree::leaves(state.params),
                            .keep_batch_dim = keep_batch_dim_};
    loss.num_parameters = loss.leaves.size();
    loss.leaves.insert(loss.leaves.end(), leaves.begin(), leaves.end());
    tree::append_static_key(state.params, loss.statics);
    (tree::append_static_key(data, loss.statics), ...);
    const std::string program = identity_->program(loss);
    internal::expect_same_program(program, state.books.program);
    const std::string contents =
        internal::expect_same_contents(identity_->contents(leaves), state.books.contents);
    return {internal::digest_words(program), internal::digest_words(contents)};
  }

  Plan plan_;
  Loss loss_;
  optim::Transformation<Rule> optimizer_;
  bool keep_batch_dim_;
  std::shared_ptr<internal::RunIdentity> identity_;  // a cache, of one thread
  std::shared_ptr<internal::StepBatches> batches_;   // a cache, of one thread
  Jitted<internal::TrainStep<Loss, Rule>> step_;
};

}  // namespace tessera::privacy
