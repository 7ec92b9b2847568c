// Regression by a Gaussian process. Its length scale, amplitude and noise are those for which the
// data are most likely, found by L-BFGS with gradients through the Cholesky factorization.
#include <tessera/scipy/linalg.h>
#include <tessera/scipy/optimize.h>
#include <tessera/tessera.h>

#include <cmath>
#include <iostream>
#include <numbers>

#include "examples/timed.h"

using namespace tessera;

struct Data {
  Array x, y;  // (n, features), (n)
};

// Returns the covariances (n, m) of the function at points x (n, d) and z (m, d). `logs` are the
// logarithms of the length scale, the amplitude and the noise.
Array kernel(const Array& logs, const Array& x, const Array& z) {
  const Array distance = sum(square(expand_dims(x, 1) - z), {.axis = -1});
  return exp(2 * index(logs, {1}) - 0.5 * distance * exp(-2 * index(logs, {0})));
}

Array factor(const Array& logs, const Data& data) {
  return linalg::cholesky(kernel(logs, data.x, data.x) +
                          exp(2 * index(logs, {2})) * eye(data.x.shape(0)));
}

// Returns -log p(y | x, logs).
Array negative_log_likelihood(const Array& logs, const Data& data) {
  const Array l = factor(logs, data);
  const Array white = scipy::linalg::solve_triangular(l, data.y, {.lower = true});
  const auto n = static_cast<double>(data.y.size());
  return 0.5 * vdot(white, white) + sum(log(diagonal(l))) +
         0.5 * n * std::log(2 * std::numbers::pi);
}

// Returns the mean and the variance of the function at new points.
std::pair<Array, Array> predict(const Array& logs, const Data& data, const Array& points) {
  const Array l = factor(logs, data), cross = kernel(logs, data.x, points);
  const Array half = scipy::linalg::solve_triangular(l, cross, {.lower = true});
  const Array white = scipy::linalg::solve_triangular(l, data.y, {.lower = true});
  return {matmul(transpose(half), white),
          exp(2 * index(logs, {1})) - sum(square(half), {.axis = 0})};
}

Array truth(const Array& x) {
  return sin(3 * index(x, {Ellipsis, 0})) * cos(2 * index(x, {Ellipsis, 1}));
}

int main(int argc, char** argv) {
  const auto [a, b, c] = random::split<3>(random::key(0));
  const Array x = random::uniform(a, {400, 2}, float32, -1.0, 1.0);
  const Data data{x, truth(x) + 0.1 * random::normal(b, {400})};
  const auto fit = jit([](const Data& d) {
    return scipy::optimize::minimize(
        [&](const Array& logs) { return negative_log_likelihood(logs, d); }, zeros(3),
        {.method = scipy::optimize::Method::kLbfgs, .gtol = 0.05, .maxiter = 50});
  });
  const auto result = fit(data);
  const Array logs = result.x;
  std::cout << "length scale, amplitude, noise: " << exp(logs) << " after " << result.nit
            << " steps; -log p " << result.fun << "\n";

  const Array points = random::uniform(c, {200, 2}, float32, -0.9, 0.9);
  const auto [mean, variance] = jit(predict)(logs, data, points);
  const Array error = sqrt(tessera::mean(square(mean - truth(points))));
  std::cout << "error at new points " << error << ", expected " << sqrt(tessera::mean(variance))
            << "\n";

  // The check: with the noise in K, dL/dlogs = -1/2 tr((alpha alpha' - K^-1) dK/dlogs).
  const auto covariance = [&](const Array& h) {
    return kernel(h, x, x) + exp(2 * index(h, {2})) * eye(400);
  };
  const Array inverse = linalg::inv(covariance(zeros(3))), alpha = matmul(inverse, data.y);
  const Array gradient =
      grad([&](const Array& h) { return negative_log_likelihood(h, data); })(zeros(3));
  const Array by_hand =
      -0.5 * einsum("ij,ijk->k", {outer(alpha, alpha) - inverse, jacfwd(covariance)(zeros(3))});
  const double off = max(abs(gradient / by_hand - 1)).item<double>();
  std::cout << "the gradient is off the formula by " << off << "\n";

  const auto gradients = jit(
      [](const Array& h, const Data& d) { return value_and_grad(negative_log_likelihood)(h, d); });
  const Array start = zeros(3);
  const double value = gradients(start, data).first.item<double>();
  print_times(argc, argv, value, [&] { gradients(start, data); });
  const double noise = std::exp(index(logs, {2}).item<double>());
  return off < 1e-3 && std::abs(noise - 0.1) < 0.01 && error.item<double>() < 0.05 ? 0 : 1;
}
