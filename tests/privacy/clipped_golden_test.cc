// Clipped gradients of models of many kinds, by every method in turn, against jax_privacy's
// (tests/golden/make_clipping.py has the same models).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/golden/golden.h"
#include "tests/privacy/materialised.h"

namespace tessera::privacy::clipped_golden_test {
namespace {

using Arrays = std::vector<Array>;
using Model = std::function<Array(const Arrays& params, const Arrays& batch)>;

Array cross_entropy(const Array& logits, const Array& labels) {
  return -mean(take_along_axis(log_softmax(logits), expand_dims(labels, {-1}), -1));
}

Array mlp(const Arrays& p, const Arrays& batch) {
  return cross_entropy(matmul(tanh(matmul(batch[0], p[0]) + p[1]), p[2]) + p[3], batch[1]);
}

Array tied_embedding(const Arrays& p, const Arrays& batch) {
  const int64_t length = batch[0].shape(1) - 1;
  const Array read = slice_in_dim(batch[0], 0, length, 1),
              said = slice_in_dim(batch[0], 1, length + 1, 1);
  const Array h = tanh(matmul(take(p[0], read, {.axis = 0}), p[1]));
  return cross_entropy(matmul(h, transpose(p[0])), said);
}

Array layer_norm(const Array& x, const Array& gain, const Array& bias) {
  const Array centred = x - mean(x, {.axis = -1, .keepdims = true});
  const Array variance = mean(square(centred), {.axis = -1, .keepdims = true});
  return centred / sqrt(variance + 1e-5f) * gain + bias;
}

Array attention(const Arrays& p, const Arrays& batch) {
  const Array& x = batch[0];
  const Arrays qkv = split(matmul(layer_norm(x, p[2], p[3]), p[0]), 3, -1);
  const Array s = softmax(matmul(qkv[0], swapaxes(qkv[1], -1, -2)), -1);
  return mean(square(x + matmul(matmul(s, qkv[2]), p[1]) - batch[1]));
}

Array convolutions(const Arrays& p, const Arrays& batch) {
  const auto convolved = [](const Array& x, const Array& w, const Dims& strides) {
    return lax::conv_general_dilated(
        x, w, strides, "SAME", {.lhs_layout = "NHWC", .rhs_layout = "HWIO", .out_layout = "NHWC"});
  };
  Array h = relu(convolved(batch[0], p[0], {1, 1}) + p[1]);
  h = tanh(convolved(h, p[2], {2, 2}));
  return cross_entropy(matmul(reshape(h, {h.shape(0), -1}), p[3]), batch[1]);
}

Array grouped_convolution(const Arrays& p, const Arrays& batch) {
  const Array h = lax::conv_general_dilated(
      batch[0], p[0], {1}, "SAME",
      {.lhs_layout = "NHC", .rhs_layout = "HIO", .out_layout = "NHC", .feature_group_count = 4});
  return mean(square(tanh(h) - batch[1]));
}

Array layers(const Arrays& p, const Arrays& batch) {
  const auto layer = [](const Array& h, const std::pair<Array, Array>& l) {
    return std::pair(tanh(matmul(h, l.first) + l.second), 0);
  };
  return mean(square(scan(layer, batch[0], std::pair(p[0], p[1])).first - batch[1]));
}

Array recurrence(const Arrays& p, const Arrays& batch) {
  const auto step = [&](const Array& h, const Array& x) {
    const Array next = tanh(matmul(x, p[0]) + matmul(h, p[1]));
    return std::pair(next, next);
  };
  const Array start = p[2] * ones({batch[0].shape(0), 1});
  return mean(
      square(scan(step, start, swapaxes(batch[0], 0, 1)).second - swapaxes(batch[1], 0, 1)));
}

Array remat(const Arrays& p, const Arrays& batch) {
  const auto block = checkpoint([](const Array& w, const Array& h) { return tanh(matmul(h, w)); });
  return mean(square(block(p[1], block(p[0], batch[0]))));
}

// The rule of this function is not its derivative.
Array custom_rule(const Arrays& p, const Arrays& batch) {
  const auto doubled = tessera::custom_vjp(
      [](const Array& w, const Array& x) { return matmul(x, w); },
      [](const Array& w, const Array& x) { return std::pair(matmul(x, w), std::pair(w, x)); },
      [](const std::pair<Array, Array>& saved, const Array& ct) {
        return std::tuple(2 * sum(matmul(swapaxes(saved.second, -1, -2), ct), {.axis = 0}),
                          matmul(ct, transpose(saved.first)));
      });
  return mean(square(doubled(p[1], tanh(doubled(p[0], batch[0])))));
}

Array low_rank(const Arrays& p, const Arrays& batch) {
  const Array frozen = reshape(sin(arange(36.0f)), {6, 6});
  return mean(square(matmul(batch[0], frozen) + matmul(matmul(batch[0], p[0]), p[1])));
}

Array weight_norm(const Arrays& p, const Arrays& batch) {
  const Array unit = p[0] / sqrt(sum(square(p[0]), {.axis = 0, .keepdims = true}));
  return mean(square(matmul(batch[0], exp(unit)))) + 0.01f * sum(square(p[0]));
}

Array branches(const Arrays& p, const Arrays& batch) {
  return cond(
      sum(batch[0]) > 0.0f,
      [](const Array& w, const Array& x) { return mean(square(matmul(x, w))); },
      [](const Array& w, const Array& x) { return mean(sin(matmul(x, w))); }, p[0], batch[0]);
}

Array users(const Arrays& p, const Arrays& batch) {
  return mean(square(tanh(matmul(batch[0], p[0]))));
}

const std::map<std::string, Model> kModels{
    {"mlp", mlp},
    {"tied_embedding", tied_embedding},
    {"attention", attention},
    {"convolutions", convolutions},
    {"grouped_convolution", grouped_convolution},
    {"layers", layers},
    {"recurrence", recurrence},
    {"remat", remat},
    {"custom_vjp", custom_rule},
    {"low_rank", low_rank},
    {"weight_norm", weight_norm},
    {"branches", branches},
    {"users", users},
};

Arrays arrays(const golden::Topic& topic, const golden::Json& references) {
  Arrays out;
  for (const Literal& x : topic.arrays(references)) out.emplace_back(x);
  return out;
}

TEST(ClippedGolden, EqualsJaxPrivacy) {
  const golden::Topic topic("clipping");
  for (const golden::Json& c : topic["cases"]) {
    const std::string name = c["name"];
    const Arrays params = arrays(topic, c["params"]), batch = arrays(topic, c["batch"]),
                 sums = arrays(topic, c["sums"]);
    for (std::optional<NormWay> method :
         {std::optional<NormWay>(), std::optional(NormWay::kFactors),
          std::optional(NormWay::kTiles), std::optional(NormWay::kKeep)}) {
      const auto out =
          clipped_value_and_grad(kModels.at(name), {.l2_clip_norm = c["clip"].get<double>(),
                                                    .keep_batch_dim = name != "users",
                                                    .norm_way = method})(params, batch);
      const std::string label = name + (method ? " way " + std::to_string(int(*method)) : "");
      EXPECT_LT(helpers::difference(out.grads, sums), 1e-5) << label;
      EXPECT_LT(helpers::difference(out.grad_norms, Array(topic.array(c["norms"]))), 1e-5) << label;
    }
  }
}

}  // namespace
}  // namespace tessera::privacy::clipped_golden_test
