// Zero-concentrated differential privacy (Bun and Steinke 2016): a mechanism is rho-zCDP if its
// Renyi divergence at every order alpha is at most rho alpha. Under composition rhos add up.
#pragma once

namespace tessera::privacy::accounting {

// Return the rho of the Gaussian mechanism, 1 / (2 noise_multiplier^2), and the multiplier that has
// this rho.
double gaussian_zcdp(double noise_multiplier);
double noise_multiplier_for_zcdp(double rho);

// Return the least delta, or epsilon, that rho-zCDP implies, at the best of all real orders
// (Canonne, Kamath and Steinke 2020, proposition 12).
double zcdp_to_delta(double rho, double epsilon);
double zcdp_to_epsilon(double rho, double delta);

// Returns the largest rho that implies (epsilon, delta)-differential privacy.
double zcdp_from_epsilon(double epsilon, double delta);

}  // namespace tessera::privacy::accounting
