// The discrete Gaussian: P(X = x) proportional to exp(-x^2 / (2 s^2)) over the integers (Canonne,
// Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020), and the
// privatizer that adds it on a grid. Floating-point noise is of a set of values that depends on what
// it is added to, which in principle tells more than the analysis of the Gaussian mechanism allows
// (Mironov, CCS 2012), and float32 normals end at 5.4 standard deviations; integers on a grid have
// neither defect.
//
// Which sampler. The paper's is exact rejection with rational arithmetic: element by element a loop
// of random length, whose bits exceed a machine word. On arrays a loop would run as often as the
// unluckiest element needs, with a reduction over all devices in each trip. Here an element takes a
// fixed number of random bits, so that streams shard as all others do and nothing is communicated:
//   - s <= 128: |X| by inversion: U of 127 bits is compared with a table of P(|X| >= k), computed in
//     168 bits on the host, and a sign.
//   - larger s: X = c X' + Z with Z of parameter b = 2.5 c from a table and X' of parameter
//     sqrt(s^2 - b^2) / c drawn in the same way. Completing the square,
//     P(X = x) is exp(-x^2 / (2 s^2)) times a sum of a Gaussian over a shifted grid of integers, which
//     by Poisson summation is constant up to a factor 1 +- 2 exp(-2 pi^2 v) with
//     v = 1 / (c^2 / b^2 + c^2 / (s^2 - b^2)) >= 4.68: 1 +- 2^-132.
// So a draw is of the stated distribution within 2^-113 in total variation: tables cut and rounded at
// 2^-127, at most 2047 entries in each of at most 4. A release of d elements adds at most
// d (1 + e^epsilon) 2^-113 to delta; of all draws of a training run that is below 2^-60. (The
// parameter itself is s rounded to a double.)
//
// Guarantee. A query of integers with L2 sensitivity D, plus independent discrete Gaussians of
// parameter s, is D^2 / (2 s^2)-zCDP, and its Renyi divergences are at most those of the Gaussian
// mechanism (Theorem 14 there). For Poisson-subsampled steps that theorem says nothing.
#pragma once

#include <cstdint>

#include "tessera/privacy/noise/noise_addition.h"

namespace tessera::privacy {

// int32 draws of parameter `stddev`, in [1, 2^24]. UserError for another, NaN too.
Array discrete_gaussian(const random::Key& key, double stddev, const Shape& shape = {});

struct DiscreteGaussianOptions {
  Stddev stddev;
  std::optional<random::Key> key = std::nullopt;  // as of NoiseOptions
  // The granularity of the grid is stddev / steps_per_stddev. In [1, 2^24]; part of the program. Finer
  // costs less sensitivity (rounded_sensitivity) and more time: a table more at 128, and from there on
  // at every factor of 60.
  double steps_per_stddev = 65536;
  OptionalDType dtype = std::nullopt;  // of the result
};

struct DiscreteNoiseState {
  random::Key key;
};

namespace internal {

struct DiscreteNoise {
  Stddev stddev;
  random::Key key;
  double steps_per_stddev;
  OptionalDType dtype;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.stddev, self.key, self.steps_per_stddev, self.dtype);
  }
};
DiscreteNoise checked_noise(const DiscreteGaussianOptions& options);
std::pair<std::vector<Array>, random::Key> add_discrete_noise(const DiscreteNoise& noise,
                                                              const std::vector<Array>& gradients,
                                                              const random::Key& key);

struct DiscretePrivatizer {
  DiscreteNoise noise;
  static constexpr bool kNeedsParams = false;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.noise);
  }
  template <class P>
  DiscreteNoiseState init(const P&) const {
    return {noise.key};
  }
  template <class P>
  std::pair<P, DiscreteNoiseState> update(const P& gradients, const DiscreteNoiseState& state,
                                          const P*) const {
    auto [noisy, next] = add_discrete_noise(noise, tree::leaves(gradients), state.key);
    return {tree::unflatten(gradients, noisy), {next}};
  }
};

}  // namespace internal

// granularity * (round(gradient / granularity) + discrete Gaussian of parameter steps_per_stddev):
// the gradient on the nearest point of the grid (ties to even), at most 2^30 steps from 0, and noise
// of standard deviation stddev. Keys, shards and errors as of the other privatizers
// (noise_addition.h), and UserError for steps_per_stddev outside its range. The sum is exact in
// integers; it is rounded to the result's dtype (the leaf's, float32 at least, or `dtype`) last. NaN
// stays NaN.
//
// Account for it with rounded_sensitivity(), not with that of the gradients.
optim::Transformation<internal::DiscretePrivatizer> discrete_gaussian_privatizer(
    const DiscreteGaussianOptions& options);

// What rounding onto the grid makes of an L2 sensitivity over `dimension` elements: two neighbours
// that differ by at most l2_sensitivity differ by at most l2_sensitivity + granularity *
// sqrt(dimension) once each element has moved by half a step, either way. Rounded up. UserError for
// numbers that are negative or not finite.
double rounded_sensitivity(double l2_sensitivity, double granularity, int64_t dimension);

}  // namespace tessera::privacy
