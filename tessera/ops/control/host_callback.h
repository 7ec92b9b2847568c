// Functions of the host that a program calls while it runs: pure_callback and io_callback.
//
// A program holds the number of such a function, not the function: the registry below maps it to a
// function in this process. A function is called with whole arrays, once for all devices of a
// program; in a shard_map once for each part that differs. It is called from threads of the
// runtime.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"

namespace tessera::ops {

extern const OpDef& pure_callback_op;
extern const OpDef& io_callback_op;

// The same with a bool[] before its arguments: where it is false the function is not called, and
// results are zeros. The partitioner makes it (spmd/divergence.h).
extern const OpDef& io_callback_if_op;

// Returns whether the op calls a function of the host, be it a native one (ffi_call.h).
bool calls_host(const ir::Op& op);

// Returns whether the op is a call without a condition; and the same call under the condition
// `guard`, a value of its function.
bool is_guardable(const ir::Op& op);
ir::Op guarded(ir::Op op, ir::ValueId guard);

}  // namespace tessera::ops

namespace tessera::lax {

// Reads arguments and fills results, both dense in row-major order, of the types with which the
// call was made. An exception ends the run, and is thrown to its caller.
using HostFunction =
    std::function<void(std::span<const void* const> arguments, std::span<void* const> results)>;

// How vmap calls a function of the host.
enum class VmapMethod : uint8_t {
  kNone,          // not at all: it is an error
  kSequential,    // once for each example
  kBroadcastAll,  // once, with the mapped dimension in front of all arguments and results
};

// The same for a function that vmap may call: `batch` are the extents that stand in front of the
// shapes of its arguments and results, for kBroadcastAll; otherwise it is empty.
using BatchedHostFunction = std::function<void(
    const Dims& batch, std::span<const void* const> arguments, std::span<void* const> results)>;

// Returns the number of a function from now on; any thread may call these. Programs that were
// compiled before the function is removed keep it.
int64_t add_host_function(HostFunction function);
// The same with the types of arguments and results for one example (of a function without results:
// {ir::token_type()}).
int64_t add_host_function(BatchedHostFunction function, std::vector<ir::Type> arguments,
                          std::vector<ir::Type> results, VmapMethod vmap_method);
void remove_host_function(int64_t number);

// Returns function(args), of these types (dtype and shape). A pure function may be called more than
// once, or not at all if its results are not read; it has no derivative (custom_jvp defines one).
// Throws UserError for a number that no function has.
std::vector<Array> pure_callback(int64_t function, const std::vector<ir::Type>& results,
                                 const std::vector<Array>& args);
// Returns the same for a function with effects: it is called once each time the program reaches the
// call, even if its results are not read. Calls of one program are in order only if one takes a
// result of the other.
std::vector<Array> io_callback(int64_t function, const std::vector<ir::Type>& results,
                               const std::vector<Array>& args);

}  // namespace tessera::lax
