// The error of a column-normalised banded strategy, and its gradient. Internal.
#pragma once

#include <optional>

#include "tessera/privacy/matrix_factorization/banded.h"

namespace tessera::privacy::matrix_factorization::banded {

struct ErrorAndGradient {
  double value = 0;
  Matrix gradient;  // with respect to params
};

ErrorAndGradient reduced_error(const ColumnNormalizedBanded& strategy,
                               const std::optional<Matrix>& workload, const Reduction& reduction);

}  // namespace tessera::privacy::matrix_factorization::banded
