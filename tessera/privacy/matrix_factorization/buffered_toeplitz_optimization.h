// The best buffered linear Toeplitz strategies: for the largest or the mean error, one or several
// participations (arXiv:2408.08868). Barriers keep the search among well-behaved ones
// (arXiv:2504.21413, Theorem 1).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/privacy/matrix_factorization/buffered_toeplitz.h"
#include "tessera/privacy/matrix_factorization/optimization.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz {

enum class Error : uint8_t { kMax, kMean };

// A number for each of the barriers: -log of a distance to what may not be, or a weight of it.
struct Penalties {
  double buf_decay_above_0 = 1;
  double buf_decay_below_1 = 1;
  double output_scale_above_0 = 1;
  double inv_buf_decay_above_0 = 1;
  double inv_buf_decay_below_1 = 1;
  double inv_output_scale_below_0 = 1;
  double theta_gap = 1;  // decays of one BLT are distinct: two have one inverse less than 0/0
  double second_coef = 1;
  double pillutla_score = 1;
};

struct MinSepOptions {
  int64_t n = 0;
  Error error = Error::kMax;
  Participation participation = {};
};

// What is minimised: the error times the squared sensitivity, and for the search the barriers.
struct LossFn {
  int64_t n = 0;
  Error error = Error::kMax;
  Participation participation = {.min_sep = 1, .max_participations = 1};
  // One participation and the largest error: time and memory are those of the buffers, for any n.
  bool closed_form = false;
  double penalty_strength = 1e-8;
  Penalties penalty_multipliers = {};  // 0 turns one off
  double max_second_coef = 1.0;        // coefficients decrease from 1
  double min_theta_gap = 1e-12;

  static LossFn build_closed_form_single_participation(int64_t n);
  // From the n coefficients of both matrices. O(n m).
  static LossFn build_min_sep(const MinSepOptions& options);

  int64_t max_participations() const;  // for which n has room
  double error_for_inv(const BufferedToeplitz& inv_blt) const;
  double sensitivity_squared(const BufferedToeplitz& blt) const;
  // NaN or infinite beyond a barrier.
  Penalties compute_penalties(const BufferedToeplitz& blt, const BufferedToeplitz& inv_blt) const;
  // By default relative to a rough estimate of the optimum, which makes barriers count alike.
  double penalized_loss(const BufferedToeplitz& blt, const BufferedToeplitz& inv_blt,
                        bool normalize_by_approx_optimal_loss = true) const;
  // Without barriers. Errors: with several participations, coefficients that increase.
  double loss(const BufferedToeplitz& blt) const;
};

// What L-BFGS moves: the decays of the strategy and of its inverse, or the decays and scales of the
// strategy, whose inverse is then computed. Decays stand in its vectors, which callbacks see, as
// -log(1 - decay).
enum class Parameterization : uint8_t { kBufDecayPair, kStrategyBlt };

// 1 buffer or more: `init_blt`, which then has as many, or a rational approximation within the
// barriers. 0: the identity.
BufferedToeplitz get_init_blt(int64_t num_buffers = 3,
                              const std::optional<BufferedToeplitz>& init_blt = std::nullopt);

struct OptimizeLossOptions {
  int64_t num_buffers = 1;
  std::optional<BufferedToeplitz> init_blt = std::nullopt;
  Parameterization parameterization = Parameterization::kBufDecayPair;
  int64_t max_optimizer_steps = 600;
  OptimizerCallback callback = {};
};
struct OptimizedBlt {
  BufferedToeplitz blt;
  double loss = 0;
};
// With so many buffers. Errors: the search ends at a BLT whose loss cannot be computed.
OptimizedBlt optimize_loss(const LossFn& loss_fn, const OptimizeLossOptions& options = {});

struct Options {
  int64_t n = 0;
  int64_t min_sep = 1;
  std::optional<int64_t> max_participations = 1;  // absent: as many as there is room for
  Error error = Error::kMax;
  int64_t min_buffers = 0;
  int64_t max_buffers = 10;  // at most 15
  double rtol = 1.01;  // a further buffer makes the loss smaller by this factor, or is left out
  int64_t max_optimizer_steps = 600;
};
// With as many buffers as pay.
BufferedToeplitz optimize(const Options& options);

}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
