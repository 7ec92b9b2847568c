// The most likely path of a hidden Markov model (Viterbi), for many sequences at once. The same
// path is also the gradient of the best path's score by the scores of single states.
#include <tessera/tessera.h>

#include <iostream>

#include "examples/timed.h"

using namespace tessera;

struct Hmm {
  Array start, transition, emission;  // log probabilities: (k), (from, to), (k, symbols)
};

// Returns the log probability of the best path together with the symbols (n), and that path (n).
std::pair<Array, Array> viterbi(const Hmm& m, const Array& symbols) {
  const Array scores = transpose(take(m.emission, symbols, {.axis = 1}));  // (n, k)
  const auto forward = [&](const Array& best, const Array& score) {
    const Array all = expand_dims(best, 1) + m.transition;  // (from, to)
    return std::pair(max(all, {.axis = 0}) + score, argmax(all, {.axis = 0}));
  };
  const auto [last, from] =
      scan(forward, m.start + index(scores, {0}), index(scores, {Slice(1, None)}));
  const auto backward = [](const Array& state, const Array& previous) {
    const Array before = take(previous, state, {.mode = IndexMode::kClip});
    return std::pair(before, before);
  };
  const Array end = argmax(last);
  const Array path = scan(backward, end, from, {.reverse = true}).second;
  return {max(last), append(path, end)};
}

// Returns the log probability of a path together with the symbols.
Array path_score(const Hmm& m, const Array& symbols, const Array& path) {
  const Array before = index(path, {Slice(None, -1)}), after = index(path, {Slice(1, None)});
  return index(m.start, {index(path, {0})}) + sum(index(m.transition, {before, after})) +
         sum(index(m.emission, {path, symbols}));
}

Hmm random_model(const random::Key& key, int64_t states, int64_t symbols) {
  const auto [a, b, c] = random::split<3>(key);
  return {log_softmax(random::normal(a, {states})),
          log_softmax(2 * random::normal(b, {states, states})),
          log_softmax(2 * random::normal(c, {states, symbols}))};
}

int main(int argc, char** argv) {
  const auto [a, b, c] = random::split<3>(random::key(0));
  const Hmm model = random_model(a, 32, 64);
  const Array sequences = random::randint(b, {64, 200}, 0, 64);
  const auto decode = jit([](const Hmm& m, const Array& batch) {
    return vmap([&](const Array& symbols) { return viterbi(m, symbols); })(batch);
  });
  const auto [scores, paths] = decode(model, sequences);
  const Array again = vmap([&](const Array& symbols, const Array& path) {
    return path_score(model, symbols, path);
  })(sequences, paths);
  std::cout << "mean score of 64 best paths " << mean(scores) << "\n"
            << "largest difference from the scores of the paths themselves "
            << max(abs(scores - again)) << "\n";

  // The check: for a small model, the best of all 3^7 paths.
  const Hmm small = random_model(c, 3, 4);
  const Array symbols = array({0, 3, 1, 1, 2, 0, 3});
  const Array all =
      stack(unravel_index(arange(3 * 3 * 3 * 3 * 3 * 3 * 3), {3, 3, 3, 3, 3, 3, 3}), 1);
  const Array every =
      vmap([&](const Array& path) { return path_score(small, symbols, path); })(all);
  const auto [best, path] = viterbi(small, symbols);
  const Array expected = index(all, {argmax(every)});
  std::cout << "best of " << every.size() << " paths " << expected << ", found " << path << "\n";
  print_times(argc, argv, sum(scores).item<double>(), [&] { decode(model, sequences); });
  return array_equal(path, expected) && allclose(best, max(every)) &&
                 allclose(scores, again, {.rtol = 1e-4})
             ? 0
             : 1;
}
