#include "tessera/privacy/batch_selection/min_separation.h"

#include <algorithm>
#include <optional>

namespace tessera::privacy::batch_selection::internal {
namespace {

// The number of examples whose past is computed together: as many trials as one read of the stream
// makes.
constexpr int64_t kChunk = 256;

// The possible states of an example. A state is the step from which on the example may be sampled.
class States {
 public:
  // Constructs the possible states before step `from`, which are the min_sep steps from it on.
  States(int64_t from, int64_t min_sep)
      : first_(from), last_(from + min_sep - 1), min_sep_(min_sep) {}

  void coin(int64_t step) {
    const size_t waited = waited_;
    const bool sampled = first_ <= std::min(step, last_);
    first_ = std::max(first_, step + 1);
    while (waited_ < later_.size() && later_[waited_] <= step) ++waited_;
    if (sampled || waited_ > waited) later_.push_back(step + min_sep_);
  }

  // Returns the state before `step` if only one is possible, and otherwise nullopt. All states up
  // to `step` count as equal.
  std::optional<int64_t> only(int64_t step) const {
    std::optional<int64_t> out;
    const auto take = [&](int64_t state) {
      state = std::max(state, step);
      const bool alike = !out || *out == state;
      out = state;
      return alike;
    };
    if (first_ <= last_ && !(take(first_) && take(last_))) return std::nullopt;
    for (size_t i = waited_; i < later_.size(); ++i)
      if (!take(later_[i])) return std::nullopt;
    return out;
  }

 private:
  int64_t first_, last_;  // the initial states whose examples were not sampled since
  const int64_t min_sep_;
  std::vector<int64_t> later_;  // the states of examples sampled since, increasing, after last_
  size_t waited_ = 0;           // how many of later_ were sampled again
};

}  // namespace

MinSeparationProcess::MinSeparationProcess(const MinSeparation& law, const CounterStream& start,
                                           const CounterStream& coins)
    : law_(law), start_(start), coins_(coins), eligible_(initial_states(0, law.num_examples)) {}

std::vector<int64_t> MinSeparationProcess::sampled(int64_t step) {
  if (step != next_) seek(step);
  return advance(step);
}

Bernoulli MinSeparationProcess::coins_of(int64_t step) const {
  return {coins_.child(static_cast<uint64_t>(step)), law_.sampling_prob};
}

std::vector<int64_t> MinSeparationProcess::advance(int64_t step) {
  std::vector<int64_t> heads, out;
  coins_of(step).successes(0, law_.num_examples, heads);
  for (const int64_t i : heads) {
    int64_t& eligible = eligible_[static_cast<size_t>(i)];
    if (eligible > step) continue;
    eligible = step + law_.min_sep;
    out.push_back(i);
  }
  next_ = step + 1;
  return out;
}

void MinSeparationProcess::seek(int64_t step) {
  for (int64_t first = 0; first < law_.num_examples; first += kChunk)
    find_states(first, std::min(first + kChunk, law_.num_examples), step);
  next_ = step;
}

std::vector<int64_t> MinSeparationProcess::initial_states(int64_t first, int64_t last) const {
  std::vector<int64_t> out(static_cast<size_t>(last - first), 0);
  if (!law_.warm_start || law_.min_sep == 1) return out;
  // In the long run a share p / (1 + (b - 1) p) of the examples is sampled in each step.
  const double waits = static_cast<double>(law_.min_sep - 1) * law_.sampling_prob;
  std::vector<int64_t> waiting;
  Bernoulli(start_.child(0), waits / (1 + waits)).successes(first, last, waiting);
  BufferedWords words(start_.child(1));
  for (const int64_t i : waiting)
    out[static_cast<size_t>(i - first)] =
        1 + static_cast<int64_t>(
                words.below(static_cast<uint64_t>(law_.min_sep - 1), static_cast<uint64_t>(i)));
  return out;
}

void MinSeparationProcess::find_states(int64_t first, int64_t last, int64_t step) {
  if (law_.sampling_prob == 1) return rotate(first, last, step);
  for (int64_t back = 2 * law_.min_sep; back < step; back *= 2)
    if (couple(first, last, step - back, step)) return;
  replay(first, last, step);
}

bool MinSeparationProcess::couple(int64_t first, int64_t last, int64_t from, int64_t step) {
  std::vector<States> states(static_cast<size_t>(last - first), States(from, law_.min_sep));
  std::vector<int64_t> heads;
  for (int64_t s = from; s < step; ++s) {
    heads.clear();
    coins_of(s).successes(first, last, heads);
    for (const int64_t i : heads) states[static_cast<size_t>(i - first)].coin(s);
  }
  for (size_t i = 0; i < states.size(); ++i) {
    const std::optional<int64_t> only = states[i].only(step);
    if (!only) return false;
    eligible_[static_cast<size_t>(first) + i] = *only;
  }
  return true;
}

// Computes the states of examples first, ..., last - 1 from those of the first step.
void MinSeparationProcess::replay(int64_t first, int64_t last, int64_t step) {
  std::vector<int64_t> states = initial_states(first, last), heads;
  for (int64_t s = 0; s < step; ++s) {
    heads.clear();
    coins_of(s).successes(first, last, heads);
    for (const int64_t i : heads) {
      int64_t& eligible = states[static_cast<size_t>(i - first)];
      if (eligible <= s) eligible = s + law_.min_sep;
    }
  }
  std::copy(states.begin(), states.end(), eligible_.begin() + first);
}

// Computes the states for p = 1. An example is then sampled every min_sep steps from its initial
// state on.
void MinSeparationProcess::rotate(int64_t first, int64_t last, int64_t step) {
  const std::vector<int64_t> states = initial_states(first, last);
  for (size_t i = 0; i < states.size(); ++i) {
    const int64_t past = std::max<int64_t>(step - states[i] + law_.min_sep - 1, 0);
    eligible_[static_cast<size_t>(first) + i] = states[i] + past / law_.min_sep * law_.min_sep;
  }
}

}  // namespace tessera::privacy::batch_selection::internal
