// The exact guarantee of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018, theorem 8):
// delta = Phi(1 / (2 sigma) - epsilon sigma) - exp(epsilon) Phi(-1 / (2 sigma) - epsilon sigma).
#pragma once

namespace tessera::privacy::accounting {

// The delta for an epsilon, which may be negative.
double get_delta_gaussian(double sigma, double epsilon);
// The least epsilon; 0 where epsilon = 0 is enough, infinite for delta = 0.
double get_epsilon_gaussian(double sigma, double delta);
// The least noise.
double get_sigma_gaussian(double epsilon, double delta);

namespace internal {
// The logarithm of the delta, for sigma and epsilon that are finite, sigma above 0; of any size.
double log_delta_gaussian(double sigma, double epsilon);
}  // namespace internal

}  // namespace tessera::privacy::accounting
