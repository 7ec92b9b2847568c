// Folds of two scalars over windows, on the host. Each kind is instantiated for every dtype, which
// compiles slowly, so each of window_fold_*.cc has two kinds.
#pragma once

#include "tessera/ops/reductions/window_places.h"

namespace tessera::ops {

struct WindowFold {
  const WindowPlaces& places;
  DType dtype;
  const void* x;
  const void* init;  // the address of one element
  void* out;
  // Whether elements are folded one after the other, in one thread, as the op is defined.
  bool plainly = false;
};

// Writes the fold of every window. `kind` is one of kSum to kOr.
void fold_windows(ReduceKind kind, const WindowFold& fold);

template <ReduceKind kind>
void fold_windows_of(const WindowFold& fold);

}  // namespace tessera::ops
