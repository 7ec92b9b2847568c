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
#include "tessera/ir/forward.h"

namespace tessera::ops {

extern const OpDef& pure_callback_op;
extern const OpDef& io_callback_op;

// The same with a bool[] before its arguments: where it is false the function is not called, and
// results are zeros. The partitioner makes it (spmd/divergence.h).
extern const OpDef& io_callback_if_op;

// Returns whether the op calls a function of the host, be it a native one (ffi_call.h).
bool calls_host(const ir::Op& op);

// Returns whether the op is an io_callback, which is called exactly when the program comes to it: not
// again by a derivative, and not for an example that does not take its branch. Calls for debugging
// are none.
bool is_io_call(const ir::Op& op);

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
  kExpandDims,    // once, with the mapped dimension in front of all arguments and results, which is
                  // 1 for arguments that are the same for all examples
  kBroadcastAll,  // the same, with these arguments repeated for each example
};

// The extents that vmap put in front of the shapes of a function's arguments and results: one entry
// for each nested vmap. They are empty for kNone and kSequential.
struct HostBatch {
  std::vector<Dims> arguments;
  Dims results;
};

// The same for a function that vmap may call.
using BatchedHostFunction =
    std::function<void(const HostBatch& batch, std::span<const void* const> arguments,
                       std::span<void* const> results)>;

struct HostCallOptions {
  VmapMethod vmap_method = VmapMethod::kNone;
  bool ordered = false;  // vmap is refused, since calls of examples have no order
  bool debug = false;    // more calls than the program says are harmless (ops::is_io_call)
};

// Returns the number of a function from now on; any thread may call these. Programs that were
// compiled before the function is removed keep it.
int64_t add_host_function(HostFunction function);
// The same with the types of arguments and results for one example (of a function without results:
// {ir::token_type()}).
int64_t add_host_function(BatchedHostFunction function, std::vector<ir::Type> arguments,
                          std::vector<ir::Type> results, const HostCallOptions& options);
void remove_host_function(int64_t number);

// Returns function(args), of these types (dtype and shape). A pure function may be called more than
// once, or not at all if its results are not read; it has no derivative (custom_jvp defines one).
// Throws UserError for a number that no function has.
std::vector<Array> pure_callback(int64_t function, const std::vector<ir::Type>& results,
                                 const std::vector<Array>& args);
// Returns the same for a function with effects: it is called once each time the program reaches the
// call, even if its results are not read. The calls that a device makes are in the order of the
// program.
std::vector<Array> io_callback(int64_t function, const std::vector<ir::Type>& results,
                               const std::vector<Array>& args);

}  // namespace tessera::lax
