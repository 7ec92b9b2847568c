#include "tessera/privacy/matrix_factorization/buffered_toeplitz_optimization.h"

#include <cmath>

#include "tessera/base/format.h"
#include "tessera/privacy/infinity.h"
#include "tessera/privacy/matrix_factorization/buffered_toeplitz_loss.h"
#include "tessera/privacy/matrix_factorization/toeplitz_adjoint.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz {
namespace {

void check(const LossFn& loss_fn) {
  constexpr const char* kOp = "privacy::buffered_toeplitz::LossFn";
  sensitivity::minsep_true_max_participations(loss_fn.n, loss_fn.participation);
  if (loss_fn.closed_form && (loss_fn.max_participations() > 1 || loss_fn.error != Error::kMax))
    value_error(kOp,
                "expected closed_form for one participation and the largest error alone, got "
                "{} participations; use build_min_sep",
                loss_fn.max_participations());
  if (!(loss_fn.penalty_strength >= 0))
    value_error(kOp, "expected a penalty_strength of at least 0, got {}", loss_fn.penalty_strength);
}

// Returns the loss with barriers. It is infinite beyond a barrier, and for parameters without a
// real inverse.
double objective_at(const LossFn& loss_fn, Parameterization parameterization,
                    const std::vector<double>& params, std::vector<double>& gradient) try {
  const auto [blt, inverse] = blt_and_inverse_from_params(parameterization, params);
  const PenalizedLoss loss = penalized_loss_with_gradient(loss_fn, blt, inverse, true);
  gradient = pull_back_pair(parameterization, blt, inverse, loss);
  return loss.value;
} catch (const UserError&) {
  return kInfinity;
}

}  // namespace

LossFn LossFn::build_closed_form_single_participation(int64_t n) {
  LossFn out{.n = n, .closed_form = true};
  check(out);
  return out;
}

LossFn LossFn::build_min_sep(const MinSepOptions& options) {
  LossFn out{.n = options.n, .error = options.error, .participation = options.participation};
  check(out);
  return out;
}

int64_t LossFn::max_participations() const {
  return sensitivity::minsep_true_max_participations(n, participation);
}

double LossFn::error_for_inv(const BufferedToeplitz& inv_blt) const {
  if (closed_form) return buffered_toeplitz::max_error(inv_blt, n);
  return toeplitz::noising_error(inv_blt.toeplitz_coefs(n), n,
                                 error == Error::kMean ? mean_error : last_error)
      .value;
}

double LossFn::sensitivity_squared(const BufferedToeplitz& blt) const {
  if (closed_form) return buffered_toeplitz::sensitivity_squared(blt, static_cast<double>(n));
  return toeplitz::spaced_columns(blt.toeplitz_coefs(n), n, participation.min_sep,
                                  max_participations())
      .value;
}

double LossFn::penalized_loss(const BufferedToeplitz& blt, const BufferedToeplitz& inv_blt,
                              bool normalize_by_approx_optimal_loss) const {
  return penalized_loss_with_gradient(*this, blt, inv_blt, normalize_by_approx_optimal_loss).value;
}

double LossFn::loss(const BufferedToeplitz& blt) const {
  check(*this);
  const double error_of_inverse = error_for_inv(blt.inverse());
  // spaced_columns is the sensitivity only if coefficients do not increase.
  if (max_participations() > 1)
    return error_of_inverse *
           toeplitz::minsep_sensitivity_squared(blt.toeplitz_coefs(n), participation);
  return error_of_inverse * sensitivity_squared(blt);
}

BufferedToeplitz get_init_blt(int64_t num_buffers,
                              const std::optional<BufferedToeplitz>& init_blt) {
  constexpr const char* kOp = "privacy::buffered_toeplitz::get_init_blt";
  if (num_buffers < 0) value_error(kOp, "expected at least 0 buffers, got {}", num_buffers);
  if (init_blt && init_blt->num_buffers() != num_buffers)
    value_error(kOp, "expected an init_blt of num_buffers = {} buffers, got {}", num_buffers,
                init_blt->num_buffers());
  if (init_blt) return *init_blt;
  if (num_buffers == 0) return {};
  return BufferedToeplitz::from_rational_approx_to_sqrt_x(
      {.num_buffers = num_buffers, .max_buf_decay = 1 - 1e-6, .max_pillutla_score = 1 - 1e-6});
}

OptimizedBlt optimize_loss(const LossFn& loss_fn, const OptimizeLossOptions& options) {
  check(loss_fn);
  const auto& [num_buffers, init_blt, parameterization, steps, callback] = options;
  const BufferedToeplitz initial = get_init_blt(num_buffers, init_blt);
  if (num_buffers == 0) return {initial, loss_fn.loss(initial)};
  const Objective objective = [&](const std::vector<double>& params,
                                  std::vector<double>& gradient) {
    return objective_at(loss_fn, options.parameterization, params, gradient);
  };
  const std::vector<double> params =
      matrix_factorization::optimize(objective, params_from_blt(parameterization, initial),
                                     {.max_optimizer_steps = steps, .callback = callback});
  OptimizedBlt out;
  out.blt = blt_and_inverse_from_params(parameterization, params).first.canonicalize();
  out.loss = loss_fn.loss(out.blt);
  if (!std::isfinite(out.loss))
    value_error("privacy::buffered_toeplitz::optimize_loss",
                "expected a search that ends at a finite loss, got {} for {}; use fewer buffers",
                out.loss, to_string(out.blt));
  return out;
}

BufferedToeplitz optimize(const Options& options) {
  constexpr const char* kOp = "privacy::buffered_toeplitz::optimize";
  const auto& [n, min_sep, participations, error, min_buffers, max_buffers, rtol, steps] = options;
  if (min_buffers < 0 || max_buffers > 15 || min_buffers > max_buffers)
    value_error(kOp,
                "expected 0 <= min_buffers <= max_buffers <= 15, got {} and {}; 3 to 7 "
                "buffers have the best utility",
                min_buffers, max_buffers);
  if (!(rtol >= 1)) value_error(kOp, "expected an rtol of at least 1, got {}", rtol);
  LossFn loss_fn = LossFn::build_min_sep({n, error, {min_sep, participations}});
  loss_fn.closed_form = error == Error::kMax && loss_fn.max_participations() == 1;
  const auto optimized = [&](int64_t buffers) {
    return optimize_loss(
        loss_fn, {.num_buffers = buffers, .max_optimizer_steps = options.max_optimizer_steps});
  };
  OptimizedBlt best = optimized(min_buffers);
  for (int64_t buffers = min_buffers + 1; buffers <= max_buffers; ++buffers) {
    OptimizedBlt next{{}, kInfinity};
    try {
      next = optimized(buffers);
    } catch (const UserError&) {
      // With so many buffers the loss has no correct digits. The result with fewer buffers is kept.
    }
    if (!(rtol * next.loss < best.loss)) break;
    best = std::move(next);
  }
  return best.blt;
}

}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
