#include "tessera/privacy/matrix_factorization/optimization.h"

#include <lbfgs.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>

#include "tessera/base/format.h"

namespace tessera::privacy::matrix_factorization {
namespace {

constexpr const char* kOptimizationOp = "privacy::optimize";
constexpr double kOutside = std::numeric_limits<double>::infinity();

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

double largest(const std::vector<double>& values) {
  double out = 0;
  for (double v : values) out = std::max(out, std::abs(v));
  return out;
}

// The object that liblbfgs calls. An exception may not pass through its C frames: it is kept, the
// search is made to end, and the exception is thrown again after it.
class Search {
 public:
  Search(const Objective& objective, const OptimizerOptions& options, std::vector<double> start)
      : objective_(objective), options_(options), params_(std::move(start)) {
    gradient_.resize(params_.size());
    best_ = params_;
    best_loss_ = evaluate();
    if (!std::isfinite(best_loss_))
      value_error(kOptimizationOp,
                  "expected initial parameters of finite loss and gradient, got loss {}; "
                  "start inside of the domain",
                  best_loss_);
    stopped_ = largest(gradient_) <= options_.gradient_tolerance;
  }

  // Returns the best parameters. Curvature from earlier steps leads to bad directions at a kink or
  // in a narrow valley. So after a search ends, another one begins at its result without this
  // memory, until one finds nothing better.
  std::vector<double> run() {
    while (!stopped_ && step_ < options_.max_optimizer_steps) {
      const double before = best_loss_;
      const int64_t steps_before = step_;
      search_once();
      if (thrown_) std::rethrow_exception(thrown_);
      if (step_ == steps_before) ++step_;  // a line search may find something better without a step
      if (!(best_loss_ < before)) break;
    }
    return best_;
  }

 private:
  void search_once() {
    const int n = static_cast<int>(best_.size());
    const std::unique_ptr<lbfgsfloatval_t, decltype(&lbfgs_free)> x(lbfgs_malloc(n), lbfgs_free);
    if (!x) throw RuntimeError("L-BFGS: out of memory");
    std::copy(best_.begin(), best_.end(), x.get());
    lbfgs_parameter_t parameters;
    lbfgs_parameter_init(&parameters);
    parameters.m = options_.memory_size;
    parameters.epsilon = 0;
    parameters.max_iterations = static_cast<int>(
        std::min<int64_t>(options_.max_optimizer_steps - step_, std::numeric_limits<int>::max()));
    // Only this line search accepts infinite values, because backtracking checks values before
    // gradients.
    parameters.linesearch = LBFGS_LINESEARCH_BACKTRACKING_STRONG_WOLFE;
    parameters.max_linesearch = 60;
    lbfgs(n, x.get(), nullptr, &Search::evaluate_at, &Search::progress, this, &parameters);
  }

  double evaluate() {
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    if (!all_finite(params_)) return kOutside;  // rounding has made the curvature 0
    const double value = objective_(params_, gradient_);
    return std::isfinite(value) && all_finite(gradient_) ? value : kOutside;
  }

  static lbfgsfloatval_t evaluate_at(void* self, const lbfgsfloatval_t* x, lbfgsfloatval_t* g,
                                     int n, lbfgsfloatval_t) {
    return static_cast<Search*>(self)->evaluate_at(x, g, n);
  }
  double evaluate_at(const double* x, double* g, int n) {
    if (thrown_) return kOutside;
    try {
      params_.assign(x, x + n);
      const double value = evaluate();
      std::copy(gradient_.begin(), gradient_.end(), g);
      if (value < best_loss_) {
        best_loss_ = value;
        best_ = params_;
      }
      return value;
    } catch (...) {
      thrown_ = std::current_exception();
      return kOutside;
    }
  }

  static int progress(void* self, const lbfgsfloatval_t* x, const lbfgsfloatval_t* g,
                      lbfgsfloatval_t loss, lbfgsfloatval_t, lbfgsfloatval_t, lbfgsfloatval_t,
                      int n, int, int) {
    return static_cast<Search*>(self)->progress(x, g, loss, n) ? 1 : 0;
  }
  bool progress(const double* x, const double* g, double loss, int n) {
    params_.assign(x, x + n);
    gradient_.assign(g, g + n);
    stopped_ = largest(gradient_) <= options_.gradient_tolerance;
    try {
      if (options_.callback)
        stopped_ |= options_.callback(
            {.step = step_, .loss = loss, .params = params_, .gradient = gradient_});
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return ++step_ >= options_.max_optimizer_steps || stopped_ || thrown_;
  }

  const Objective& objective_;
  const OptimizerOptions& options_;
  std::vector<double> params_, gradient_, best_;
  double best_loss_ = 0;
  int64_t step_ = 0;
  bool stopped_ = false;
  std::exception_ptr thrown_;
};

}  // namespace

std::vector<double> optimize(const Objective& objective, std::vector<double> params,
                             const OptimizerOptions& options) {
  if (options.max_optimizer_steps < 0 || options.memory_size < 1)
    value_error(kOptimizationOp,
                "expected at least 0 steps and a memory of at least 1, got {} and {}",
                options.max_optimizer_steps, options.memory_size);
  if (!(options.gradient_tolerance >= 0))
    value_error(kOptimizationOp, "expected a gradient tolerance of at least 0, got {}",
                options.gradient_tolerance);
  if (params.empty()) return params;
  return Search(objective, options, std::move(params)).run();
}

}  // namespace tessera::privacy::matrix_factorization
