// Functions of the host that a program calls while it runs: pure_callback and io_callback.
//
// A program holds the number of such a function, not the function: the registry below says which one
// it is in this process. A function is called with whole arrays, on all devices of a program once; in a
// shard_map once for each part that differs. It is called from threads of the runtime.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"

namespace tessera::ops {

extern const OpDef& pure_callback_op;
extern const OpDef& io_callback_op;

// The same with a bool[] before its arguments: where it is false the function is not called, and results
// are zeros. Made by the partitioner (spmd/divergence.h).
extern const OpDef& io_callback_if_op;

// Whether the op calls a function of the host.
bool calls_host(const ir::Op& op);

// Whether the op is an io_callback, and that call where `guard`, a value of its function, is true.
bool is_guardable(const ir::Op& op);
ir::Op guarded(ir::Op op, ir::ValueId guard);

}  // namespace tessera::ops

namespace tessera::lax {

// Reads arguments and fills results, both dense in row-major order, of the types that the call was made
// with. What it throws ends the run, and its caller gets it.
using HostFunction =
    std::function<void(std::span<const void* const> arguments, std::span<void* const> results)>;

// The number of a function from now on; any thread may call these. Programs that were compiled before
// the function is removed keep it.
int64_t add_host_function(HostFunction function);
void remove_host_function(int64_t number);

// Results of these types (dtype and shape) by function(args). A pure function may be called more than
// once, or not at all where nobody reads its results; it has no derivative (custom_jvp gives it one).
// UserError for a number that no function has.
std::vector<Array> pure_callback(int64_t function, const std::vector<ir::Type>& results,
                                 const std::vector<Array>& args);
// The same of a function with effects: called once each time the program comes there, though nobody
// reads its results. Calls of one program follow each other where one takes a result of the other.
std::vector<Array> io_callback(int64_t function, const std::vector<ir::Type>& results,
                               const std::vector<Array>& args);

}  // namespace tessera::lax
