// Compares clipped gradients with Opacus's, in float64 and float32 (tests/golden/make_opacus.py has
// the same models, parameters and data).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/golden/golden.h"
#include "tests/numpy/run.h"
#include "tests/privacy/materialised.h"

namespace tessera::privacy::clipped_opacus_test {
namespace {

using Arrays = std::vector<Array>;

Array numbers(int seed, const Shape& shape, double scale = 1) {
  std::vector<double> out(size_t(shape.elements()));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = scale * std::sin(0.37 * double(i * i) + 1.1 * seed + 0.5);
  return reshape(array(out), shape);
}
Array tokens(int seed, const Shape& shape, int64_t below) {
  const Array i = arange(shape.elements());
  return reshape(astype((7 * i * i + 3 * i + seed) % below, int32), shape);
}

Array cross_entropy(const Array& logits, const Array& labels) {
  return -mean(take_along_axis(log_softmax(logits), expand_dims(labels, {-1}), -1));
}
// A Linear layer of torch: its weights are [out, in].
Array linear(const Array& x, const Array& w, const Array& b) { return matmul(x, transpose(w)) + b; }

Array mlp(const Arrays& p, const Arrays& batch) {
  return cross_entropy(linear(tanh(linear(batch[0], p[0], p[1])), p[2], p[3]), batch[1]);
}
Array sequence(const Arrays& p, const Arrays& batch) {
  return cross_entropy(matmul(tanh(linear(batch[0], p[0], p[1])), transpose(p[2])), batch[1]);
}

Array convolutions(const Arrays& p, const Arrays& batch) {
  const auto convolved = [](const Array& x, const Array& w, const Array& b, const Dims& strides,
                            const std::vector<std::pair<int64_t, int64_t>>& padding,
                            int64_t groups) {
    return lax::conv_general_dilated(x, w, strides, padding,
                                     {.lhs_layout = "NCHW",
                                      .rhs_layout = "OIHW",
                                      .out_layout = "NCHW",
                                      .feature_group_count = groups}) +
           reshape(b, {-1, 1, 1});
  };
  Array h = relu(convolved(batch[0], p[0], p[1], {1, 1}, {{1, 1}, {1, 1}}, 1));
  h = tanh(convolved(h, p[2], p[3], {2, 2}, {{0, 0}, {0, 0}}, 2));
  return cross_entropy(linear(reshape(h, {h.shape(0), -1}), p[4], p[5]), batch[1]);
}

Array embedding(const Arrays& p, const Arrays& batch) {
  const Array h = mean(tanh(take(p[0], batch[0], {.axis = 0})), {.axis = 1});
  return cross_entropy(linear(h, p[1], p[2]), batch[1]);
}
Array tied(const Arrays& p, const Arrays& batch) {
  const int64_t length = batch[0].shape(1) - 1;
  const Array read = slice_in_dim(batch[0], 0, length, 1),
              said = slice_in_dim(batch[0], 1, length + 1, 1);
  return cross_entropy(matmul(tanh(take(p[0], read, {.axis = 0})), transpose(p[0])), said);
}

Array standardised(const Array& x, const Dims& dims) {
  const Axes axes(dims);
  const Array centred = x - mean(x, {.axis = axes, .keepdims = true});
  return centred / sqrt(mean(square(centred), {.axis = axes, .keepdims = true}) + 1e-5);
}
Array layer_norm(const Arrays& p, const Arrays& batch) {
  const Array h = standardised(linear(batch[0], p[0], p[1]), {-1}) * p[2] + p[3];
  return mean(square(linear(tanh(h), p[4], p[5])));
}
Array group_norm(const Arrays& p, const Arrays& batch) {
  const Array h =
      lax::conv_general_dilated(batch[0], p[0], {1}, "VALID",
                                {.lhs_layout = "NCH", .rhs_layout = "OIH", .out_layout = "NCH"}) +
      reshape(p[1], {-1, 1});
  const Array groups = standardised(reshape(h, {h.shape(0), 2, -1}), {-1});
  return mean(
      square(sin(reshape(groups, h.shape()) * reshape(p[2], {-1, 1}) + reshape(p[3], {-1, 1}))));
}
Array rms_norm(const Arrays& p, const Arrays& batch) {
  const Array h = linear(batch[0], p[0], p[1]);
  const Array size = sqrt(mean(square(h), {.axis = -1, .keepdims = true}) + 1e-5);
  return mean(square(sin(h / size * p[2])));
}

Array attention(const Arrays& p, const Arrays& batch) {
  const Array& x = batch[0];
  const auto heads = [](const Array& h) {
    return swapaxes(reshape(h, {h.shape(0), h.shape(1), 2, 4}), 1, 2);
  };
  const Array q = heads(linear(x, p[0], p[1])), k = heads(linear(x, p[2], p[3])),
              v = heads(linear(x, p[4], p[5]));
  const Array mixed = matmul(softmax(matmul(q, swapaxes(k, -1, -2)) / 2.0, -1), v);
  return mean(square(x + linear(reshape(swapaxes(mixed, 1, 2), x.shape()), p[6], p[7])));
}

Array recurrence(const Arrays& p, const Arrays& batch) {
  const auto step = [&](const Array& h, const Array& x) {
    const Array next = tanh(linear(x, p[0], p[1]) + linear(h, p[2], p[3]));
    return std::pair(next, next);
  };
  const Array start = zeros({batch[0].shape(0), 5}, batch[0].dtype());
  return mean(square(scan(step, start, swapaxes(batch[0], 0, 1)).second));
}

struct Case {
  std::function<Array(const Arrays&, const Arrays&)> loss;
  std::function<Arrays()> batch;
};
const std::map<std::string, Case> kCases{
    {"mlp",
     {mlp,
      [] {
        return Arrays{numbers(1, {6, 5}), tokens(2, {6}, 3)};
      }}},
    {"sequence",
     {sequence,
      [] {
        return Arrays{numbers(3, {4, 7, 5}), tokens(4, {4, 7}, 3)};
      }}},
    {"convolutions",
     {convolutions,
      [] {
        return Arrays{numbers(5, {4, 2, 8, 6}), tokens(6, {4}, 3)};
      }}},
    {"embedding",
     {embedding,
      [] {
        return Arrays{tokens(7, {5, 9}, 11), tokens(8, {5}, 3)};
      }}},
    {"tied",
     {tied,
      [] {
        return Arrays{tokens(9, {5, 10}, 11)};
      }}},
    {"layer_norm",
     {layer_norm,
      [] {
        return Arrays{numbers(10, {4, 6, 5})};
      }}},
    {"group_norm",
     {group_norm,
      [] {
        return Arrays{numbers(11, {4, 3, 9})};
      }}},
    {"rms_norm",
     {rms_norm,
      [] {
        return Arrays{numbers(12, {4, 6, 5})};
      }}},
    {"attention",
     {attention,
      [] {
        return Arrays{numbers(13, {4, 6, 8})};
      }}},
    {"recurrence",
     {recurrence,
      [] {
        return Arrays{numbers(14, {4, 9, 3})};
      }}},
};

void expect_equals_opacus(DType dtype, double tolerance) {
  const tessera::test::X64 x64(true);
  const golden::Topic topic("opacus");
  const auto as = [&](const Array& x) { return is_floating(x.dtype()) ? astype(x, dtype) : x; };
  for (const golden::Json& c : topic["cases"]) {
    const std::string name = c["name"];
    const Case& of = kCases.at(name);
    Arrays params, batch, sums;
    for (size_t i = 0; i < c["shapes"].size(); ++i) {
      const Shape shape = golden::dims(c["shapes"][i]);
      params.push_back(as(numbers(100 + int(i), shape, c["scale"])));
      sums.push_back(as(reshape(array(c["sums"][i].get<std::vector<double>>()), shape)));
    }
    for (const Array& x : of.batch()) batch.push_back(as(x));
    const Array norms = as(array(c["norms"].get<std::vector<double>>()));
    for (std::optional<NormWay> method :
         {std::optional<NormWay>(), std::optional(NormWay::kFactors),
          std::optional(NormWay::kTiles), std::optional(NormWay::kKeep)}) {
      const auto out = clipped_value_and_grad(
          of.loss, {.l2_clip_norm = c["clip"].get<double>(), .norm_way = method})(params, batch);
      const std::string label = name + (method ? " way " + std::to_string(int(*method)) : "");
      EXPECT_LT(helpers::difference(out.grads, sums), tolerance) << label;
      EXPECT_LT(helpers::difference(out.grad_norms, norms), tolerance) << label;
    }
  }
}

TEST(ClippedOpacus, Float64) { expect_equals_opacus(float64, 1e-9); }
TEST(ClippedOpacus, Float32) { expect_equals_opacus(float32, 1e-5); }

}  // namespace
}  // namespace tessera::privacy::clipped_opacus_test
