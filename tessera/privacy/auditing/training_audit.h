// Audits of a training run: canaries are put into the data of the caller's privacy::Trainer, each
// with probability 1/2 by secret coins. The run trains, and an attack scores the canaries from the
// parameters that the run released. The scores yield a lower bound on the epsilon that the run
// spent (Steinke, Nasr and Jagielski, arXiv 2305.08846), to be compared with the accounted one.
//
//   privacy::Trainer trainer(plan, auditing::counted(loss), optim::sgd(0.1));
//   auto report = auditing::audit(trainer, loss, params, std::tuple(x, y), std::tuple(cx, cy));
//   std::cout << to_string(report);          // accounted epsilon 2, audited epsilon 0.4 ...
//   write_audit_page("audit.html", report);
//   save_audit("audit.txt", report);         // tessera privacy audit audit.txt
//
// The plan's num_examples is the number of examples of the data and of all canaries. A canary that
// is left out keeps its row with a count of 0: its loss and its gradient are 0, as if it were
// removed. This is a neighbour under every neighbouring relation.
//
// Canaries should be examples that a run fits only because it has seen them: ones with random
// labels, or inputs that resemble nothing else. The more they move the parameters, the better the
// bound. An audit that finds little proves nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"
#include "tessera/privacy/auditing/audit_report.h"
#include "tessera/privacy/trainer.h"

namespace tessera::privacy::auditing {

// The score of a canary in an attack; higher if the attack guesses that it was trained on.
enum class CanaryScore : uint8_t {
  kUpdates,  // how far all updates lowered its loss, to first order: the inner product of each with
             // its gradient
  kLossChange,  // its loss before training minus that after; it reads only the last parameters
};

struct TrainingAuditOptions {
  CanaryScore score = CanaryScore::kUpdates;
  double significance = 0.05;  // in (0, 1)
  // The epsilon that the run claims. If absent, it is trainer.epsilon(final state).
  std::optional<double> claimed_epsilon = std::nullopt;
  // As in TrainerOptions: the loss sees an example as a batch of one.
  bool keep_batch_dim = true;
  // For tests: coins and run are the same for the same seed. If absent, it is drawn from the
  // operating system's entropy.
  std::optional<uint64_t> seed = std::nullopt;
};

namespace internal {

// Returns for each canary whether it is trained on.
std::vector<bool> coins(int64_t canaries, std::optional<uint64_t> seed);
// Returns 1 for each example and each canary that is trained on, else 0; float32.
Array counts_of(int64_t examples, const std::vector<bool>& trained_on);
// Returns the number of rows of all leaves. Throws UserError if they do not agree, or there are
// none.
int64_t rows_of(const char* what, const std::vector<Array>& leaves);
void expect_examples(int64_t examples, int64_t canaries, int64_t planned);
// Returns the count of one example. Throws UserError if `counts` has another number of examples.
Array count_of_one(const Array& counts);
// Returns the report from float scores; NaN counts as the lowest.
AuditReport report_of(const std::vector<double>& scores, const std::vector<bool>& trained_on,
                      const AuditClaim& claim);

// Returns the loss of each row, for the parameters as a list.
template <class Loss, class Params>
struct Losses {
  const Loss& loss;
  const Params& params;
  bool keep_batch_dim;

  template <class... Data>
  Array operator()(const std::vector<Array>& parameters, const Data&... data) const {
    const auto one = [&](const std::tuple<Data...>& rows) {
      return std::apply(
          [&](const Data&... row) {
            const auto batched = [&](const Array& x) {
              return keep_batch_dim ? expand_dims(x, 0) : x;
            };
            return loss(nnx::internal::with_parameters(params, parameters),
                        tree::map(batched, row)...);
          },
          rows);
    };
    return vmap(one)(std::tuple<Data...>(data...));
  }
};

// The programs that compute the scores of the attack.
template <class Loss>
struct CanaryLosses {
  Loss loss;
  bool keep_batch_dim;
  template <class Params, class... Data>
  Array operator()(const Params& params, const Data&... data) const {
    return Losses<Loss, Params>{loss, params, keep_batch_dim}(nnx::internal::parameters(params),
                                                              data...);
  }
};
template <class Loss>
struct UpdateScores {
  Loss loss;
  bool keep_batch_dim;
  // Returns by how much the step from `before` to `after` lowers the loss of each row, to first
  // order.
  template <class Params, class... Data>
  Array operator()(const Params& before, const Params& after, const Data&... data) const {
    const std::vector<Array> from = nnx::internal::parameters(before);
    std::vector<Array> step = nnx::internal::parameters(after);
    for (size_t i = 0; i < from.size(); ++i) step[i] = step[i] - from[i];
    const Losses<Loss, Params> losses{loss, before, keep_batch_dim};
    const auto of_parameters = [&](const std::vector<Array>& p) { return losses(p, data...); };
    return -jvp(of_parameters, std::tuple(from), std::tuple(step)).second;
  }
};

// Maps (params, counts, data...) to the loss of an example that counts, else to 0.
template <class Loss>
struct CountedLoss {
  Loss loss;
  template <class Params, class... Data>
  Array operator()(const Params& params, const Array& counts, const Data&... data) const {
    const Array value = loss(params, data...);
    return where(count_of_one(counts) > 0, value, zeros_like(value));
  }
};

}  // namespace internal

// Returns the loss for a trainer that is to be audited: loss(params, data...) with the examples'
// counts, 0 or 1, before the data. It can only be called with one example at a time, as trainers
// do.
template <class Loss>
internal::CountedLoss<Loss> counted(Loss loss) {
  return {std::move(loss)};
}

// Runs all steps of the trainer's plan, from `params` on, and returns the report of their audit.
// `loss` is the one that was given to counted(); `data` and `canaries` are its arguments after
// params, trees of arrays with a row for each example. Throws UserError (kValue) if rows do not
// agree, or together are not the plan's num_examples; if no canary was trained on, or none left out
// (by chance, with few canaries); and as the trainer and make_audit_report do.
template <class Trainer, class Loss, class Params, class... Data>
AuditReport audit(const Trainer& trainer, const Loss& loss, const Params& params,
                  const std::tuple<Data...>& data, const std::tuple<Data...>& canaries,
                  const TrainingAuditOptions& options = {}) {
  const int64_t examples = internal::rows_of("data", tree::leaves(data));
  const int64_t extra = internal::rows_of("canaries", tree::leaves(canaries));
  internal::expect_examples(examples, extra, trainer.plan().sampling().num_examples);
  const std::vector<bool> trained_on = internal::coins(extra, options.seed);
  const Array counts = internal::counts_of(examples, trained_on);
  const auto joined = [](const Array& a, const Array& b) { return concatenate({a, b}, 0); };
  const std::tuple<Data...> all = tree::map(joined, data, canaries);

  auto state = options.seed ? trainer.init(params, reproducible(random::key(*options.seed)))
                            : trainer.init(params);
  const Jitted updates =
      jit(internal::UpdateScores<std::decay_t<Loss>>{loss, options.keep_batch_dim});
  const Jitted losses =
      jit(internal::CanaryLosses<std::decay_t<Loss>>{loss, options.keep_batch_dim});
  std::vector<double> scores(static_cast<size_t>(extra));
  const auto add = [&](const Array& of_canaries, double sign) {
    const std::vector<double> values = to_vector<double>(astype(of_canaries, float64));
    for (size_t i = 0; i < scores.size(); ++i) scores[i] += sign * values[i];
  };
  const auto of_losses = [&](const Params& at) {
    return std::apply([&](const Data&... c) { return losses(at, c...); }, canaries);
  };
  if (options.score == CanaryScore::kLossChange) add(of_losses(params), 1);
  while (trainer.steps_done(state) < trainer.plan().steps()) {
    const Params before = state.params;
    std::apply([&](const Data&... d) { trainer.step(state, counts, d...); }, all);
    if (options.score == CanaryScore::kUpdates)
      add(std::apply([&](const Data&... c) { return updates(before, state.params, c...); },
                     canaries),
          1);
  }
  if (options.score == CanaryScore::kLossChange) add(of_losses(state.params), -1);
  return internal::report_of(
      scores, trained_on,
      {.accounted_epsilon =
           options.claimed_epsilon ? *options.claimed_epsilon : trainer.epsilon(state),
       .delta = trainer.plan().delta(),
       .significance = options.significance});
}

// Returns the same for `count` canaries that a function makes: make(count, key) returns the tuple
// of their data. The key is drawn from entropy, or made from options.seed.
template <class Trainer, class Loss, class Params, class... Data, class Make>
requires std::is_invocable_r_v < std::tuple<Data...>,
const Make&, int64_t,
    const random::Key& > AuditReport audit(const Trainer& trainer, const Loss& loss,
                                           const Params& params, const std::tuple<Data...>& data,
                                           int64_t count, const Make& make,
                                           const TrainingAuditOptions& options = {}) {
  // A key takes 63 bits.
  const uint64_t seed = options.seed ? *options.seed : accounting::seed_of_entropy() >> 1;
  const std::tuple<Data...> canaries =
      make(count, random::fold_in(random::key(seed), uint32_t{0xca4a47}));
  return audit(trainer, loss, params, data, canaries, options);
}

}  // namespace tessera::privacy::auditing
