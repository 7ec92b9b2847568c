// The exact guarantee of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018, theorem 8):
// delta = Phi(1 / (2 sigma) - epsilon sigma) - exp(epsilon) Phi(-1 / (2 sigma) - epsilon sigma).
#pragma once

namespace tessera::privacy::accounting {

// Returns the delta for an epsilon, which may be negative.
double get_delta_gaussian(double sigma, double epsilon);
// Returns the least epsilon: 0 where epsilon = 0 is enough, infinite for delta = 0.
double get_epsilon_gaussian(double sigma, double delta);
// Returns the least noise.
double get_sigma_gaussian(double epsilon, double delta);

namespace internal {
// Returns the logarithm of the delta, of any size, for finite sigma > 0 and epsilon.
double log_delta_gaussian(double sigma, double epsilon);
}  // namespace internal

}  // namespace tessera::privacy::accounting
