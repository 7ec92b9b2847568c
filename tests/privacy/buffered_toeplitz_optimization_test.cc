#include "tessera/privacy/matrix_factorization/buffered_toeplitz_optimization.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz::
    buffered_toeplitz_optimization_test {
namespace {

using tessera::test::expect_error;

LossFn loss_fn_of(const golden::Json& c) {
  if (c["error"] == "max" && c["max_participations"] == 1)
    return LossFn::build_closed_form_single_participation(c["n"]);
  return LossFn::build_min_sep({.n = c["n"],
                                .error = c["error"] == "max" ? Error::kMax : Error::kMean,
                                .participation = participation_of(c)});
}

TEST(BltOptimization, OptimaAgreeWithJaxPrivacy) {
  for (const golden::Json& c : golden_of("blt")["optima"])
    for (Parameterization p : {Parameterization::kBufDecayPair, Parameterization::kStrategyBlt}) {
      SCOPED_TRACE(c.dump());
      const LossFn loss_fn = loss_fn_of(c);
      const OptimizedBlt best =
          optimize_loss(loss_fn, {.num_buffers = c["num_buffers"], .parameterization = p});
      expect_relative(best.loss, c["loss"], 1e-6);
      EXPECT_EQ(best.loss, loss_fn.loss(best.blt));
    }
}

TEST(BltOptimization, ComesCloseToTheOptimalToeplitzStrategy) {
  for (int64_t n : {100, 1000}) {
    const BufferedToeplitz best = optimize({.n = n});
    const double optimum = toeplitz::loss(toeplitz::optimal_max_error_strategy_coefs(n), n,
                                          matrix_factorization::max_error);
    EXPECT_GT(max_loss(best, n), optimum);
    EXPECT_LT(max_loss(best, n), 1.02 * optimum);
  }
}

// The optimal Toeplitz loss grows as (1 + (log(n) + 0.577 + log(4)) / pi)^2, within a few percent.
TEST(BltOptimization, WorksForTenMillionIterations) {
  const BufferedToeplitz best = optimize({.n = 10000000});
  EXPECT_GE(best.num_buffers(), 5);
  EXPECT_LT(max_loss(best, 10000000), 38.7);
  EXPECT_GT(max_loss(best, 10000000), 37);
}

TEST(BltOptimization, SeveralParticipationsAndMeans) {
  const MinSepOptions five{.n = 200, .participation = {20, 5}};
  const LossFn loss_fn = LossFn::build_min_sep(five);
  const BufferedToeplitz best = optimize({.n = 200, .min_sep = 20, .max_participations = 5});
  EXPECT_LT(loss_fn.loss(best), loss_fn.loss(optimize({.n = 200})));
  const LossFn mean =
      LossFn::build_min_sep({.n = 200, .error = Error::kMean, .participation = {1, 1}});
  EXPECT_LT(mean.loss(optimize({.n = 200, .error = Error::kMean})),
            mean.loss(optimize({.n = 200})));
}

TEST(BltOptimization, NoBuffersAreTheIdentity) {
  EXPECT_EQ(optimize({.n = 50, .max_buffers = 0}).num_buffers(), 0);
  const LossFn loss_fn = LossFn::build_closed_form_single_participation(50);
  EXPECT_EQ(optimize_loss(loss_fn, {.num_buffers = 0}).loss, 50);
  EXPECT_EQ(get_init_blt(0).num_buffers(), 0);
}

TEST(BltOptimization, StartsWhereItIsToldToAndCallsBack) {
  const BufferedToeplitz start = BufferedToeplitz::build({.9}, {.2});
  int64_t calls = 0;
  const LossFn loss_fn = LossFn::build_closed_form_single_participation(100);
  const OptimizedBlt stopped = optimize_loss(
      loss_fn, {.init_blt = start, .callback = [&](const OptimizerStep&) { return ++calls == 1; }});
  EXPECT_EQ(calls, 1);
  EXPECT_LT(stopped.loss, loss_fn.loss(start));
  EXPECT_EQ(get_init_blt(1, start).buf_decay, start.buf_decay);
}

TEST(BltOptimization, RefusesLossesThatAreNone) {
  expect_error([] { LossFn::build_closed_form_single_participation(0); }, "got 0");
  expect_error([] { LossFn::build_min_sep({.n = 5, .participation = {0}}); },
               "min_sep of at least 1");
  LossFn wrong{.n = 50, .participation = {5, 3}, .closed_form = true};
  expect_error([&] { optimize_loss(wrong); }, "got 3 participations; use build_min_sep");
  wrong = {.n = 50, .error = Error::kMean, .closed_form = true};
  expect_error([&] { optimize_loss(wrong); }, "for one participation and the largest error");
  wrong = {.n = 50, .penalty_strength = -1};
  expect_error([&] { optimize_loss(wrong); }, "penalty_strength of at least 0, got -1");
  // Coefficients 1, 3, ... increase, so the sensitivity of several participations is not that of
  // the sum of columns.
  const LossFn three = LossFn::build_min_sep({.n = 50, .participation = {5, 3}});
  expect_error([&] { three.loss(BufferedToeplitz{{.9}, {3}}); }, "do not increase, got 3 after 1");
}

TEST(BltOptimization, RefusesBuffersThatDoNotFit) {
  const BufferedToeplitz one{{.9}, {.2}};
  expect_error([&] { get_init_blt(2, one); }, "of num_buffers = 2 buffers, got 1");
  expect_error([] { get_init_blt(-1); }, "at least 0 buffers, got -1");
  expect_error([] { optimize({.n = 5, .max_buffers = 16}); }, "<= 15, got 0 and 16");
  expect_error([] { optimize({.n = 5, .min_buffers = 3, .max_buffers = 2}); }, "got 3 and 2");
  expect_error([] { optimize({.n = 5, .min_buffers = -1}); }, "got -1 and 10");
  expect_error([] { optimize({.n = 5, .rtol = .5}); }, "an rtol of at least 1, got 0.5");
  const LossFn loss_fn = LossFn::build_closed_form_single_participation(5);
  expect_error(
      [&] {
        optimize_loss(loss_fn, {.init_blt = BufferedToeplitz{{.5}, {-.1}}});
      },
      "start inside of the domain");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz::buffered_toeplitz_optimization_test
