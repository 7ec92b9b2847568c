// The geometry that gather and scatter share: a list of start indices, each of which positions a
// window in the operand. Gather copies the windows into its result, scatter folds its updates into
// them. That result and those updates have one layout, called `windows` here: batch dimensions (one
// for each dimension of the indices but the vectors') and window dimensions, interleaved.
#pragma once

#include <string_view>
#include <vector>

#include "tessera/base/literal.h"
#include "tessera/ir/factors.h"
#include "tessera/ir/forward.h"
#include "tessera/ir/type.h"
#include "tessera/ops/indexing/index_dims.h"

namespace tessera::ops {

struct IndexedWindows {
  // The index in an operand dimension is start[component] + windows index [window], or the windows
  // index [batch].
  struct Dim {
    int component = -1, window = -1, batch = -1;
    int64_t size = 1;  // of a window
  };
  Shape operand, indices, windows;
  int64_t index_vector_dim = 0;  // rank of indices: every index is a vector of one entry
  std::vector<Dim> dims;         // one for each operand dimension
  Dims batch_dims, index_dims;   // batch dimension batch_dims[i] is dimension index_dims[i]

  IndexedWindows(const IndexDims& numbers, int64_t index_vector_dim, const Shape& operand,
                 const Shape& indices, const Shape& windows, const Shape& sizes);

  int64_t count() const;  // of windows
  // Returns the largest start that keeps the window inside, for each entry of an index vector.
  Dims largest_starts() const;
  // Returns whether windows at different starts have no element in common.
  bool disjoint() const;
  // Returns whether a window has one element of an operand dimension, at a start.
  bool is_indexed(int64_t d) const { return dims[d].component >= 0 && dims[d].size == 1; }
  // Returns the batch dimensions that are not paired with a dimension of the operand.
  Dims free_batch_dims() const;

  // Writes the linear offset in the operand of the first element of windows [begin, end), or -1 for
  // one that is not inside, unless `clamp` moves it inside. `data`: the indices.
  void bases(DType dtype, const void* data, bool clamp, int64_t begin, int64_t end,
             int64_t* out) const;
  // Returns the linear offset in `windows` of the first element of each window.
  std::vector<int64_t> window_offsets() const;
  // A window is `runs` of `run` consecutive elements: the offset of each run relative to the first
  // element, in the operand and in `windows`.
  struct Runs {
    int64_t run = 1;
    std::vector<int64_t> in_operand, in_windows;
  };
  Runs runs() const;
};

// How dimensions correspond: those that a window has whole pass through, and so do batch
// dimensions, of which the free ones get the kind `free`. A dimension of which a window has one
// element gets the kind `indexed`; one of which it has a part, and the index vectors, need
// replication.
struct WindowFactors {
  TensorFactors operand, indices, windows;
};
struct WindowKinds {
  FactorKind free, indexed;
};
WindowFactors add_window_factors(const IndexedWindows& windows, WindowKinds kinds, Factors& out);

// Returns the shape of `windows`; throws UserError of `op` if StableHLO's constraints do not hold.
// `constraints` name them: gather's C1..C21 in the order of its text, or scatter's.
struct IndexedWindowsNames {
  std::string_view op, offset_dims, collapsed, map, operand_batching, indices_batching;
  const char *rank, *offset_unique, *offset_range, *collapsed_unique, *collapsed_sorted,
      *collapsed_range, *batching_sorted, *batching_range, *indices_batching_unique,
      *indices_batching_range, *indices_batching_vector, *batching_count, *batching_extents,
      *map_count, *map_unique, *map_range, *vector_range;
};
// Checks the rest of the dimension numbers; gather takes window sizes from its params, scatter from
// its updates.
void check_index_dims(const IndexedWindowsNames& names, const IndexDims& dims,
                      int64_t index_vector_dim, const Type& operand, const Type& indices,
                      int64_t windows_rank);

}  // namespace tessera::ops
