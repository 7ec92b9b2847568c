#include "tessera/privacy/plan_strategy.h"

#include <cmath>

#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"
#include "tessera/privacy/matrix_factorization/banded_inverse.h"
#include "tessera/privacy/matrix_factorization/eigen.h"

namespace tessera::privacy::internal {

namespace mf = matrix_factorization;
using mf::toeplitz::Coefs;

namespace {

constexpr const char* kPlanStrategyOp = "privacy::make_plan";

}  // namespace

void expect_lower_triangular(const mf::Matrix& c) {
  if (c.rows != c.cols || static_cast<int64_t>(c.values.size()) != c.rows * c.cols)
    value_error(kPlanStrategyOp, "expected a square strategy, got {} x {} of {} values", c.rows,
                c.cols, c.values.size());
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.cols; ++j)
      if (!std::isfinite(c(i, j)) || (j > i && c(i, j) != 0) || (i == j && c(i, i) == 0))
        value_error(kPlanStrategyOp,
                    "expected a lower-triangular strategy of finite numbers with a diagonal other "
                    "than 0, got {} in row {}, column {}",
                    c(i, j), i, j);
}

mf::Matrix inverse_of_lower(const mf::Matrix& c) {
  mf::Matrix out = mf::Matrix::zeros(c.rows, c.cols);
  const mf::RowMajor inverse =
      mf::as_eigen(c).triangularView<Eigen::Lower>().solve(mf::RowMajor::Identity(c.rows, c.cols));
  // Only the lower triangle is copied: above the diagonal the solution has zeros of either sign.
  mf::as_eigen(out).triangularView<Eigen::Lower>() = inverse;
  return out;
}

Coefs banded_strategy(const BandedNoise& noise, int64_t steps) {
  if (!noise.strategy.empty()) return noise.strategy;
  if (noise.bands < 1 || noise.bands > steps)
    value_error(kPlanStrategyOp, "expected between 1 and {} bands (the steps), got {}", steps,
                noise.bands);
  return mf::toeplitz::optimize_banded_toeplitz({.n = steps, .bands = noise.bands});
}

void expect_toeplitz(const Coefs& coefs) {
  for (double c : coefs)
    if (!std::isfinite(c))
      value_error(kPlanStrategyOp, "expected a strategy of finite numbers, got {} among them", c);
  if (coefs[0] == 0)
    value_error(kPlanStrategyOp,
                "expected a strategy with a first coefficient other than 0, got 0");
}

bool amplifiable(const NoiseStrategy& strategy) {
  return std::visit(Overloaded{[](const IndependentNoise&) { return true; },
                               [](const BandedNoise&) { return true; },
                               [](const BufferedNoise&) { return false; },
                               [](const DenseNoise&) { return false; },
                               [](const BandedInverseNoise&) { return false; }},
                    strategy);
}

Coefs noising_coefs(const BandedInverseNoise& noise, int64_t steps,
                    const mf::Participation& participation) {
  if (noise.noising.empty())
    return mf::banded_inverse::optimize({.n = steps,
                                         .bands = noise.bands,
                                         .participation = participation,
                                         .workload = noise.workload});
  if (!noise.workload.empty())
    value_error(
        "privacy::make_plan",
        "expected one of noising and workload in BandedInverseNoise, got both; the workload "
        "is what noising coefficients are optimized for");
  return noise.noising;
}

}  // namespace tessera::privacy::internal
