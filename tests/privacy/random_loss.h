// Random losses of one example, for property tests: some steps from [tokens, features] to the same
// shape, each with its own parameters or those of an earlier step (so that weights are tied in many
// ways).
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tessera/tessera.h"

namespace tessera::privacy::helpers {

using Params = std::vector<Array>;

struct Example {
  Array x;       // [tokens, features]
  Array tokens;  // [tokens] of int32
};

// x[i]
inline Array row(const Array& x, int64_t i) { return squeeze(slice_in_dim(x, i, i + 1, 0), 0); }

class RandomLoss {
 public:
  explicit RandomLoss(uint64_t seed, int64_t features = 4)
      : random_(seed), tokens_(pick({1, 2, 3, 6})), features_(features) {
    const int64_t num_steps = 1 + below(4);
    for (int64_t i = 0; i < num_steps; ++i) add_step();
    if (below(3) == 0) {
      const size_t w = parameter({features_, features_});
      text_ += " + |w" + std::to_string(w) + "|^2";
      regularised_ = w;
    }
  }

  int64_t tokens() const { return tokens_; }
  int64_t features() const { return features_; }
  int64_t vocabulary() const { return vocabulary_; }
  const std::vector<Shape>& parameter_shapes() const { return shapes_; }
  // A description of the steps.
  const std::string& text() const { return text_; }

  Array operator()(const Params& p, const Array& x, const Array& tokens) const {
    Array h = x;
    for (const Step& step : steps_) h = tanh(step(p, h, tokens));
    Array loss = mean(square(h)) + sum(h) / 7;
    if (regularised_) loss = loss + .01f * sum(square(p[*regularised_]));
    return loss;
  }

 private:
  using Step = std::function<Array(const Params&, const Array& h, const Array& tokens)>;

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t pick(const std::vector<int64_t>& of) {
    return of[static_cast<size_t>(below(static_cast<int64_t>(of.size())))];
  }

  // Returns a parameter of this shape: a new one or, often, an earlier one.
  size_t parameter(const Shape& shape) {
    for (size_t i = 0; i < shapes_.size(); ++i)
      if (shapes_[i] == shape && below(2) == 0) return i;
    shapes_.push_back(shape);
    return shapes_.size() - 1;
  }

  // Returns a matrix [rows, columns] that is made of a parameter in one of many ways.
  std::function<Array(const Params&)> matrix(int64_t rows, int64_t columns) {
    switch (below(12)) {
      case 0: {
        const size_t w = parameter({columns, rows});
        text_ += " w" + std::to_string(w) + "'";
        return [=](const Params& p) { return transpose(p[w]); };
      }
      case 1: {
        const size_t w = parameter({rows * columns});
        text_ += " reshape w" + std::to_string(w);
        return [=](const Params& p) { return reshape(p[w], {rows, columns}); };
      }
      case 2: {
        const size_t w = parameter({2, rows, columns});
        const int64_t at = below(2);
        text_ += " w" + std::to_string(w) + "[" + std::to_string(at) + "]";
        return [=](const Params& p) {
          return reshape(slice_in_dim(p[w], at, at + 1, 0), {rows, columns});
        };
      }
      case 3: {
        const size_t w = parameter({rows + 1, columns});
        const int64_t at = below(2);
        text_ += " w" + std::to_string(w) + "[" + std::to_string(at) + ":]";
        return [=](const Params& p) { return slice_in_dim(p[w], at, at + rows, 0); };
      }
      case 4: {
        const size_t w = parameter({rows, columns});
        text_ += " sin w" + std::to_string(w);
        return [=](const Params& p) { return sin(p[w]); };
      }
      case 5: {
        const size_t a = parameter({rows, 2}), b = parameter({2, columns});
        text_ += " w" + std::to_string(a) + " w" + std::to_string(b);
        return [=](const Params& p) { return matmul(p[a], p[b]); };
      }
      case 6: {
        const size_t a = parameter({1, columns}), b = parameter({rows - 1, columns});
        text_ += " concatenate w" + std::to_string(a) + " w" + std::to_string(b);
        return [=](const Params& p) { return concatenate({p[a], p[b]}, 0); };
      }
      case 7: {
        const size_t w = parameter({columns});
        text_ += " broadcast w" + std::to_string(w);
        return [=](const Params& p) { return broadcast_to(p[w], {rows, columns}); };
      }
      case 8: {
        const size_t w = parameter({columns, 1, rows});
        text_ += " transposed w" + std::to_string(w);
        return [=](const Params& p) { return transpose(reshape(p[w], {columns, rows})); };
      }
      case 9: {
        const size_t w = parameter({rows, columns});
        text_ += " flip -w" + std::to_string(w);
        return [=](const Params& p) { return -flip(p[w], 0); };
      }
      default: {
        const size_t w = parameter({rows, columns});
        text_ += " w" + std::to_string(w);
        return [=](const Params& p) { return p[w]; };
      }
    }
  }

  void add_step() {
    text_ += steps_.empty() ? "" : " |";
    const int64_t d = features_;
    switch (below(17)) {
      case 0:
      case 1: {
        text_ += " matmul";
        const auto w = matrix(d, d);
        return add([=](const Params& p, const Array& h, const Array&) { return matmul(h, w(p)); });
      }
      case 2: {
        text_ += " bias and gain";
        const size_t b = parameter({d}), g = parameter({d});
        return add([=](const Params& p, const Array& h, const Array&) { return h * p[g] + p[b]; });
      }
      case 3: {
        text_ += " heads";
        const size_t w = parameter({2, d, 3}), o = parameter({2, 3, d});
        return add([=](const Params& p, const Array& h, const Array&) {
          return einsum("thk,hkd->td", {einsum("td,hdk->thk", {h, p[w]}), p[o]});
        });
      }
      case 4: {
        text_ += " attention";
        const auto q = matrix(d, d), k = matrix(d, d);
        return add([=](const Params& p, const Array& h, const Array&) {
          const Array s = softmax(matmul(matmul(h, q(p)), transpose(matmul(h, k(p)))), -1);
          return matmul(s, h);
        });
      }
      case 5: {
        text_ += " conv";
        const size_t w = parameter({3, d, d});
        const bool dilated = below(2) == 1;
        return add([=](const Params& p, const Array& h, const Array&) {
          lax::ConvOptions options{.lhs_layout = "NHC", .rhs_layout = "HIO", .out_layout = "NHC"};
          if (dilated) options.rhs_dilation = {2};
          return reshape(lax::conv_general_dilated(expand_dims(h, {0}), p[w], {1}, "SAME", options),
                         h.shape());
        });
      }
      case 6: {
        text_ += " embedding";
        const size_t e = parameter({vocabulary_, d});
        return add([=](const Params& p, const Array& h, const Array& tokens) {
          return h + take(p[e], tokens, {.axis = 0});
        });
      }
      case 7: {
        text_ += " embedding columns";
        const size_t e = parameter({d, vocabulary_});
        return add([=](const Params& p, const Array& h, const Array& tokens) {
          return h + transpose(take(p[e], tokens, {.axis = 1}));
        });
      }
      case 8: {
        text_ += " output embedding";
        const size_t e = parameter({vocabulary_, d});
        return add([=](const Params& p, const Array& h, const Array&) {
          return matmul(softmax(matmul(h, transpose(p[e])), -1), p[e]);
        });
      }
      case 9: {
        text_ += " recurrence";
        const auto w = matrix(d, d), u = matrix(d, d);
        return add([=](const Params& p, const Array& h, const Array&) {
          const auto cell = [&](const Array& state, const Array& x) {
            const Array next = tanh(matmul(x, w(p)) + matmul(state, u(p)));
            return std::pair(next, next);
          };
          return scan(cell, zeros_like(row(h, 0)), h).second;
        });
      }
      case 10: {
        text_ += " layers";
        const size_t w = parameter({3, d, d});
        return add([=](const Params& p, const Array& h, const Array&) {
          const auto layer = [](const Array& h, const Array& w) {
            return std::pair(tanh(matmul(h, w)), 0);
          };
          return scan(layer, h, p[w]).first;
        });
      }
      case 11: {
        text_ += " branch";
        const auto w = matrix(d, d);
        const size_t b = parameter({d});
        return add([=](const Params& p, const Array& h, const Array&) {
          return cond(
              sum(h) > 0.0f,
              [](const Array& w, const Array&, const Array& h) { return matmul(h, w); },
              [](const Array&, const Array& b, const Array& h) { return h * b; }, w(p), p[b], h);
        });
      }
      case 12: {
        text_ += " checkpoint";
        const auto w = matrix(d, d), u = matrix(d, d);
        return add([=](const Params& p, const Array& h, const Array&) {
          return checkpoint([](const Array& w, const Array& u, const Array& h) {
            return matmul(tanh(matmul(h, w)), u);
          })(w(p), u(p), h);
        });
      }
      case 13: {
        text_ += " mix tokens";
        const auto w = matrix(tokens_ + 1, tokens_ + 1);
        return add([=](const Params& p, const Array& h, const Array&) {
          const Array m = slice(w(p), {0, 1}, {h.shape(0), h.shape(0) + 1});
          return transpose(matmul(transpose(h), m));
        });
      }
      case 14: {
        text_ += " row of tokens";
        const auto w = matrix(vocabulary_, d);
        return add([=](const Params& p, const Array& h, const Array& tokens) {
          return h * dynamic_index_in_dim(w(p), row(tokens, 0), 0);
        });
      }
      case 15: {
        text_ += " vmap";
        const auto w = matrix(d, d);
        return add([=](const Params& p, const Array& h, const Array&) {
          return vmap([&](const Array& row) { return sin(matmul(row, w(p))); })(h);
        });
      }
      default: {
        text_ += " repeated";
        const auto w = matrix(d, d);
        return add([=](const Params& p, const Array& h, const Array&) {
          return fori_loop(
              0, 3, [&](const Array&, const Array& x) { return tanh(matmul(x, w(p))); }, h);
        });
      }
    }
  }
  void add(Step step) { steps_.push_back(std::move(step)); }

  std::mt19937_64 random_;
  int64_t tokens_, features_, vocabulary_ = 5;
  std::vector<Shape> shapes_;
  std::vector<Step> steps_;
  std::optional<size_t> regularised_;
  std::string text_;
};

}  // namespace tessera::privacy::helpers
