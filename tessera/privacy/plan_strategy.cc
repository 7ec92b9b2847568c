#include "tessera/privacy/plan_strategy.h"

#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"
#include "tessera/privacy/matrix_factorization/banded_inverse.h"

namespace tessera::privacy::internal {

bool amplifiable(const NoiseStrategy& strategy) {
  return std::visit(Overloaded{[](const IndependentNoise&) { return true; },
                               [](const BandedNoise&) { return true; },
                               [](const BufferedNoise&) { return false; },
                               [](const DenseNoise&) { return false; },
                               [](const BandedInverseNoise&) { return false; }},
                    strategy);
}

matrix_factorization::toeplitz::Coefs noising_coefs(
    const BandedInverseNoise& noise, int64_t steps,
    const matrix_factorization::Participation& participation) {
  if (noise.noising.empty())
    return matrix_factorization::banded_inverse::optimize({.n = steps,
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
