// Functions that mix examples are refused, and those that only seem to mix them are not.
#include "tessera/privacy/clipping/one_example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/tessera.h"
#include "tests/errors.h"

namespace tessera::privacy::one_example_test {
namespace {

using tessera::test::expect_error;
using ::testing::HasSubstr;

constexpr int64_t kBatch = 6, kFeatures = 4, kTokens = 5, kClasses = 3;

Array noise(uint64_t seed, const Shape& shape) { return random::normal(random::key(seed), shape); }

const ClipOptions kBatched{.batch_argnums = {1}};

// For losses of w [features, classes] and x [batch, features].
Array weights() { return noise(0, {kFeatures, kClasses}); }
Array rows() { return noise(1, {kBatch, kFeatures}); }
template <class Loss>
auto clipped(const Loss& loss, const ClipOptions& options = kBatched) {
  return clipped_grad(loss, options)(weights(), rows());
}
template <class Loss>
void expect_mixes(const Loss& loss, const std::string& what) {
  const std::string text =
      "[clipped_grad] expected a function of one example, got one that mixes the examples of a "
      "batch: " +
      what;
  expect_error([&] { clipped(loss); }, text.c_str());
}

// For losses of w, tokens [batch, tokens, features] and labels [batch, tokens].
Array tokens() { return noise(2, {kBatch, kTokens, kFeatures}); }
Array labels() {
  return astype(reshape(arange(kBatch * kTokens), {kBatch, kTokens}), int32) % kClasses;
}
template <class Loss>
auto clipped_tokens(const Loss& loss, ClipOptions options = {.batch_argnums = {1, 2}}) {
  return clipped_grad(loss, options)(weights(), tokens(), labels());
}

// ---- Losses that mix.

TEST(OneExample, StatisticsOverTheBatchAreRefused) {
  expect_mixes(
      [](const Array& w, const Array& x) {
        return mean(square(matmul(x - mean(x, {.axis = 0, .keepdims = true}), w)));
      },
      "multiply combines each example with a value that reads all of them");
  expect_mixes(
      [](const Array& w, const Array& x) {
        const Array h = matmul(x, w);
        return mean(square(h / max(abs(h))));
      },
      "divide combines each example with a value that reads all of them");
  expect_mixes(
      [](const Array& w, const Array& x) {
        const Array h = matmul(x, w);
        return mean(where(all(isfinite(h)), h, zeros_like(h)));
      },
      "select combines each example with a value that reads all of them");
}

TEST(OneExample, SoftmaxOverTheBatchIsRefused) {
  expect_mixes(
      [](const Array& w, const Array& x) { return mean(square(softmax(matmul(x, w), 0))); }, "");
  expect_mixes(
      [](const Array& w, const Array& x) { return mean(logsumexp(matmul(x, w), {.axis = 0})); },
      "");
}

TEST(OneExample, ContrastiveLossesAreRefused) {
  expect_mixes(
      [](const Array& w, const Array& x) {
        const Array z = matmul(x, w);
        return mean(square(matmul(z, transpose(z))));
      },
      "dot_general pairs each example with every other one");
  expect_mixes(
      [](const Array& w, const Array& x) {
        const Array z = matmul(x, w);
        return mean(square(expand_dims(z, {0}) - expand_dims(z, {1})));
      },
      "subtract pairs each example with every other one");
  // Redundancy reduction: a covariance over the batch.
  expect_mixes(
      [](const Array& w, const Array& x) {
        const Array z = matmul(x, w);
        return sum(square(matmul(transpose(z), z)));
      },
      "");
}

TEST(OneExample, WhatRunsAlongTheBatchIsRefused) {
  const auto with = [](const auto& f) {
    return [f](const Array& w, const Array& x) { return mean(square(f(matmul(x, w)))); };
  };
  expect_mixes(with([](const Array& h) { return sort(h, {.axis = 0}); }),
               "sort runs along the dimension of examples");
  expect_mixes(with([](const Array& h) { return cumsum(h, {.axis = 0}); }), "");
  expect_mixes(with([](const Array& h) { return flip(h, 0); }),
               "reverse runs along the dimension of examples");
  expect_mixes(with([](const Array& h) { return roll(h, 1, 0); }),
               "slice takes some of the examples");
  expect_mixes(with([](const Array& h) { return real(fft::fft(h, {.axis = 0})); }), "");
  expect_mixes(with([](const Array& h) {
                 return take(h, (arange(h.shape(0)) + 1) % h.shape(0), {.axis = 0});
               }),
               "gather takes examples by indices that are not their own");
  expect_mixes(with([](const Array& h) {
                 return take(h, random::permutation(random::key(0), h.shape(0)), {.axis = 0});
               }),
               "gather takes examples by indices that are not their own");
  expect_mixes(with([](const Array& h) {
                 return take(h, random::randint(random::key(0), {h.shape(0)}, 0, h.shape(0)),
                             {.axis = 0});
               }),
               "gather takes examples by indices that are not their own");
  expect_mixes(with([](const Array& h) {
                 return reshape(h, {kClasses, -1});
               }),
               "reshape spreads examples over dimensions of others");
}

TEST(OneExample, OtherFunctionsOfTheSumOverExamplesAreRefused) {
  const auto errors = [](const Array& w, const Array& x) {
    return sum(square(matmul(x, w)), {.axis = 1});
  };
  expect_mixes([=](const Array& w, const Array& x) { return sqrt(mean(errors(w, x))); },
               "sqrt is not linear and follows a sum over the dimension of examples");
  expect_mixes([=](const Array& w, const Array& x) { return max(errors(w, x)); },
               "reduce (max) over the dimension of examples is no sum");
  // These weights cancel if there is one example, but not if there are several.
  expect_mixes(
      [=](const Array& w, const Array& x) {
        const Array weights = abs(index_in_dim(x, 0, 1, false));
        return sum(weights * errors(w, x)) / sum(weights);
      },
      "divide is not linear and follows a sum over the dimension of examples");
}

TEST(OneExample, RecurrencesOverTheBatchAreRefused) {
  expect_mixes(
      [](const Array& w, const Array& x) {
        const auto [last, all] = scan(
            [&](const Array& carry, const Array& row) {
              const Array next = tanh(carry + matmul(row, w));
              return std::pair(next, next);
            },
            zeros({kClasses}), x);
        return mean(square(all)) + sum(last);
      },
      "");
}

TEST(OneExample, TransformsOfGradientsDoNotHideTheLoss) {
  const auto mixing = [](const Array& w, const Array& x) {
    return mean(square(matmul(x - mean(x, {.axis = 0, .keepdims = true}), w)));
  };
  const auto half = [](const Array& g) { return .5f * g; };
  expect_error([&] { clipped_value_and_grad(mixing, kBatched, half)(weights(), rows()); },
               "mixes the examples of a batch: multiply");
}

TEST(OneExample, ClippedFunctionsToo) {
  const auto sorted = [](const Array& x) { return sum(sort(x, {.axis = 0}), {.axis = 0}); };
  expect_error(
      [&] { clipped_fun(sorted, ClipOptions{.batch_argnums = {0}})(rows()); },
      "[clipped_fun] expected a function of one example, got one that mixes the examples of "
      "a batch: sort");
}

TEST(OneExample, AnExampleWithoutTheBatchDimensionHasNothingToMix) {
  const ClipOptions options{.batch_argnums = {1}, .keep_batch_dim = false};
  const auto loss = [](const Array& w, const Array& x) {
    return mean(square(sort(matmul(x - mean(x, {.axis = 0, .keepdims = true}), w))));
  };
  clipped_grad(loss, options)(weights(), tokens());
}

// ---- Losses that do not mix.

TEST(OneExample, MeansOverTokensAreTaken) {
  const auto losses = [](const Array& w, const Array& x, const Array& y) {
    const Array logits = log_softmax(matmul(x, w));
    return -squeeze(take_along_axis(logits, expand_dims(y, {-1}), -1), {-1});
  };
  clipped_tokens(
      [=](const Array& w, const Array& x, const Array& y) { return mean(losses(w, x, y)); });
  // Padded tokens are left out, so the loss is a ratio of sums over examples and tokens.
  clipped_tokens([=](const Array& w, const Array& x, const Array& y) {
    const Array mask = astype(y != 0, float32);
    return sum(mask * losses(w, x, y)) / maximum(sum(mask), 1.f);
  });
  clipped_tokens([=](const Array& w, const Array& x, const Array& y) {
    const Array mask = astype(y != 0, float32);
    return mean(sum(mask * losses(w, x, y), {.axis = 1}) / maximum(sum(mask, {.axis = 1}), 1.f));
  });
  // Reshapes join the tokens of all examples in one dimension, and split it again.
  clipped_tokens([=](const Array& w, const Array& x, const Array& y) {
    const Array logits = log_softmax(matmul(reshape(x, {-1, kFeatures}), w));
    const Array picked = take_along_axis(logits, reshape(y, {-1, 1}), -1);
    return -mean(sum(reshape(picked, {x.shape(0), x.shape(1)}), {.axis = 1}));
  });
}

TEST(OneExample, ReductionsAndOrdersWithinAnExampleAreTaken) {
  const auto on = [](const auto& f) {
    clipped([f](const Array& w, const Array& x) { return mean(square(f(matmul(x, w)))); });
  };
  on([](const Array& h) { return h - mean(h, {.axis = 1, .keepdims = true}); });
  on([](const Array& h) { return h / sqrt(sum(square(h), {.axis = -1, .keepdims = true})); });
  on([](const Array& h) { return sort(h, {.axis = 1}); });
  on([](const Array& h) { return cumsum(h, {.axis = 1}); });
  on([](const Array& h) { return flip(h, 1); });
  on([](const Array& h) { return roll(h, 1, 1); });
  on([](const Array& h) { return softmax(h, -1); });
  on([](const Array& h) { return concatenate({h, zeros_like(h)}, 1); });
  on([](const Array& h) { return concatenate({h, 2.f * h}, 0); });  // two views of an example
  on([](const Array& h) { return transpose(h); });
  clipped([](const Array& w, const Array& x) { return sqrt(sum(square(matmul(x, w)))); });
  clipped([](const Array& w, const Array& x) {
    return mean(matmul(transpose(square(matmul(x, w))), ones({x.shape(0), 1})));
  });
}

TEST(OneExample, OneExampleMayBeTakenOutOfItsBatch) {
  clipped([](const Array& w, const Array& x) {
    const Array h = matmul(index_in_dim(x, 0, 0, false), w);
    return mean(square(h - mean(h)));
  });
  clipped([](const Array& w, const Array& x) {
    return mean(square(cumsum(squeeze(matmul(x, w), {0}), {.axis = 0})));
  });
  // A loop over the examples, one after the other.
  clipped([](const Array& w, const Array& x) {
    Array total(0.f);
    for (int64_t b = 0; b < x.shape(0); ++b)
      total = total + sum(tanh(matmul(index_in_dim(x, b, 0, false), w)));
    return total;
  });
  clipped([](const Array& w, const Array& x) {
    return scan([&](const Array& total,
                    const Array& row) { return std::pair(total + sum(tanh(matmul(row, w))), row); },
                Array(0.f), x)
        .first;
  });
}

TEST(OneExample, VmapsScansAndBranchesInsideAreTaken) {
  clipped([](const Array& w, const Array& x) {
    return mean(vmap([&](const Array& row) {
      const Array h = matmul(row, w);
      return sum(square(sort(h - mean(h))));
    })(x));
  });
  clipped_tokens([](const Array& w, const Array& x, const Array&) {
    const auto [last, states] = scan(
        [&](const Array& carry, const Array& token) {
          const Array next = tanh(carry + matmul(token, w));
          return std::pair(next, next);
        },
        zeros({x.shape(0), kClasses}), moveaxis(x, 1, 0));
    return mean(square(states)) + mean(square(last));
  });
  clipped([](const Array& w, const Array& x) {
    const Array h = matmul(x, w);
    return mean(cond(
        sum(w) > 0, [](const Array& a) { return square(a); }, [](const Array& a) { return abs(a); },
        h));
  });
}

TEST(OneExample, LabelsPickTheirLogits) {
  const Array y = astype(arange(kBatch), int32) % kClasses;
  const ClipOptions options{.batch_argnums = {1, 2}};
  clipped_grad(
      [](const Array& w, const Array& x, const Array& y) {
        const Array logits = log_softmax(matmul(x, w));
        return -mean(at(logits)[{arange(x.shape(0)), y}].get());
      },
      options)(weights(), rows(), y);
  clipped_grad(
      [](const Array& w, const Array& x, const Array& y) {
        return -mean(sum(log_softmax(matmul(x, w)) * one_hot(y, kClasses), {.axis = 1}));
      },
      options)(weights(), rows(), y);
  // The loss of an embedding.
  clipped_grad([](const Array& w, const Array& y) { return mean(square(take(w, y, {.axis = 0}))); },
               kBatched)(weights(), y);
}

// Masks of elements, and masks of examples.
TEST(OneExample, RandomNumbersOfEachExampleAreTaken) {
  const ClipOptions options{.batch_argnums = {1}, .prng_argnum = 2};
  clipped_grad(
      [](const Array& w, const Array& x, const Array& words) {
        const random::Key key = random::wrap_key_data(words);
        const Array h = tanh(matmul(x, w));
        const Array kept = random::bernoulli(random::fold_in(key, 0), .5, h.shape());
        const Array depth = random::uniform(random::fold_in(key, 1), {h.shape(0), 1});
        return mean(square(where(kept, h, zeros_like(h)) * depth));
      },
      options)(weights(), rows(), random::key(3).data);
}

TEST(OneExample, LayersOfAnExampleAreTaken) {
  const nnx::GroupNorm group(kFeatures, nnx::Rngs(0), {.num_groups = 2});
  const nnx::LayerNorm layer(kFeatures, nnx::Rngs(0));
  clipped([&](const Array& w, const Array& x) { return mean(square(matmul(layer(group(x)), w))); });
  clipped_tokens([](const Array& w, const Array& x, const Array&) {
    const Array q = matmul(x, w);
    const Array scores = softmax(matmul(q, transpose(q, {0, 2, 1})));
    return mean(square(matmul(scores, q)));
  });
}

TEST(OneExample, RegularizersAndAuxiliaryResultsAreTaken) {
  clipped([](const Array& w, const Array& x) {
    return mean(square(matmul(x, w))) + .1f * sqrt(sum(square(w)));
  });
  // Results that are returned next to the loss are those of each example, whatever they are.
  clipped([](const Array& w, const Array& x) {
    const Array h = matmul(x, w);
    return std::pair(mean(square(h)), sort(h, {.axis = 0}));
  });
  // A loss with a penalty on the gradient by the inputs.
  clipped([](const Array& w, const Array& x) {
    const Array g = grad([&](const Array& x) { return sum(tanh(matmul(x, w))); })(x);
    return mean(square(sqrt(sum(square(g), {.axis = 1}) + 1e-6f) - 1.f));
  });
}

TEST(OneExample, GradientsInAClippedFunctionAreTaken) {
  const auto normalized = [](const Array& w, const Array& x, const Array& y) {
    const Array g = grad([&](const Array& w) {
      const Array mask = astype(y != 0, float32);
      return sum(mask * sum(square(matmul(x, w)), {.axis = -1})) / sum(mask);
    })(w);
    return g / sqrt(sum(square(g)));
  };
  clipped_fun(normalized, ClipOptions{.batch_argnums = {1, 2}, .shared_argnums = {0}})(
      weights(), tokens(), labels());
}

// A loss that is only right for one example is not taken for a loss of several.
TEST(OneExample, LossesOfOneExampleAlone) {
  clipped([](const Array& w, const Array& x) {
    const Array h = reshape(matmul(x, w), {kClasses});
    return mean(square(h - mean(h)));
  });
  clipped([](const Array& w, const Array& x) {
    if (x.shape(0) != 1) throw std::runtime_error("one example at a time");
    return mean(square(matmul(x, w)));
  });
}

// ---- Captures.

TEST(OneExample, CapturesAsLongAsTheBatchAreRefusedUnlessTold) {
  const Array table = ones({kBatch, kClasses});
  const auto loss = [&](const Array& w, const Array& x) {
    return mean(square(matmul(x, w) - mean(table, {.axis = 0})));
  };
  expect_error(
      [&] { clipped(loss); },
      "[clipped_grad] expected all arrays of the batch as arguments, got one of float32[6,3] "
      "captured by the function, as long as the batch of 6: every example sees all of it; "
      "pass it as an argument, and add that to batch_argnums if each example has its own part "
      "of it or to shared_argnums if every example sees all");
  clipped(loss, ClipOptions{.batch_argnums = {1}, .shared_captures = true});
  clipped_grad(loss, kBatched)(weights(), noise(1, {kBatch + 1, kFeatures}));
}

}  // namespace
}  // namespace tessera::privacy::one_example_test
