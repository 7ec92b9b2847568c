// Functions in log space that the accountants share. All keep their relative accuracy in the tails,
// where privacy is decided; none is for users.
#pragma once

#include <cstdint>
#include <functional>

namespace tessera::privacy::accounting::internal {

// log(exp(a) + exp(b)); -inf stands for zero.
double log_add(double a, double b);

// log(exp(x) - 1) for x >= 0.
double log_expm1(double x);

// The distribution function of the standard normal, its logarithm, and the x with log_normal_cdf(x)
// = log_p.
double normal_cdf(double x);
double log_normal_cdf(double x);
double normal_quantile_from_log(double log_p);

// log of Phi(-x) / phi(x), the ratio of Mills: what exp(x^2 / 2) would otherwise overflow in.
double log_mills_ratio(double x);

// log |binomial coefficient| for a real n >= 0 and an integer k >= 0, by the gamma function.
double log_binomial(double n, int64_t k);

// count * value where a count of zero wins over an infinite value.
inline double times(int64_t count, double value) {
  return count == 0 ? 0 : static_cast<double>(count) * value;
}

// The end at which f is not positive of an interval of at most `tolerance` (or of a few units in the
// last place) around a change of sign of f, monotone, between lower and upper. f may be infinite.
double find_root(const std::function<double(double)>& f, double lower, double upper,
                 double tolerance);

}  // namespace tessera::privacy::accounting::internal
