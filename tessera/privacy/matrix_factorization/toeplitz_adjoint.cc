#include "tessera/privacy/matrix_factorization/toeplitz_adjoint.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tessera::privacy::matrix_factorization::toeplitz {
namespace {

struct PrefixError {
  double value;
  Coefs by_decoder;
};

// Returns the reduced error and its gradient by the decoder b. Error k is the sum of b_i^2 for i <=
// k, so the derivative by b_i is 2 b_i times the sum of the derivatives by errors i, i + 1, ...
PrefixError prefix_error(const Coefs& decoder, const Reduction& reduction) {
  std::vector<double> errors(decoder.size());
  std::transform_inclusive_scan(decoder.begin(), decoder.end(), errors.begin(), std::plus<>(),
                                [](double b) { return b * b; });
  Reduced reduced = reduce(reduction, errors);
  double later = 0;
  for (size_t i = decoder.size(); i-- > 0;) {
    later += reduced.gradient[i];
    reduced.gradient[i] = 2 * decoder[i] * later;
  }
  return {reduced.value, std::move(reduced.gradient)};
}

// Returns out_k = sum_i weights_i values_{i - k}, for the first `size` k.
Coefs correlate(const Coefs& weights, const Coefs& values, size_t size) {
  Coefs out(size);
  for (size_t k = 0; k < size; ++k)
    out[k] = std::inner_product(weights.begin() + static_cast<std::ptrdiff_t>(k), weights.end(),
                                values.begin(), 0.0);
  return out;
}

// Returns x with C^T x = rhs. These are the equations of C in the opposite order.
Coefs solve_transposed(const Coefs& coef, Coefs rhs) {
  std::reverse(rhs.begin(), rhs.end());
  Coefs out = solve_banded(coef, rhs);
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

// The decoder is b = C^-1 1. A change dC changes it by -C^-1 dC b. So the gradient with respect to
// c_k is minus the inner product of C^-T (gradient with respect to b) with b shifted by k.
ValueAndGradient strategy_error(const Coefs& coef, int64_t n, const Reduction& reduction) {
  const Coefs decoder = solve_banded(coef, Coefs(static_cast<size_t>(n), 1.0));
  PrefixError error = prefix_error(decoder, reduction);
  const Coefs adjoint = solve_transposed(coef, std::move(error.by_decoder));
  Coefs gradient = correlate(adjoint, decoder, coef.size());
  for (double& g : gradient) g = -g;
  return {error.value, std::move(gradient)};
}

ValueAndGradient noising_error(const Coefs& coef, int64_t n, const Reduction& reduction,
                               const Coefs& workload) {
  if (!workload.empty()) {
    const Coefs a = pad_coefs_to_n(workload, n);
    PrefixError error = prefix_error(multiply(coef, a, n), reduction);
    return {error.value, correlate(error.by_decoder, a, coef.size())};
  }
  Coefs decoder = pad_coefs_to_n(coef, n);
  std::partial_sum(decoder.begin(), decoder.end(), decoder.begin());
  PrefixError error = prefix_error(decoder, reduction);
  Coefs& gradient = error.by_decoder;
  std::partial_sum(gradient.rbegin(), gradient.rend(), gradient.rbegin());
  gradient.resize(coef.size());
  return {error.value, std::move(gradient)};
}

// Entry i of the sum of columns is c_i + c_{i - min_sep} + ..., with at most `participations`
// terms. It is a difference of two running sums with stride min_sep.
ValueAndGradient spaced_columns(const Coefs& coef, int64_t n, int64_t min_sep,
                                int64_t participations) {
  const Coefs c = pad_coefs_to_n(coef, n);
  const bool all = participations > (n - 1) / min_sep;  // no column's window ends before n
  const int64_t window = all ? n : participations * min_sep;
  Coefs running = c;
  for (int64_t i = min_sep; i < n; ++i) running[i] += running[i - min_sep];
  Coefs column = running;
  for (int64_t i = window; i < n; ++i) column[i] -= running[i - window];
  const double value = std::inner_product(column.begin(), column.end(), column.begin(), 0.0);
  Coefs gradient(c.size());
  for (int64_t i = 0; i < n; ++i) gradient[i] = 2 * column[i];
  for (int64_t i = n - min_sep; i-- > 0;) gradient[i] += gradient[i + min_sep];
  // gradient[i] is a running sum to the end, from which the sum beyond the window is subtracted.
  // The order is ascending, so that sums of larger indices are still complete.
  for (int64_t i = 0; i + window < n; ++i) gradient[i] -= gradient[i + window];
  gradient.resize(coef.size());
  return {value, std::move(gradient)};
}

// The first coefficient stays 1. If it could change, the search could follow rounding errors along
// the scale, and step to a singular matrix.
Coefs optimize_up_to_scale(const std::function<ValueAndGradient(const Coefs&)>& loss, Coefs start,
                           int64_t max_optimizer_steps) {
  for (size_t k = start.size(); k-- > 0;) start[k] /= start[0];
  const auto whole = [](Coefs tail) {
    tail.insert(tail.begin(), 1.0);
    return tail;
  };
  const Objective objective = [&](const Coefs& tail, Coefs& gradient) {
    const ValueAndGradient at = loss(whole(tail));
    gradient.assign(at.gradient.begin() + 1, at.gradient.end());
    return at.value;
  };
  return whole(optimize(objective, {start.begin() + 1, start.end()},
                        {.max_optimizer_steps = max_optimizer_steps}));
}

// Since d(c^-1) = -c^-1 dc c^-1, the gradient is correlated with c^-1 twice.
Coefs pull_back_inverse(const Coefs& inverse, const Coefs& gradient) {
  const Coefs once = correlate(gradient, inverse, gradient.size());
  Coefs out = correlate(once, inverse, gradient.size());
  for (double& g : out) g = -g;
  return out;
}

}  // namespace tessera::privacy::matrix_factorization::toeplitz
