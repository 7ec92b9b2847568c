// ConvLibrary: a convolution made ready to be run by oneDNN: cut into tiles, one primitive for each
// kind of tile, compiled here; run() hands the tiles to the threads. How it is cut depends on the
// shape alone, and partial sums are added in a fixed order, so results do not depend on the number
// of threads.
//
// Channels-last arrays are read and written where they are. Other layouts are brought into the
// library's own, tile by tile, in the memory of the thread that computes the tile; kernels always
// are, once a run.
#pragma once

#include <memory>

#include "tessera/base/dtype.h"
#include "tessera/runtime/conv_shape.h"

namespace tessera::runtime {

class ConvLibrary {
 public:
  struct Types {
    DType in, out;  // float32 or bfloat16; out float32, or as in
  };
  // Null where the library has no fast code for it on this CPU.
  static std::unique_ptr<const ConvLibrary> make(const ConvShape& shape, Types types);
  // How many this process has made.
  static int64_t num_made();
  virtual ~ConvLibrary() = default;
  // Several threads may run the same one.
  virtual void run(const void* lhs, const void* rhs, void* out) const = 0;
};

}  // namespace tessera::runtime
