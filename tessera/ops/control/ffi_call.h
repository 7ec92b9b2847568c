// lax::ffi_call: calls of native functions by name, such as kernels that users wrote, which read
// and fill dense arrays (ffi_target.h: what a name stands for).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ops/control/ffi_attributes.h"

namespace tessera::lax {

// How vmap maps a call. kNone: it throws UserError. kSequential: the target is called once for each
// member of the batch. kExpandDims and kBroadcastAll: it is called once, and all arrays have a
// leading dimension; for operands that are not mapped, its size is 1 (kExpandDims) or that of the
// batch.
enum class FfiVmap : uint8_t { kNone, kSequential, kExpandDims, kBroadcastAll };
constexpr auto enum_names(FfiVmap) {
  return std::array<std::string_view, 4>{"none", "sequential", "expand_dims", "broadcast_all"};
}

// When the target is called, the memory of this result holds the content of this operand, and the
// target gets that memory for both.
struct FfiAlias {
  int64_t operand = 0, result = 0;
};

struct FfiOptions {
  FfiAttributes attributes = {};
  bool has_side_effect = false;
  FfiVmap vmap = FfiVmap::kNone;
  std::vector<FfiAlias> aliases = {};
};

// Returns what the target of that name computes from `args`: arrays of the dtypes and shapes
// `results`. The call has no derivative (custom_jvp defines one). Throws UserError if this process
// has no target of that name, or for aliases of operands and results of different types.
std::vector<Array> ffi_call(const std::string& target, const std::vector<ir::Type>& results,
                            const std::vector<Array>& args, const FfiOptions& options = {});

}  // namespace tessera::lax
