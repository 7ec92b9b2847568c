// Calls of native functions by name: kernels of users, which take and fill dense arrays.
//
// A program holds the name of the target and its attributes, not the function; the registry below
// maps the name to a target of this process when the program is compiled. The folder ffi registers
// handlers of XLA's FFI as targets. A target is called with whole arrays, once for all devices of a
// program; in a shard_map it is called once for each part that differs. It is called from threads
// of the runtime.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"
#include "tessera/ir/lowering.h"
#include "tessera/ops/control/ffi_attributes.h"

namespace tessera::ops {

// The same call without and with effects; the latter stays though its results are unused.
extern const OpDef& ffi_call_op;
extern const OpDef& ffi_effect_op;

// Returns whether the op is one of the two.
bool is_ffi_call(const ir::Op& op);

}  // namespace tessera::ops

namespace tessera::lax {

// How a call behaves under vmap: kNone is an error; kSequential calls the target once for each
// member of the batch; kExpandDims and kBroadcastAll call it once, with a leading dimension on all
// arrays, which for operands that are not mapped has the extent 1, or that of the batch.
enum class FfiVmap : uint8_t { kNone, kSequential, kExpandDims, kBroadcastAll };
constexpr auto enum_names(FfiVmap) {
  return std::array<std::string_view, 4>{"none", "sequential", "expand_dims", "broadcast_all"};
}

// That operand's content is in the memory of that result when the target is called, and the target
// gets this memory for both.
struct FfiAlias {
  int64_t operand = 0, result = 0;
};

struct FfiOptions {
  FfiAttributes attributes = {};
  bool has_side_effect = false;
  FfiVmap vmap = FfiVmap::kNone;
  std::vector<FfiAlias> aliases = {};
};

// Returns what the target of that name computes from `args`: arrays of the types `results` (dtype
// and shape). The call has no derivative (custom_jvp defines one). Throws UserError if this process
// has no target of that name, or for aliases of operands and results of different types.
std::vector<Array> ffi_call(const std::string& target, const std::vector<ir::Type>& results,
                            const std::vector<Array>& args, const FfiOptions& options = {});

}  // namespace tessera::lax

namespace tessera::ops {

// One call in a program, as its target sees it.
struct FfiCallSite {
  std::vector<Type> operands, results;
  lax::FfiAttributes attributes;
  std::vector<lax::FfiAlias> aliases;
};

class FfiTarget {
 public:
  virtual ~FfiTarget() = default;
  // Returns the code of a call, which keeps the state of that call, if the target has any. Several
  // threads may run it at once. Throws UserError if the target does not accept the call.
  virtual ir::HostCall instantiate(const FfiCallSite& site) const = 0;
};

// Makes the target known under that name from now on, in place of another one of the name. Programs
// that were compiled before keep theirs. Any thread may call these.
void set_ffi_target(const std::string& name, std::shared_ptr<const FfiTarget> target);
bool has_ffi_target(const std::string& name);

// Params of a call of `target` with results of these types; and what they say.
struct FfiCallParams {
  std::string target;
  std::vector<std::string> dtypes = {};  // of the results
  std::vector<Dims> shapes = {};
  std::vector<std::string> attributes = {};  // as encode() returns them
  std::vector<Dims> aliases = {};            // {operand, result}
  // The order of dimensions in memory, from major to minor, of each operand, then of each result,
  // where an array is stored transposed: the program's type is that of the memory, and the target
  // sees the type whose dimension order[i] is dimension i there. Empty: all are in row-major order.
  std::vector<Dims> orders = {};
  lax::FfiVmap vmap = lax::FfiVmap::kNone;
  // Not 0: so many calls, for each of which operands with a 1 in `stepped` and all results have one
  // member of their leading dimension.
  int64_t trips = 0;
  Dims stepped = {};
  // Whether the only result is one that the target does not have: an op has a result.
  bool without_results = false;
  // Whether the first operand is a bool[]: where it is false, the target is not called, and results
  // are zeros. The partitioner makes it (spmd/divergence.h).
  bool guarded = false;
};

}  // namespace tessera::ops
