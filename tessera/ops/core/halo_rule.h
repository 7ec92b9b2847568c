// Halo rules: of ops that fold windows of rows (convolution, reduce_window), which rows the windows
// reach. Where such a dimension is cut, the partitioner has neighbours send what the windows of a
// shard reach beyond it, and runs the op on that, without padding of its own.
#pragma once

#include <functional>
#include <vector>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// Row j of the result reads rows [j * stride - low, j * stride - low + size) of the operand, whose
// rows lie `base_dilation` apart.
struct HaloDim {
  int dim = 0, result_dim = 0;
  int64_t size = 1, stride = 1, low = 0, base_dilation = 1;
  // A long window of few results, as a gradient by a kernel has it: not the results are cut but the
  // windows, and the second operand with them along `tap_dim`, whose rows are taps `tap_dilation`
  // apart. Each device has a part of the sum. -1: the results are cut.
  int tap_dim = -1;
  int64_t tap_dilation = 1;
};
// Whether windows of so many rows are those of neighbours: cut, a dimension with longer ones would
// be whole on every device after all.
inline bool windows_are_local(int64_t size, int64_t results) { return size <= results; }

struct HaloRule {
  // How many operands have windows: the first ones, all of one shape.
  std::function<size_t(size_t operands)> windowed;
  // Of those: the dimensions along which a window may reach other rows. In Factors each is one factor
  // of operand and result, or of both operands, of kind kPermutation.
  std::function<std::vector<HaloDim>(const OpParams&, std::span<const Type> operands,
                                     std::span<const Type> results)>
      dims;
  // The scalar that stands beside the operands, and changes nothing.
  std::function<Array(const OpParams&, DType)> neutral_operand;
  // The params with other padding along a dimension.
  std::function<OpParams(const OpParams&, const HaloDim&, int64_t low, int64_t high)> padded;
};

// Once, beside the op's definition.
bool register_halo_rule(const OpDef& def, HaloRule rule);
// Null where the op has none.
const HaloRule* find_halo_rule(const OpDef& def);

}  // namespace tessera::ops
