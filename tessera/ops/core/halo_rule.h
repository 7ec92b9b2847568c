// Halo rules, of ops that fold windows of rows (convolution, reduce_window): which rows the windows
// reach. If such a dimension is sharded, the partitioner makes neighbours send the rows beyond a
// shard that its windows reach, and runs the op on these without padding of its own.
#pragma once

#include <functional>
#include <vector>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// Row j of the result reads rows [j * stride - low, j * stride - low + size) of the operand, whose
// rows are `base_dilation` apart.
struct HaloDim {
  int dim = 0, result_dim = 0;
  int64_t size = 1, stride = 1, low = 0, base_dilation = 1;
  // If few results have long windows, as in the gradient of a kernel, then the windows are sharded
  // instead of the results, and so is the second operand along `tap_dim`, whose rows are taps
  // `tap_dilation` apart. Each device has a part of the sum. -1: the results are sharded.
  int tap_dim = -1;
  int64_t tap_dilation = 1;
};
// Returns whether windows of so many rows reach only neighbours: a sharded dimension with longer
// ones would be gathered on every device after all.
inline bool windows_are_local(int64_t size, int64_t results) { return size <= results; }

struct HaloRule {
  // The number of operands that have windows: the first ones, all of one shape.
  std::function<size_t(size_t operands)> windowed;
  // Their dimensions along which a window may reach other rows. In Factors each is one factor of
  // operand and result, or of both operands, of kind kPermutation.
  std::function<std::vector<HaloDim>(const OpParams&, std::span<const Type> operands,
                                     std::span<const Type> results)>
      dims;
  // The scalar with which padding is filled, since it does not change the result.
  std::function<Array(const OpParams&, DType)> neutral_operand;
  // Returns the params with other padding along a dimension.
  std::function<OpParams(const OpParams&, const HaloDim&, int64_t low, int64_t high)> padded;
};

// Is called once, in the file of the op's definition.
bool register_halo_rule(const OpDef& def, HaloRule rule);
// Returns null if the op has none.
const HaloRule* find_halo_rule(const OpDef& def);

}  // namespace tessera::ops
