// Functions in log space that the accountants share. All keep their relative accuracy in the tails,
// where privacy is decided. They are not for users.
#pragma once

#include <cstdint>
#include <functional>

namespace tessera::privacy::accounting::internal {

// Returns log(exp(a) + exp(b)); -inf represents zero.
double log_add(double a, double b);

// Returns log(exp(x) - 1) for x >= 0.
double log_expm1(double x);

// Return the distribution function of the standard normal, its logarithm, and the x with
// log_normal_cdf(x) = log_p.
double normal_cdf(double x);
double log_normal_cdf(double x);
double normal_quantile_from_log(double log_p);

// Returns the logarithm of Phi(-x) / phi(x), Mills' ratio, computed so that exp(x^2 / 2) does not
// overflow.
double log_mills_ratio(double x);

// Returns log |binomial coefficient| for a real n >= 0 and an integer k >= 0, by the gamma
// function.
double log_binomial(double n, int64_t k);

// Returns count * value, where a count of zero makes the product 0 even for an infinite value.
inline double times(int64_t count, double value) {
  return count == 0 ? 0 : static_cast<double>(count) * value;
}

// Returns a point next to the sign change of a monotone f between lower and upper. It encloses the
// sign change in an interval of at most `tolerance` (or of a few units in the last place), and
// returns the end at which f is not positive. f may be infinite.
double find_root(const std::function<double(double)>& f, double lower, double upper,
                 double tolerance);

}  // namespace tessera::privacy::accounting::internal
