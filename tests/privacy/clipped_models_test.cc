// Compares clipped gradients of models of many kinds, by every method of computing norms, with the
// gradients of each example, materialised, clipped and summed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/privacy/clipping/clipped_grad.h"
#include "tests/numpy/run.h"
#include "tests/privacy/materialised.h"

namespace tessera::privacy::clipped_models_test {
namespace {

using helpers::expect_clipped_like_materialised;

Array noise(uint64_t seed, const Shape& shape, float scale = 1) {
  return scale * random::normal(random::key(seed), shape);
}

Array cross_entropy(const Array& logits, const Array& labels) {
  return -mean(take_along_axis(log_softmax(logits), expand_dims(labels, {-1}), -1));
}

struct Dense {
  Array w, b;
};

TEST(ClippedModels, Mlp) {
  const auto loss = [](const std::vector<Dense>& p, const Array& x, const Array& y) {
    const Array h = tanh(matmul(x, p[0].w) + p[0].b);
    return cross_entropy(matmul(h, p[1].w) + p[1].b, y);
  };
  const std::vector<Dense> p{{noise(0, {5, 16}), noise(1, {16})},
                             {noise(2, {16, 3}), noise(3, {3})}};
  expect_clipped_like_materialised(loss, p, 6, noise(4, {6, 5}), arange(6) % 3);
}

// S[b][t][i] = cos(.7 (15b + 5t + i)), W[i][j] = .4 sin(.9 (5i+j) + .2).
TEST(ClippedModels, TiedWeightsHaveCrossTerms) {
  const tessera::test::X64 x64(true);
  const auto loss = [](const Array& w, const Array& s) {
    return 0.5 * sum(square(matmul(tanh(matmul(s, w)), transpose(w)) - s));
  };
  const Array b = reshape(15 * arange(4.0), {4, 1, 1}), t = reshape(5 * arange(3.0), {1, 3, 1});
  const Array s = cos(0.7 * (b + t + arange(5.0)));
  const Array w = 0.4 * sin(0.9 * (5 * expand_dims(arange(5.0), {1}) + arange(5.0)) + 0.2);
  const std::vector<double> expected{1.247997766904, .994614747165, 1.106646531638, 1.237399173761};
  for (NormWay method : {NormWay::kFactors, NormWay::kTiles, NormWay::kKeep}) {
    const auto out = clipped_value_and_grad(loss, {.l2_clip_norm = 1.0, .norm_way = method})(w, s);
    const std::vector<double> norms = to_vector<double>(out.grad_norms);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(norms[i], expected[i], 1e-9);
  }
  expect_clipped_like_materialised(loss, astype(w, float32), 4, astype(s, float32));
}

struct Tied {
  Array embedding, hidden;
};

TEST(ClippedModels, EmbeddingThatIsAlsoTheOutput) {
  const auto loss = [](const Tied& p, const Array& tokens) {
    const int64_t length = tokens.shape(1) - 1;
    const Array x = take(p.embedding, slice_in_dim(tokens, 0, length, 1), {.axis = 0});
    const Array h = tanh(matmul(x, p.hidden));
    return cross_entropy(matmul(h, transpose(p.embedding)), slice_in_dim(tokens, 1, length + 1, 1));
  };
  const Tied p{noise(0, {11, 6}), noise(1, {6, 6})};
  expect_clipped_like_materialised(loss, p, 5,
                                   random::randint(random::key(2), {5, 9}, Array(0), Array(11)));
}

struct Attention {
  Array qkv, out, gain, bias;
};

Array layer_norm(const Array& x, const Array& gain, const Array& bias) {
  const Array centred = x - mean(x, {.axis = -1, .keepdims = true});
  const Array variance = mean(square(centred), {.axis = -1, .keepdims = true});
  return centred / sqrt(variance + 1e-5f) * gain + bias;
}

TEST(ClippedModels, AttentionWithLayerNorm) {
  const auto loss = [](const Attention& p, const Array& x, const Array& y) {
    const std::vector<Array> qkv = split(matmul(layer_norm(x, p.gain, p.bias), p.qkv), 3, -1);
    const Array s = softmax(matmul(qkv[0], swapaxes(qkv[1], -1, -2)), -1);
    return mean(square(x + matmul(matmul(s, qkv[2]), p.out) - y));
  };
  const Attention p{noise(0, {8, 24}, .4f), noise(1, {8, 8}), 1 + noise(2, {8}, .1f),
                    noise(3, {8})};
  expect_clipped_like_materialised(loss, p, 4, noise(4, {4, 12, 8}), noise(5, {4, 12, 8}));
}

struct ConvNet {
  Array w1, b1, w2, w3;
};

TEST(ClippedModels, Convolutions) {
  const auto convolved = [](const Array& x, const Array& w, const Dims& strides) {
    return lax::conv_general_dilated(
        x, w, strides, "SAME", {.lhs_layout = "NHWC", .rhs_layout = "HWIO", .out_layout = "NHWC"});
  };
  const auto loss = [&](const ConvNet& p, const Array& x, const Array& y) {
    Array h = relu(convolved(x, p.w1, {1, 1}) + p.b1);
    h = tanh(convolved(h, p.w2, {2, 2}));
    return cross_entropy(matmul(reshape(h, {h.shape(0), -1}), p.w3), y);
  };
  const ConvNet p{noise(0, {3, 3, 2, 4}, .3f), noise(1, {4}), noise(2, {3, 2, 4, 6}, .2f),
                  noise(3, {4 * 3 * 6, 3}, .2f)};
  expect_clipped_like_materialised(loss, p, 4, noise(4, {4, 8, 6, 2}), arange(4) % 3);
}

TEST(ClippedModels, ScanOverLayers) {
  const auto loss = [](const Dense& layers, const Array& x, const Array& y) {
    const auto layer = [](const Array& h, const Dense& l) {
      return std::pair(tanh(matmul(h, l.w) + l.b), 0);
    };
    return mean(square(scan(layer, x, layers).first - y));
  };
  const Dense p{noise(0, {3, 6, 6}, .5f), noise(1, {3, 6})};
  expect_clipped_like_materialised(loss, p, 4, noise(2, {4, 7, 6}), noise(3, {4, 7, 6}));
}

struct Cell {
  Array in, hidden, start;
};

TEST(ClippedModels, ScanOverTime) {
  const auto loss = [](const Cell& p, const Array& x, const Array& y) {
    const auto step = [&](const Array& h, const Array& x) {
      const Array next = tanh(matmul(x, p.in) + matmul(h, p.hidden));
      return std::pair(next, next);
    };
    const Array steps = swapaxes(x, 0, 1);  // [time, 1, features]
    return mean(
        square(scan(step, p.start * ones({x.shape(0), 1}), steps).second - swapaxes(y, 0, 1)));
  };
  const Cell p{noise(0, {3, 5}), noise(1, {5, 5}, .5f), noise(2, {5})};
  expect_clipped_like_materialised(loss, p, 4, noise(3, {4, 9, 3}), noise(4, {4, 9, 5}));
}

TEST(ClippedModels, Checkpoint) {
  const auto loss = [](const std::vector<Array>& p, const Array& x) {
    const auto block =
        checkpoint([](const Array& w, const Array& h) { return tanh(matmul(h, w)); });
    return mean(square(block(p[1], block(p[0], x))));
  };
  expect_clipped_like_materialised(loss, std::vector{noise(0, {5, 5}), noise(1, {5, 5})}, 4,
                                   noise(2, {4, 6, 5}));
}

TEST(ClippedModels, CustomVjp) {
  const auto product = custom_vjp(
      [](const Array& w, const Array& x) { return matmul(x, w); },
      [](const Array& w, const Array& x) { return std::pair(matmul(x, w), std::pair(w, x)); },
      [](const std::pair<Array, Array>& saved, const Array& ct) {
        return std::tuple(2 * sum(matmul(swapaxes(saved.second, -1, -2), ct), {.axis = 0}),
                          matmul(ct, transpose(saved.first)));
      });
  const auto loss = [=](const std::vector<Array>& p, const Array& x) {
    return mean(square(product(p[1], tanh(product(p[0], x)))));
  };
  expect_clipped_like_materialised(loss, std::vector{noise(0, {5, 5}), noise(1, {5, 5})}, 4,
                                   noise(2, {4, 6, 5}));
}

struct LowRank {
  Array a, b;
};

TEST(ClippedModels, LowRankUpdateOfFrozenWeights) {
  const Array frozen = noise(9, {6, 6});
  const auto beside = [=](const LowRank& p, const Array& x) {
    return mean(square(matmul(x, frozen) + matmul(matmul(x, p.a), p.b)));
  };
  const auto merged = [=](const LowRank& p, const Array& x) {
    return mean(square(matmul(x, frozen + matmul(p.a, p.b))));
  };
  const LowRank p{noise(0, {6, 2}), noise(1, {2, 6})};
  expect_clipped_like_materialised(beside, p, 4, noise(2, {4, 5, 6}));
  expect_clipped_like_materialised(merged, p, 4, noise(2, {4, 5, 6}));
}

TEST(ClippedModels, PartsOfOneParameter) {
  const auto loss = [](const Array& w, const Array& x) {
    const Array first = reshape(slice(w, {0, 0, 0}, {1, 5, 5}), {5, 5}),
                second = reshape(slice(w, {1, 0, 0}, {2, 5, 5}), {5, 5});
    return mean(square(matmul(tanh(matmul(x, first)), second)));
  };
  const auto overlapping = [](const Array& w, const Array& x) {
    const Array first = slice(w, {0, 0}, {5, 4}), second = slice(w, {0, 1}, {5, 5});
    return mean(square(matmul(x, first)) + square(matmul(x, second)));
  };
  expect_clipped_like_materialised(loss, noise(0, {2, 5, 5}), 4, noise(1, {4, 6, 5}));
  expect_clipped_like_materialised(overlapping, noise(0, {5, 5}), 4, noise(1, {4, 6, 5}));
}

TEST(ClippedModels, NonlinearFunctionsOfAParameter) {
  const auto loss = [](const Array& w, const Array& x) {
    const Array unit = w / sqrt(sum(square(w), {.axis = 0, .keepdims = true}));
    return mean(square(matmul(x, exp(unit)))) + 0.01f * sum(square(w));
  };
  expect_clipped_like_materialised(loss, noise(0, {5, 3}), 4, noise(1, {4, 6, 5}));
}

TEST(ClippedModels, Branches) {
  const auto loss = [](const Array& w, const Array& x) {
    return cond(
        sum(x) > 0.0f, [](const Array& w, const Array& x) { return mean(square(matmul(x, w))); },
        [](const Array& w, const Array& x) { return mean(sin(matmul(x, w))); }, w, x);
  };
  expect_clipped_like_materialised(loss, noise(0, {5, 3}), 4, noise(1, {4, 6, 5}));
}

TEST(ClippedModels, UsersAsGroups) {
  const auto loss = [](const Array& w, const Array& x) { return mean(square(matmul(x, w))); };
  const Array w = noise(0, {5, 3}), x = noise(1, {4, 7, 5});
  const auto by_user = clipped_grad(loss, {.l2_clip_norm = .5, .keep_batch_dim = false});
  const Array sum = by_user(w, x);
  Array expected = zeros({5, 3});
  for (int64_t u = 0; u < 4; ++u)
    expected = expected +
               clip_pytree(grad(loss)(w, reshape(slice_in_dim(x, u, u + 1, 0), {7, 5})), .5).first;
  EXPECT_LT(max(abs(sum - expected)).item<float>(), 1e-6f);
}

}  // namespace
}  // namespace tessera::privacy::clipped_models_test
