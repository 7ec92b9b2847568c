// The targets of lax::ffi_call (ffi_call.h) by name, and the op that a call is in a program.
//
// A program holds the name of the target and its attributes, not the function; the registry below
// maps the name to a target of this process when the program is compiled. The folder ffi registers
// handlers of XLA's FFI as targets. A target is called with whole arrays, once for all devices of a
// program; inside a shard_map it is called once for each part that differs. It is called from
// threads of the runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/ir/function.h"
#include "tessera/ir/lowering.h"
#include "tessera/ops/control/ffi_call.h"

namespace tessera::ops {

// The call without and with effects; the call with effects stays in the program even if no result
// is used.
extern const OpDef& ffi_call_op;
extern const OpDef& ffi_effect_op;

// Returns whether the op is one of these two.
bool is_ffi_call(const ir::Op& op);

// A call in a program, as its target sees it.
struct FfiCallSite {
  std::vector<Type> operands, results;
  lax::FfiAttributes attributes;
  std::vector<lax::FfiAlias> aliases;
};

class FfiTarget {
 public:
  virtual ~FfiTarget() = default;
  // Returns the code of a call. If the target has state, the code keeps that of this call. Several
  // threads may run it at once. Throws UserError if the target does not accept the call.
  virtual ir::HostCall instantiate(const FfiCallSite& site) const = 0;
};

// Registers the target under that name, in place of any earlier one. Programs that were compiled
// before keep the earlier one. These functions may be called from any thread.
void set_ffi_target(const std::string& name, std::shared_ptr<const FfiTarget> target);
bool has_ffi_target(const std::string& name);

// The params of a call of `target`.
struct FfiCallParams {
  std::string target;
  std::vector<std::string> dtypes = {};  // dtypes of the results
  std::vector<Dims> shapes = {};
  std::vector<std::string> attributes = {};  // the words that encode() returns
  std::vector<Dims> aliases = {};            // pairs {operand, result}
  // The order of dimensions in memory, from major to minor, of each operand, then of each result,
  // for arrays that are stored transposed. The program's type has the dimensions in the order of
  // memory; dimension i of it is dimension order[i] of the type that the target sees. If it is
  // empty, all arrays are in row-major order.
  std::vector<Dims> orders = {};
  lax::FfiVmap vmap = lax::FfiVmap::kNone;
  // If it is not 0, the op makes this many calls. Each of them gets one member of the leading
  // dimension of every result, and of every operand whose entry in `stepped` is 1.
  int64_t trips = 0;
  Dims stepped = {};
  // Whether the target has no results. Then the op's only result is a token, because an op must
  // have one.
  bool without_results = false;
  // Whether the first operand is a bool[] that guards the call: if it is false, the target is not
  // called, and results are zeros. The partitioner adds it (spmd/divergence.h).
  bool guarded = false;
};

}  // namespace tessera::ops
