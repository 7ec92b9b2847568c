// ConvLibrary: a convolution prepared for oneDNN. It is divided into tiles; make() compiles one
// primitive for each kind of tile, and run() distributes the tiles over the threads. The division
// depends only on the shape, and partial sums are added in a fixed order, so results do not depend
// on the number of threads.
//
// Channels-last arrays are read and written in place. Other layouts are converted to the library's
// own, tile by tile, in the memory of the thread that computes the tile. Kernels are packed before
// the run (packed_weights.h).
#pragma once

#include <functional>
#include <memory>

#include "tessera/base/dtype.h"
#include "tessera/runtime/convolutions/conv_shape.h"
#include "tessera/runtime/products/packed_weights.h"

namespace tessera::runtime {

// Reads a tile: elements [begin, begin + count) of the result in row-major order.
using TileReader = std::function<void(const std::byte* tile, int64_t begin, int64_t count)>;

class ConvLibrary {
 public:
  struct Types {
    DType in, out;  // `in` is float32 or bfloat16; `out` is float32 or equal to `in`
  };
  // Returns null if the library has no fast code for the convolution on this CPU.
  static std::unique_ptr<const ConvLibrary> make(const ConvShape& shape, Types types);
  // Returns how many convolutions this process has tried to prepare.
  static int64_t num_made();
  virtual ~ConvLibrary() = default;
  // Returns the form in which run() reads rhs; null if it reads rhs itself.
  virtual const PackedFormRef& packed_rhs() const = 0;
  // Computes the result. Several threads may run the same object at a time.
  virtual void run(const void* lhs, const std::byte* rhs, void* out) const = 0;
  // Returns whether run_in_tiles() may be called: the tiles are ranges of the result's elements.
  virtual bool has_ranges() const = 0;
  // Computes the result, but instead of storing it passes each tile to `read` as soon as the tile
  // is computed. Several threads call `read` at a time.
  virtual void run_in_tiles(const void* lhs, const std::byte* rhs,
                            const TileReader& read) const = 0;
};

}  // namespace tessera::runtime
