// jax.lax's functions, in namespace lax: as strict as those, operands of one dtype and of shapes
// that fit, without promotion or broadcasting. What jax.lax shares with jax.numpy (dynamic_slice,
// top_k, cummax, stop_gradient, ...) the namespace tessera has too, with promotion.
#pragma once

#include "tessera/ops/broadcast.h"
#include "tessera/ops/concatenate.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/convert.h"
#include "tessera/ops/convolution.h"
#include "tessera/ops/dot_general.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/identity.h"
#include "tessera/ops/pad.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/reduce_window.h"
#include "tessera/ops/reshape.h"
#include "tessera/ops/scatter.h"
#include "tessera/ops/select.h"
#include "tessera/ops/slice.h"
#include "tessera/ops/sort.h"
