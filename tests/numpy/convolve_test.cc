// Compares convolution, correlation and covariance with jax.numpy (golden/make_calls_numpy.py).
#include "tessera/numpy/convolve.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/logic.h"

namespace tessera::convolve_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(Convolve, AsInJax) {
  test::check_calls(
      "calls_numpy", "convolve",
      {
          TESSERA_CALL("convolve", convolve(a[0], a[1])),
          TESSERA_CALL("convolve_same", convolve(a[0], a[1], {.mode = ConvolveMode::kSame})),
          TESSERA_CALL("convolve_valid", convolve(a[0], a[1], {.mode = ConvolveMode::kValid})),
          TESSERA_CALL("convolve_swapped", convolve(a[0], a[1], {.mode = ConvolveMode::kSame})),
          TESSERA_CALL("convolve_int", convolve(a[0], a[1])),
          TESSERA_CALL("convolve_preferred",
                       convolve(a[0], a[1], {.preferred_element_type = float32})),
          TESSERA_CALL("convolve_complex", convolve(a[0], a[1])),
          TESSERA_CALL("correlate", correlate(a[0], a[1])),
          TESSERA_CALL("correlate_full", correlate(a[0], a[1], {.mode = ConvolveMode::kFull})),
          TESSERA_CALL("correlate_same_swapped",
                       correlate(a[0], a[1], {.mode = ConvolveMode::kSame})),
          TESSERA_CALL("correlate_full_swapped",
                       correlate(a[0], a[1], {.mode = ConvolveMode::kFull})),
          TESSERA_CALL("correlate_complex", correlate(a[0], a[1], {.mode = ConvolveMode::kFull})),
          TESSERA_CALL("cov", cov(a[0])),
          TESSERA_CALL("cov_vector", cov(a[0])),
          TESSERA_CALL("cov_columns", cov(a[0], {.rowvar = false})),
          TESSERA_CALL("cov_y", cov(a[0], {.y = a[1]})),
          TESSERA_CALL("cov_y_columns", cov(a[0], {.y = a[1], .rowvar = false})),
          TESSERA_CALL("cov_bias", cov(a[0], {.bias = true})),
          TESSERA_CALL("cov_ddof", cov(a[0], {.ddof = 3})),
          TESSERA_CALL("cov_weights",
                       cov(a[0], {.fweights = array({1, 2, 0, 3, 1}), .aweights = a[1]})),
          TESSERA_CALL("cov_fweights", cov(a[0], {.fweights = array({1, 2, 0, 3, 1})})),
          TESSERA_CALL("cov_complex", cov(a[0])),
          TESSERA_CALL("cov_int", cov(a[0])),
          TESSERA_CALL("corrcoef", corrcoef(a[0])),
          TESSERA_CALL("corrcoef_y", corrcoef(a[0], {.y = a[1], .rowvar = false})),
          TESSERA_CALL("corrcoef_complex", corrcoef(a[0])),
          TESSERA_CALL("corrcoef_vector", corrcoef(a[0])),
      });
}

TEST(Convolve, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3});
  expect_error([&] { convolve(m, v); }, "[convolve] expected two vectors with elements");
  expect_error([&] { correlate(v, zeros(0)); }, "[correlate] expected two vectors with elements");
  expect_error([&] { cov(ones({2, 2, 2})); }, "[cov] expected at most 2 dimensions");
  expect_error([&] { cov(v, {.y = arange(3)}); },
               "[cov] expected as many observations of y as of m");
  expect_error([&] { cov(v, {.fweights = arange(3)}); },
               "[cov] expected fweights as a vector of 4");
  expect_error([&] { cov(v, {.aweights = m}); }, "[cov] expected aweights as a vector of 4");
  expect_error([&] { cov(v, {.fweights = v}); }, "[cov] expected integers as fweights");
  expect_error([&] { corrcoef(v, {.y = m}); }, "[corrcoef] expected as many observations");
}

}  // namespace
}  // namespace tessera::convolve_test
