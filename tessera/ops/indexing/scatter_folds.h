// The loops of a scatter over elements, for each combiner and dtype. Elements get their updates in
// the order in which these are listed.
#pragma once

#include "tessera/ops/indexing/scatter.h"

namespace tessera::ops {

struct ScatterFolds {
  // array[at[i]] = fold(array[at[i]], updates[i]) for i in [0, n).
  void (*elements)(void* array, const int64_t* at, const void* updates, int64_t n);
  // The same of updates[from[i]].
  void (*chosen)(void* array, const int64_t* at, const void* updates, const int64_t* from,
                 int64_t n);
  // array[index[i] * stride] = fold(array[index[i] * stride], updates[i]).
  void (*indexed_32)(void* array, const void* index, int64_t stride, const void* updates,
                     int64_t n);
  void (*indexed_64)(void* array, const void* index, int64_t stride, const void* updates,
                     int64_t n);
  // As chosen, of `run` elements after each other: array[at[i] + k] and updates[from[i] + k].
  void (*rows)(void* array, const int64_t* at, const void* updates, const int64_t* from, int64_t n,
               int64_t run);
};

// Returns the loops of a kind that is not kCustom. `dtype`: no narrow one.
ScatterFolds scatter_folds(ScatterKind kind, DType dtype);

}  // namespace tessera::ops
