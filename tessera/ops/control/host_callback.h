// Functions of the host that a program calls while it runs: pure_callback and io_callback.
//
// A program holds the number of such a function, not the function: the registry below maps it to a
// function in this process. A function is called with whole arrays, once for all devices of a
// program; inside a shard_map it is called once for each part that differs. It is called from
// threads of the runtime.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/forward.h"

namespace tessera::ops {

extern const OpDef& pure_callback_op;
extern const OpDef& io_callback_op;

// io_callback with a bool[] before its arguments: if it is false, the function is not called, and
// results are zeros. The partitioner makes this op (spmd/divergence.h).
extern const OpDef& io_callback_if_op;

// Returns whether the op calls a function of the host, including native ones (ffi_call.h).
bool calls_host(const ir::Op& op);

// Returns whether the op is an io_callback, whose function is called exactly when the program
// reaches it: a derivative does not call it again, and an example that does not take its branch
// does not call it. Calls for debugging do not count.
bool is_io_call(const ir::Op& op);

// Returns whether the op is a call that has no condition yet. guarded() returns this call with the
// condition `guard`, a value of the function that contains it.
bool is_guardable(const ir::Op& op);
ir::Op guarded(ir::Op op, ir::ValueId guard);

}  // namespace tessera::ops

namespace tessera::lax {

// Reads arguments and fills results. Both are dense arrays in row-major order, of the call's types.
// An exception ends the run, and is thrown to the caller of the program.
using HostFunction =
    std::function<void(std::span<const void* const> arguments, std::span<void* const> results)>;

// How vmap calls a function of the host.
enum class VmapMethod : uint8_t {
  kNone,          // vmap throws UserError
  kSequential,    // once for each example
  kExpandDims,    // once, with the mapped dimension in front of all arguments and results, which is
                  // 1 for arguments that are the same for all examples
  kBroadcastAll,  // once, with these arguments repeated for each example
};

// The extents that vmap put in front of the shapes of a function's arguments and results: one
// extent for each nested vmap. They are empty for kNone and kSequential.
struct HostBatch {
  std::vector<Dims> arguments;
  Dims results;
};

// A HostFunction that vmap may call.
using BatchedHostFunction =
    std::function<void(const HostBatch& batch, std::span<const void* const> arguments,
                       std::span<void* const> results)>;

struct HostCallOptions {
  VmapMethod vmap_method = VmapMethod::kNone;
  bool ordered = false;  // vmap is an error, since calls for examples have no order
  bool debug = false;    // it may be called more often than the program says (ops::is_io_call)
};

// Registers a function, and returns its number. Programs that were compiled before it is removed
// keep it. These functions may be called from any thread.
int64_t add_host_function(HostFunction function);
// Registers a function that vmap may call, with the types of its arguments and results for one
// example. If it has no result, `results` is {ir::token_type()}.
int64_t add_host_function(BatchedHostFunction function, std::vector<ir::Type> arguments,
                          std::vector<ir::Type> results, const HostCallOptions& options);
void remove_host_function(int64_t number);

// Returns the results of the function for args, of the dtypes and shapes `results`. A pure function
// may be called more than once, or not at all if its results are not read; it has no derivative
// (custom_jvp defines one). Throws UserError if no function has this number.
std::vector<Array> pure_callback(int64_t function, const std::vector<ir::Type>& results,
                                 const std::vector<Array>& args);
// Does the same with a function that has effects: it is called once each time the program reaches
// the call, even if its results are not read. Each device makes its calls in the order of the
// program.
std::vector<Array> io_callback(int64_t function, const std::vector<ir::Type>& results,
                               const std::vector<Array>& args);

}  // namespace tessera::lax
