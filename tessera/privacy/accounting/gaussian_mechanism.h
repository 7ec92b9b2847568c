// The exact guarantee of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018, theorem 8):
// delta = Phi(1 / (2 sigma) - epsilon sigma) - exp(epsilon) Phi(-1 / (2 sigma) - epsilon sigma).
#pragma once

namespace tessera::privacy::accounting {

// Returns the delta for an epsilon, which may be negative.
double get_delta_gaussian(double sigma, double epsilon);
// Returns the least epsilon for this delta: 0 if epsilon = 0 is enough, infinite for delta = 0.
double get_epsilon_gaussian(double sigma, double delta);
// Returns the least sigma for which the mechanism is (epsilon, delta)-differentially private.
double get_sigma_gaussian(double epsilon, double delta);

namespace internal {
// Returns the logarithm of the delta, also if the delta itself would underflow. sigma > 0 and
// epsilon are finite.
double log_delta_gaussian(double sigma, double epsilon);
}  // namespace internal

}  // namespace tessera::privacy::accounting
