// Differentially private training: clipped gradients, noise, batches, accounting, auditing. See
// docs/privacy.md.
#pragma once

#include "tessera/privacy/clipping/clip_pytree.h"
#include "tessera/privacy/clipping/clipped_grad.h"
#include "tessera/privacy/neighboring_relation.h"
