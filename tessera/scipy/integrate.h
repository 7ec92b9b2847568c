// Integrals, with the names of jax.scipy.integrate.
#pragma once

#include "tessera/numpy/differences.h"

namespace tessera::scipy::integrate {

using tessera::trapezoid;
using tessera::TrapezoidOptions;

}  // namespace tessera::scipy::integrate
