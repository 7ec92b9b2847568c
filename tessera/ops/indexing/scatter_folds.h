// The loops of a scatter over elements, for each combiner and dtype. Elements get their updates in
// the order in which these are listed.
#pragma once

#include "tessera/ops/indexing/scatter.h"

namespace tessera::ops {

struct ScatterFolds {
  // For i in [0, n): array[at[i]] = fold(array[at[i]], updates[i]).
  void (*elements)(void* array, const int64_t* at, const void* updates, int64_t n);
  // The same with updates[from[i]] in place of updates[i].
  void (*chosen)(void* array, const int64_t* at, const void* updates, const int64_t* from,
                 int64_t n);
  // For i in [0, n) with 0 <= index[i] <= largest:
  // array[index[i] * stride] = fold(array[index[i] * stride], updates[i]).
  void (*indexed_32)(void* array, const void* index, int64_t stride, int64_t largest,
                     const void* updates, int64_t n);
  void (*indexed_64)(void* array, const void* index, int64_t stride, int64_t largest,
                     const void* updates, int64_t n);
  // Like `chosen`, for runs of `run` consecutive elements: array[at[i] + k] and updates[from[i] +
  // k].
  void (*rows)(void* array, const int64_t* at, const void* updates, const int64_t* from, int64_t n,
               int64_t run);
};

// Returns the loops for a kind other than kCustom and a dtype that is not narrow.
ScatterFolds scatter_folds(ScatterKind kind, DType dtype);

}  // namespace tessera::ops
