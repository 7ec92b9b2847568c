// The loop of a scatter that has an update computation of its own, over one array or several. The
// body is evaluated on all elements of a window at once, since these are distinct, and on several
// windows at once where these have no element in common.
#pragma once

#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/indexing/window_addresses.h"

namespace tessera::ops {

class ScatterByBody {
 public:
  ScatterByBody(const ScatterParams& p, std::span<const Type> operands);

  // Folds the updates into the arrays `out`. `in`: the operands; the arrays among them are not
  // read.
  void run(std::span<const void* const> in, std::span<void* const> out) const;

 private:
  ScatterByBody(const ScatterParams& p, const IndexedWindows& windows,
                std::span<const Type> operands);
  // Windows that begin at `at` in the arrays and at `from` in the updates.
  void fold(std::span<const int64_t> at, std::span<const int64_t> from,
            std::span<const void* const> in, std::span<void* const> out) const;
  void fold_together(std::span<const int64_t> at, std::span<const int64_t> from,
                     std::span<const void* const> in, std::span<void* const> out) const;

  FunctionRef body_;
  std::vector<DType> dtypes_;  // of the arrays
  WindowAddresses addresses_;
  IndexedWindows::Runs runs_;
  int64_t window_;  // elements of one
  bool unique_;     // no two windows have an element in common
  bool disjoint_;   // those that begin at different places have none
};

}  // namespace tessera::ops
