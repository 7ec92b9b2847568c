// The geometry that gather and scatter share: a list of start indices, each of which positions a
// window in the operand. Gather copies the windows into its result, scatter folds its updates into
// them. The result of gather and the updates of scatter have the same layout, called `windows`
// here: batch dimensions (one for each dimension of the indices except that of the index vectors)
// and window dimensions, interleaved.
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
  // If i is an index in `windows`, the index in this operand dimension is start[component] +
  // i[window], or i[batch]. A number that does not apply is -1.
  struct Dim {
    int component = -1, window = -1, batch = -1;
    int64_t size = 1;  // extent of a window in this dimension
  };
  Shape operand, indices, windows;
  int64_t index_vector_dim = 0;  // rank of indices: every index is a vector of one entry
  std::vector<Dim> dims;         // one for each operand dimension
  Dims batch_dims, index_dims;   // batch dimension batch_dims[i] is dimension index_dims[i]

  IndexedWindows(const IndexDims& numbers, int64_t index_vector_dim, const Shape& operand,
                 const Shape& indices, const Shape& windows, const Shape& sizes);

  int64_t count() const;  // the number of windows
  // Returns the largest start that keeps the window inside, for each entry of an index vector.
  Dims largest_starts() const;
  // Returns whether windows at different starts have no element in common.
  bool disjoint() const;
  // Returns whether windows have extent 1 in operand dimension d, at a start.
  bool is_indexed(int64_t d) const { return dims[d].component >= 0 && dims[d].size == 1; }
  // Returns the batch dimensions that are not paired with a dimension of the operand.
  Dims free_batch_dims() const;

  // Writes the linear offset in the operand of the first element of each of the windows [begin,
  // end). A window that is not inside gets -1, or is moved inside if `clamp`. `data` holds the
  // indices.
  void bases(DType dtype, const void* data, bool clamp, int64_t begin, int64_t end,
             int64_t* out) const;
  // Returns the linear offset in `windows` of the first element of each window.
  std::vector<int64_t> window_offsets() const;
  // A window as runs of `run` consecutive elements, with the offset of each run relative to the
  // window's first element, in the operand and in `windows`.
  struct Runs {
    int64_t run = 1;
    std::vector<int64_t> in_operand, in_windows;
  };
  Runs runs() const;
};

// The factors of gather and scatter. An operand dimension that windows have whole passes through,
// and so do paired batch dimensions; free batch dimensions get the kind `free`. An operand
// dimension of which a window has one element gets the kind `indexed`. One of which it has a part
// needs replication, as does the dimension of the index vectors.
struct WindowFactors {
  TensorFactors operand, indices, windows;
};
struct WindowKinds {
  FactorKind free, indexed;
};
WindowFactors add_window_factors(const IndexedWindows& windows, WindowKinds kinds, Factors& out);

// The names of op and fields in error messages, and the numbers of StableHLO's constraints:
// gather's C1..C21 in the order of its text, or scatter's.
struct IndexedWindowsNames {
  std::string_view op, offset_dims, collapsed, map, operand_batching, indices_batching;
  const char *rank, *offset_unique, *offset_range, *collapsed_unique, *collapsed_sorted,
      *collapsed_range, *batching_sorted, *batching_range, *indices_batching_unique,
      *indices_batching_range, *indices_batching_vector, *batching_count, *batching_extents,
      *map_count, *map_unique, *map_range, *vector_range;
};
// Throws UserError unless the dimension numbers fulfil StableHLO's constraints. Window sizes are
// checked elsewhere: gather has them in its params, scatter in its updates.
void check_index_dims(const IndexedWindowsNames& names, const IndexDims& dims,
                      int64_t index_vector_dim, const Type& operand, const Type& indices,
                      int64_t windows_rank);

}  // namespace tessera::ops
