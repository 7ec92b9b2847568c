// Beam search with a transformer that caches the keys and values of the tokens that it has read.
// Each step computes one token for each beam; a beam that continues another one also takes its
// cache.
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>

#include "examples/timed.h"

using namespace tessera;

constexpr int64_t kLayers = 2, kHeads = 4, kWidth = 128, kTokens = 96;

struct Layer {
  Array qkv, out, up, down;  // (width, 3 width), (width, width), (width, 4 width), (4 width, width)
};
struct Model {
  Array embedding, positions, unembedding;  // (tokens, width), (length, width), (width, tokens)
  std::vector<Layer> layers;
};
struct Cache {
  Array keys, values;  // (layers, beams, heads, length, width / heads)
};

Model random_model(const random::Key& key, int64_t length) {
  const auto part = [&](int number, const Shape& shape) {
    return random::normal(random::fold_in(key, number), shape) / std::sqrt(1.0 * shape[0]);
  };
  Model m{random::normal(random::fold_in(key, 0), {kTokens, kWidth}),
          0.5f * random::normal(random::fold_in(key, 1), {length, kWidth}),
          part(4 * kLayers + 2, {kWidth, kTokens}),
          {}};
  for (int i = 0; i < kLayers; ++i)
    m.layers.push_back({part(4 * i + 2, {kWidth, 3 * kWidth}), part(4 * i + 3, {kWidth, kWidth}),
                        part(4 * i + 4, {kWidth, 4 * kWidth}),
                        part(4 * i + 5, {4 * kWidth, kWidth})});
  return m;
}

// Returns the log probabilities of the tokens that follow `token` (beams,) at a position, and the
// cache with this token added.
std::pair<Array, Cache> next_token(const Model& m, Cache cache, const Array& token,
                                   const Array& position) {
  const int64_t beams = token.size(), length = m.positions.shape(0);
  Array x =
      take(m.embedding, token, {.axis = 0}) + dynamic_index_in_dim(m.positions, position, 0, false);
  for (int64_t i = 0; i < kLayers; ++i) {
    const Layer& layer = m.layers[i];
    const Array qkv =
        reshape(matmul(standardize(x), layer.qkv), {beams, 3, kHeads, kWidth / kHeads});
    const auto put = [&](const Array& all, int64_t which) {
      const Array new_row =
          reshape(index(qkv, {Slice(), which}), {1, beams, kHeads, 1, kWidth / kHeads});
      return dynamic_update_slice(all, new_row, {i, 0, 0, position, 0});
    };
    cache = {put(cache.keys, 1), put(cache.values, 2)};
    const Array scores =
        einsum("bhd,bhtd->bht", {index(qkv, {Slice(), 0}), index(cache.keys, {i})}) /
        std::sqrt(1.0 * kWidth / kHeads);
    const Array weights = softmax(scores, -1, arange(length) <= position);
    const Array heard =
        reshape(einsum("bht,bhtd->bhd", {weights, index(cache.values, {i})}), {beams, kWidth});
    x += matmul(heard, layer.out);
    x += matmul(gelu(matmul(standardize(x), layer.up)), layer.down);
  }
  return {log_softmax(matmul(standardize(x), m.unembedding)), cache};
}

// Returns sequences (beams, length) that begin with the token `first`, and their log probabilities,
// the best first.
std::pair<Array, Array> beam_search(const Model& m, const Array& first, int64_t beams) {
  const int64_t length = m.positions.shape(0);
  const Array empty = zeros({kLayers, beams, kHeads, length, kWidth / kHeads});
  using State = std::tuple<Array, Array, Cache>;  // sequences, scores, cache
  const auto step = [&](const Array& i, const State& state) {
    const auto& [sequences, scores, cache] = state;
    const auto [follows, filled] =
        next_token(m, cache, dynamic_index_in_dim(sequences, i, 1, false), i);
    const auto [best, chosen] = top_k(ravel(expand_dims(scores, 1) + follows), beams);
    const Array from = floor_divide(chosen, kTokens), token = remainder(chosen, kTokens);
    const Array kept = take(sequences, from, {.axis = 0});
    return State(
        dynamic_update_index_in_dim(kept, token, i + 1, 1), best,
        Cache{take(filled.keys, from, {.axis = 1}), take(filled.values, from, {.axis = 1})});
  };
  const Array start = at(zeros({beams, length}, int32))[{Slice(), 0}].set(first);
  // At first all beams are equal, so only one of them may count.
  const Array scores = where(arange(beams) == 0, 0.0f, -INFINITY);
  const auto [sequences, best, cache] =
      fori_loop(0, length - 1, step, State(start, scores, Cache{empty, empty}));
  return {sequences, best};
}

int main(int argc, char** argv) {
  const Model model = random_model(random::key(0), 64);
  const auto search =
      jit([](const Model& m, const Array& first) { return beam_search(m, first, 4); });
  const auto greedy =
      jit([](const Model& m, const Array& first) { return beam_search(m, first, 1); });
  const Array first = array(1);
  const auto [sequences, scores] = search(model, first);
  std::cout << "best of 4 beams " << index(scores, {0}) << ", greedy "
            << index(greedy(model, first).second, {0}) << "\n"
            << index(sequences, {0}) << "\n";

  // The check: with as many beams as there are tokens, the best of all sequences of three tokens is
  // found.
  const Model small = random_model(random::key(1), 3);
  const auto [found, score] = beam_search(small, array(5), kTokens);
  const Array none = zeros({kLayers, 1, kHeads, 3, kWidth / kHeads});
  const auto [after_one, cache] = next_token(small, {none, none}, array({5}), 0);
  const auto second = [&, &cache = cache](const Array& token) {
    return ravel(next_token(small, cache, reshape(token, {1}), 1).first);
  };
  const Array all = reshape(after_one, {kTokens, 1}) + map(second, arange(kTokens));
  const double off = abs(max(all) - index(score, {0})).item<double>();
  const Array expected = stack(unravel_index(argmax(all), {kTokens, kTokens}));
  std::cout << "best of all short sequences " << expected << ", found "
            << index(found, {0, Slice(1, None)}) << "\n";
  print_times(argc, argv, index(scores, {0}).item<double>(), [&] { search(model, first); });
  return off < 1e-4 && array_equal(expected, index(found, {0, Slice(1, None)})) ? 0 : 1;
}
