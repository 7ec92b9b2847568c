// Finds the best buffered linear Toeplitz strategies: for the largest or the mean error, for one or
// several participations (arXiv:2408.08868). Barriers keep the search among well-behaved ones
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

// A number for each of the barriers: its value, -log of the distance to the forbidden side, or its
// weight.
struct Penalties {
  double buf_decay_above_0 = 1;
  double buf_decay_below_1 = 1;
  double output_scale_above_0 = 1;
  double inv_buf_decay_above_0 = 1;
  double inv_buf_decay_below_1 = 1;
  double inv_output_scale_below_0 = 1;
  double theta_gap = 1;  // keeps the decays of one BLT distinct
  double second_coef = 1;
  double pillutla_score = 1;
};

struct MinSepOptions {
  int64_t n = 0;
  Error error = Error::kMax;
  Participation participation = {};
};

// The function that is minimised: the error times the squared sensitivity. The search adds
// barriers.
struct LossFn {
  int64_t n = 0;
  Error error = Error::kMax;
  Participation participation = {.min_sep = 1, .max_participations = 1};
  // Whether closed forms are used, whose time and memory depend only on the number of buffers, not
  // on n. They exist for one participation and the largest error.
  bool closed_form = false;
  double penalty_strength = 1e-8;
  Penalties penalty_multipliers = {};  // 0 disables a barrier
  double max_second_coef = 1.0;        // below 1 coefficients decrease from 1 on
  double min_theta_gap = 1e-12;

  static LossFn build_closed_form_single_participation(int64_t n);
  // Returns the loss that is computed from the n coefficients of both matrices, in O(n m) time.
  static LossFn build_min_sep(const MinSepOptions& options);

  int64_t max_participations() const;  // those for which n has room
  double error_for_inv(const BufferedToeplitz& inv_blt) const;
  double sensitivity_squared(const BufferedToeplitz& blt) const;
  // Returns the values of the barriers. A value is NaN or infinite beyond its barrier.
  Penalties compute_penalties(const BufferedToeplitz& blt, const BufferedToeplitz& inv_blt) const;
  // Returns the loss with barriers. By default it is relative to a rough estimate of the optimum,
  // so that barriers have the same weight for every problem.
  double penalized_loss(const BufferedToeplitz& blt, const BufferedToeplitz& inv_blt,
                        bool normalize_by_approx_optimal_loss = true) const;
  // Returns the loss without barriers. Throws UserError if, with several participations,
  // coefficients increase.
  double loss(const BufferedToeplitz& blt) const;
};

// The variables of L-BFGS: the decays of the strategy and of its inverse, or the decays and scales
// of the strategy, whose inverse is then computed. In the vectors of L-BFGS, which callbacks see, a
// decay is represented by -log(1 - decay).
enum class Parameterization : uint8_t { kBufDecayPair, kStrategyBlt };

// Returns the start of the search: for 0 buffers the identity; otherwise `init_blt`, which must
// have num_buffers buffers, or if absent a rational approximation within the barriers.
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
// Returns the best BLT with num_buffers buffers. Throws UserError if the search ends at a BLT whose
// loss cannot be computed.
OptimizedBlt optimize_loss(const LossFn& loss_fn, const OptimizeLossOptions& options = {});

struct Options {
  int64_t n = 0;
  int64_t min_sep = 1;
  std::optional<int64_t> max_participations = 1;  // if absent, as many as n has room for
  Error error = Error::kMax;
  int64_t min_buffers = 0;
  int64_t max_buffers = 10;  // at most 15
  double rtol = 1.01;        // a further buffer is kept if it makes the loss smaller by this factor
  int64_t max_optimizer_steps = 600;
};
// Returns the best BLT. Its number of buffers grows as long as each makes the loss smaller by rtol.
BufferedToeplitz optimize(const Options& options);

}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
