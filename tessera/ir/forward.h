// Declarations of the IR that the public API names: functions, ops and their params. ir/function.h
// and ir/op_def.h define them, for the compiler's own source files.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tessera {
class Array;
}

namespace tessera::ir {

class Function;
class OpParams;
struct Op;
struct OpDef;
struct JvpResult;

// What Lowered and Compiled hold, defined by sharding/propagate.h, compile/pipeline.h and
// engine/loaded_program.h. They are in this namespace and not in that of their folder, so that
// users' programs see none of the compiler's namespaces but this one and `ops`.
struct ShardingRequest;
struct Stages;
class LoadedProgram;

// A function that several params may share; it never changes once it is shared.
using FunctionRef = std::shared_ptr<const Function>;

// Traced code, as a function of flat lists of arrays.
using FlatFn = std::function<std::vector<Array>(const std::vector<Array>&)>;

// Code that computes one instance on the host. It gets pointers to whole operands and results,
// row-major.
using HostCall = std::function<void(std::span<const void* const> in, std::span<void* const> out)>;

}  // namespace tessera::ir

namespace tessera::ops {
using namespace ir;
}
