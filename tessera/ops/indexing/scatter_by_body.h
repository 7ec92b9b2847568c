// The loop of a scatter whose update computation is a user's body, over one or several arrays. The
// body is evaluated on all elements of a window at once, since these are distinct, and on several
// windows at once if these have no element in common.
#pragma once

#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/indexing/window_addresses.h"

namespace tessera::ops {

class ScatterByBody {
 public:
  ScatterByBody(const ScatterParams& p, std::span<const Type> operands);

  // Folds the updates into the arrays `out`. `in` are the operands, of which the arrays are not
  // read.
  void run(std::span<const void* const> in, std::span<void* const> out) const;

 private:
  ScatterByBody(const ScatterParams& p, const IndexedWindows& windows,
                std::span<const Type> operands);
  // Folds windows that begin at elements `at` of the arrays and `from` of the updates.
  void fold(std::span<const int64_t> at, std::span<const int64_t> from,
            std::span<const void* const> in, std::span<void* const> out) const;
  void fold_together(std::span<const int64_t> at, std::span<const int64_t> from,
                     std::span<const void* const> in, std::span<void* const> out) const;

  FunctionRef body_;
  std::vector<DType> dtypes_;  // dtypes of the arrays
  WindowAddresses addresses_;
  IndexedWindows::Runs runs_;
  int64_t window_;  // elements of a window
  bool unique_;     // no two windows have an element in common
  bool disjoint_;   // windows with different starts have no element in common
};

}  // namespace tessera::ops
