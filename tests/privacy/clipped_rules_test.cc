// Clipped gradients of functions with a custom_vjp: a rule that ends in products gives their
// factors, and any other rule gives whole gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/privacy/cancelling.h"

namespace tessera::privacy::clipped_rules_test {
namespace {

using helpers::expect_clipped_like_materialised;
using ::testing::HasSubstr;
using ::testing::Not;
using Arrays = std::vector<Array>;

Array noise(uint64_t seed, const Shape& shape, float scale = 1) {
  return scale * random::normal(random::key(seed), shape);
}

// Returns the function x w with the rule `gradient`: (x, ct) -> w's cotangent.
template <class F>
auto product(const F& gradient) {
  return custom_vjp(
      [](const Array& w, const Array& x) { return matmul(x, w); },
      [](const Array& w, const Array& x) { return std::pair(matmul(x, w), std::pair(w, x)); },
      [=](const std::pair<Array, Array>& saved, const Array& ct) {
        return std::tuple(gradient(saved.second, ct), matmul(ct, transpose(saved.first)));
      });
}
Array summed(const Array& x, const Array& ct) {
  return sum(matmul(swapaxes(x, -1, -2), ct), {.axis = 0});
}
template <class F>
auto loss_of(const F& product) {
  return [=](const Arrays& p, const Array& x) {
    return mean(square(product(p[1], tanh(product(p[0], x)))));
  };
}
template <class Loss>
std::string explained(const Loss& loss, const Arrays& params, const Array& x) {
  return jit(clipped_grad(loss, {.norm_way = NormWay::kFactors})).lower(params, x).explain();
}
void expect_method(const std::string& method, const std::string& explained) {
  EXPECT_THAT(explained, HasSubstr("norms of argument 0[0]: " + method + ","));
}

Arrays weights() { return {noise(0, {7, 5}), noise(1, {5, 5})}; }

TEST(ClippedRules, ThatEndInProducts) {
  const Array x = noise(2, {4, 6, 7});
  const std::map<std::string, std::function<Array(const Array&, const Array&)>> rules{
      {"summed", summed},
      {"swapped",
       [](const Array& x, const Array& ct) {
         return transpose(sum(matmul(swapaxes(ct, -1, -2), x), {.axis = 0}));
       }},
      {"einsum",
       [](const Array& x, const Array& ct) {
         return einsum("btp,btq->pq", {x, ct});
       }},
      {"reshaped",
       [](const Array& x, const Array& ct) {
         return matmul(transpose(reshape(x, {-1, x.shape(-1)})), reshape(ct, {-1, ct.shape(-1)}));
       }},
      {"squeezed", [](const Array& x,
                      const Array& ct) { return squeeze(matmul(swapaxes(x, -1, -2), ct), {0}); }},
      {"scaled", [](const Array& x, const Array& ct) { return -0.5f * summed(x, ct) / 3.0f; }},
      {"a mean",
       [](const Array& x, const Array& ct) {
         return mean(matmul(swapaxes(x, -1, -2), ct), {.axis = 0});
       }},
      {"scaled by the example",
       [](const Array& x, const Array& ct) { return summed(x, ct) / sqrt(mean(square(ct))); }},
      {"two",
       [](const Array& x, const Array& ct) { return summed(x, ct) - summed(cos(x), 2 * ct); }},
      {"by its own size",
       [](const Array& x, const Array& ct) {
         const Array g = summed(x, ct);
         return g / sqrt(sum(square(g)));
       }},
      {"in another dtype",
       [](const Array& x, const Array& ct) {
         return astype(summed(astype(x, float64), astype(ct, float64)), float32);
       }},
  };
  for (const auto& [name, rule] : rules) {
    SCOPED_TRACE(name);
    const auto loss = loss_of(product(rule));
    expect_method("gram", explained(loss, weights(), x));
    expect_clipped_like_materialised(loss, weights(), 4, x);
  }
}

TEST(ClippedRules, ThatEndInSomethingElse) {
  const Array x = noise(2, {4, 6, 7});
  const std::map<std::string, std::function<Array(const Array&, const Array&)>> rules{
      {"bounded", [](const Array& x, const Array& ct) { return tanh(summed(x, ct)); }},
      {"masked",
       [](const Array& x, const Array& ct) {
         const Array g = summed(x, ct);
         return g * astype(reshape(arange(g.size()), g.shape()) % 2, float32);
       }},
      {"with a constant", [](const Array& x, const Array& ct) { return summed(x, ct) + 0.1f; }},
      {"a sum of one factor",
       [](const Array& x, const Array& ct) {
         return sum(ct) * ones({x.shape(-1), ct.shape(-1)});
       }},
      {"none",
       [](const Array& x, const Array& ct) {
         return zeros({x.shape(-1), ct.shape(-1)});
       }},
  };
  for (const auto& [name, rule] : rules) {
    SCOPED_TRACE(name);
    const auto custom = product(rule);
    const auto loss = [=](const Arrays& p, const Array& x) {
      return mean(square(matmul(tanh(custom(p[0], x)), p[1])));
    };
    EXPECT_THAT(explained(loss, weights(), x), Not(HasSubstr("argument 0[0]: gram")));
    expect_clipped_like_materialised(loss, weights(), 4, x);
  }
}

TEST(ClippedRules, OfOneTokenAreLengths) {
  expect_method("vectors", explained(loss_of(product(summed)), weights(), noise(3, {4, 1, 7})));
}

// The examples are users: products are summed over the examples and the tokens of a user.
TEST(ClippedRules, SumsOverBatchesOfTheProduct) {
  const auto custom = product(summed);
  const auto loss = loss_of(custom);
  const Array x = noise(2, {3, 4, 6, 7});
  Arrays expected{zeros({7, 5}), zeros({5, 5})};
  for (int64_t user = 0; user < 3; ++user) {
    const Arrays g = clip_pytree(grad(loss)(weights(), index_in_dim(x, user, 0, false)), 0.5).first;
    for (size_t i = 0; i < 2; ++i) expected[i] = expected[i] + g[i];
  }
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep}) {
    const auto clipped =
        clipped_grad(loss, {.l2_clip_norm = 0.5, .keep_batch_dim = false, .norm_way = method});
    EXPECT_LT(helpers::difference(clipped(weights(), x), expected), 1e-5);
    if (method == NormWay::kFactors)
      expect_method("gram", jit(clipped).lower(weights(), x).explain());
  }
}

// The parameter has other uses, too, so there are cross terms.
TEST(ClippedRules, TiedToAnOrdinaryUse) {
  const auto custom = product(summed);
  const auto loss = [=](const Arrays& p, const Array& x) {
    return mean(square(matmul(tanh(custom(p[0], x)), p[0])));
  };
  const Arrays w{noise(0, {5, 5})};
  const Array x = noise(2, {4, 6, 5});
  expect_method("gram", explained(loss, w, x));
  expect_clipped_like_materialised(loss, w, 4, x);
}

// The rows or columns of a product are added up: x (1 v'), x (v 1'). They may cancel, and the bound
// of a norm from factors would not notice that.
TEST(ClippedRules, SumsOverAProductsRowsOrColumns) {
  const Array x = noise(2, {4, 6, 5});
  for (int64_t axis : {0, 1}) {
    const auto matrix = [=](const Array& v) {
      return broadcast_to(expand_dims(v, {axis}), {5, 5});
    };
    const auto custom =
        custom_vjp([=](const Array& v, const Array& x) { return matmul(x, matrix(v)); },
                   [=](const Array& v, const Array& x) {
                     return std::pair(matmul(x, matrix(v)), std::pair(v, x));
                   },
                   [=](const std::pair<Array, Array>& saved, const Array& ct) {
                     return std::tuple(sum(summed(saved.second, ct), {.axis = axis}),
                                       matmul(ct, transpose(matrix(saved.first))));
                   });
    const auto loss = [=](const Arrays& p, const Array& x) { return mean(sin(custom(p[0], x))); };
    const Arrays v{noise(0, {5})};
    EXPECT_THAT(explained(loss, v, x), Not(HasSubstr("gram")));
    expect_clipped_like_materialised(loss, v, 4, x);
  }
}

TEST(ClippedRules, OfAnEmbedding) {
  const auto lookup =
      custom_vjp([](const Array& w, const Array& tokens) { return take(w, tokens, {.axis = 0}); },
                 [](const Array& w, const Array& tokens) {
                   return std::pair(take(w, tokens, {.axis = 0}), std::pair(w, tokens));
                 },
                 [](const std::pair<Array, Array>& saved, const Array& ct) {
                   return std::tuple(at(zeros_like(saved.first))[saved.second].add(ct),
                                     zeros_like(saved.second));
                 });
  const auto loss = [=](const Arrays& p, const Array& tokens) {
    return mean(square(tanh(matmul(lookup(p[0], tokens), p[1]))));
  };
  const Arrays w{noise(0, {30, 5}), noise(1, {5, 3})};
  const Array tokens = random::randint(random::key(2), {4, 6}, 0, 30);
  expect_method("lookup", explained(loss, w, tokens));
  expect_clipped_like_materialised(loss, w, 4, tokens);
}

TEST(ClippedRules, ThatTakeTheDerivativeOfSomethingElse) {
  const auto straight_through =
      custom_vjp([](const Array& w, const Array& x) { return round(matmul(x, w)); },
                 [](const Array& w, const Array& x) {
                   return std::pair(round(matmul(x, w)), std::pair(w, x));
                 },
                 [](const std::pair<Array, Array>& saved, const Array& ct) {
                   return vjp([](const Array& w, const Array& x) { return matmul(x, w); },
                              saved.first, saved.second)
                       .second(ct);
                 });
  const auto loss = loss_of(straight_through);
  const Array x = noise(2, {4, 6, 7});
  expect_method("gram", explained(loss, weights(), x));
  expect_clipped_like_materialised(loss, weights(), 4, x);
}

TEST(ClippedRules, OfAConvolution) {
  const auto convolved = [](const Array& w, const Array& x) {
    return lax::conv_general_dilated(
        x, w, {1, 1}, "SAME", {.lhs_layout = "NHWC", .rhs_layout = "HWIO", .out_layout = "NHWC"});
  };
  const auto custom = custom_vjp(
      convolved,
      [=](const Array& w, const Array& x) { return std::pair(convolved(w, x), std::pair(w, x)); },
      [=](const std::pair<Array, Array>& saved, const Array& ct) {
        return vjp(convolved, saved.first, saved.second).second(2 * ct);
      });
  const auto loss = [=](const Arrays& p, const Array& x) {
    return mean(square(tanh(custom(p[0], x))));
  };
  const Arrays w{noise(0, {3, 3, 2, 4})};
  expect_clipped_like_materialised(loss, w, 4, noise(2, {4, 5, 5, 2}));
}

TEST(ClippedRules, InAScanAndACheckpoint) {
  const auto custom = product(summed);
  const Array x = noise(2, {4, 6, 5});
  const auto over_layers = [=](const Arrays& p, const Array& x) {
    const auto layer = [=](const Array& h, const Array& w) {
      return std::pair(tanh(custom(w, h)), 0);
    };
    return mean(square(scan(layer, x, p[0]).first));
  };
  const auto over_time = [=](const Arrays& p, const Array& x) {
    const auto step = [=](const Array& h, const Array& x) {
      const Array next = tanh(custom(p[0], expand_dims(h + x, {1})));
      return std::pair(squeeze(next, {1}), 0);
    };
    return mean(square(scan(step, zeros({x.shape(0), 5}), swapaxes(x, 0, 1)).first));
  };
  const auto remat = [=](const Arrays& p, const Array& x) {
    return mean(square(
        checkpoint([=](const Array& w, const Array& x) { return tanh(custom(w, x)); })(p[0], x)));
  };
  const Arrays stacked{noise(0, {3, 5, 5})}, one{noise(0, {5, 5})};
  expect_method("gram", explained(over_layers, stacked, x));
  expect_clipped_like_materialised(over_layers, stacked, 4, x);
  expect_method("gram", explained(over_time, one, x));
  expect_clipped_like_materialised(over_time, one, 4, x);
  expect_method("gram", explained(remat, one, x));
  expect_clipped_like_materialised(remat, one, 4, x);
}

// The guarantee holds for tokens that cancel, in one product and over several.
TEST(ClippedRules, CancellingTokens) {
  const auto custom = product(summed);
  const auto loss = [=](const Array& w, const Array& x, const Array& g) {
    return sum(astype(custom(w, x) * g, float32));
  };
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep}) {
    const auto clipped = jit(clipped_grad(loss, {.l2_clip_norm = 1e-3,
                                                 .batch_argnums = {1, 2},
                                                 .keep_batch_dim = false,
                                                 .norm_way = method}));
    for (DType dtype : {float32, bfloat16})
      for (float rest : {1e-1f, 1e-2f, 1e-3f, 0.0f})
        for (const helpers::Tokens& e : helpers::cancelling(128, 64, 64, rest, 7))
          for (int64_t products : {1, 4}) {
            const Shape shape{1, products, 128 / products, 64};
            const Array sum = clipped(zeros({64, 64}, dtype), astype(reshape(e.xs(), shape), dtype),
                                      astype(reshape(e.gs(), shape), dtype));
            EXPECT_LE(helpers::norm(to_vector<float>(reshape(sum, {64 * 64}))), 1e-3 * (1 + 1e-5))
                << e.name << " rest " << rest << " way " << int(method) << " of " << products;
          }
  }
}

TEST(ClippedRules, OfHalves) {
  const auto custom = product([](const Array& x, const Array& ct) { return summed(x, ct) / 3.0f; });
  const auto loss = [=](const Arrays& p, const Array& x) {
    return sum(astype(square(custom(p[0], astype(x, bfloat16))), float32));
  };
  const Arrays w{astype(noise(0, {7, 5}), bfloat16)};
  const Array x = noise(2, {1, 6, 7});
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep}) {
    const Arrays g = clipped_grad(loss, {.l2_clip_norm = 1e-2, .norm_way = method})(w, x);
    EXPECT_EQ(g[0].dtype(), float32);
    EXPECT_NEAR(optim::global_norm(g).item<float>(), 1e-2, 1e-5);
  }
}

}  // namespace
}  // namespace tessera::privacy::clipped_rules_test
