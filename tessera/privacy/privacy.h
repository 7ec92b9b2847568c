// Differentially private training: clipped gradients, noise, batches, accounting, auditing. See
// docs/privacy.md.
#pragma once

#include "tessera/privacy/clipping/clip_pytree.h"
#include "tessera/privacy/clipping/clipped_grad.h"
#include "tessera/privacy/matrix_factorization/amplification.h"
#include "tessera/privacy/matrix_factorization/banded.h"
#include "tessera/privacy/matrix_factorization/banded_inverse.h"
#include "tessera/privacy/matrix_factorization/buffered_toeplitz.h"
#include "tessera/privacy/matrix_factorization/buffered_toeplitz_optimization.h"
#include "tessera/privacy/matrix_factorization/checks.h"
#include "tessera/privacy/matrix_factorization/dense.h"
#include "tessera/privacy/matrix_factorization/matrix.h"
#include "tessera/privacy/matrix_factorization/optimization.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"
#include "tessera/privacy/matrix_factorization/streaming_matrix.h"
#include "tessera/privacy/matrix_factorization/toeplitz.h"
#include "tessera/privacy/neighboring_relation.h"
#include "tessera/privacy/noise/discrete_gaussian.h"
#include "tessera/privacy/noise/noise_addition.h"
