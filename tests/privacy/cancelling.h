// Examples whose tokens cancel, which are the hard ones for norms: |sum of x_t g_t'| is much
// smaller than the sum of |x_t| |g_t|, and may be smaller than its rounding error.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/privacy/materialised.h"

namespace tessera::privacy::helpers {

// A loss whose gradient by w [p, q] for each example is x' g, with x [tokens, p] and g [tokens, q].
inline Array bilinear(const Array& w, const Array& x, const Array& g) {
  return sum(astype(matmul(x, w) * g, float32));
}

struct Tokens {
  std::string name;
  int64_t tokens, p, q;
  std::vector<float> x, g;
  Array xs() const { return reshape(array(x), {1, tokens, p}); }
  Array gs() const { return reshape(array(g), {1, tokens, q}); }
};

inline double norm(const std::vector<float>& v) {
  double squares = 0;
  for (double x : v) squares += x * x;
  return std::sqrt(squares);
}

// Returns the tokens that fill(t, x_t, g_t) writes.
template <class F>
Tokens tokens_of(std::string name, int64_t tokens, int64_t p, int64_t q, const F& fill) {
  Tokens out{std::move(name), tokens, p, q, {}, {}};
  for (int64_t t = 0; t < tokens; ++t) {
    std::vector<float> x(static_cast<size_t>(p)), g(static_cast<size_t>(q));
    fill(t, x, g);
    out.x.insert(out.x.end(), x.begin(), x.end());
    out.g.insert(out.g.end(), g.begin(), g.end());
  }
  return out;
}

// Returns examples whose tokens cancel, except for a share `rest`.
inline std::vector<Tokens> cancelling(int64_t tokens, int64_t p, int64_t q, float rest,
                                      uint64_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> mantissa(1, 2);
  using Row = std::vector<float>;
  const auto draw = [&](Row& row) {
    for (float& v : row) v = normal(random);
  };
  Row a(static_cast<size_t>(p)), b(static_cast<size_t>(q));
  draw(a), draw(b);
  const float c = mantissa(random), d = mantissa(random), e = mantissa(random);
  const auto sign = [&](int64_t t) { return t % 2 == 0 ? 1.0f : -1.0f; };
  return {
      tokens_of("one token again and again", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  for (size_t i = 0; i < x.size(); ++i) x[i] = a[i] + rest * normal(random);
                  for (size_t j = 0; j < g.size(); ++j) g[j] = sign(t) * b[j];
                }),
      tokens_of("pairs", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  if (t % 2 == 0) draw(a), draw(b);
                  x = a;
                  for (size_t j = 0; j < g.size(); ++j)
                    g[j] = sign(t) * b[j] + rest * normal(random);
                }),
      // All terms of a dot product round in the same direction.
      tokens_of("constants", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  std::fill(x.begin(), x.end(), c);
                  std::fill(g.begin(), g.end(), sign(t) * d + (t == 0 ? rest : 0));
                }),
      tokens_of("two constants", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  std::fill(x.begin(), x.end(), t % 2 == 0 ? c : e);
                  std::fill(g.begin(), g.end(), (t % 2 == 0 ? d : -d * c / e) * (1 + rest));
                }),
      tokens_of("first half against second", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  std::fill(x.begin(), x.end(), c);
                  std::fill(g.begin(), g.end(), t < tokens / 2 ? d : -d * (1 + rest));
                }),
      tokens_of("many scales", tokens, p, q,
                [&](int64_t t, Row& x, Row& g) {
                  const float scale = std::exp(3 * normal(random));
                  for (size_t i = 0; i < x.size(); ++i) x[i] = a[i] * scale;
                  for (size_t j = 0; j < g.size(); ++j)
                    g[j] = sign(t) * b[j] / scale * (1 + rest * normal(random));
                }),
  };
}

}  // namespace tessera::privacy::helpers
