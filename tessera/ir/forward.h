// Declarations of the IR that the public API names: functions, ops and their params. ir/function.h
// and ir/op_def.h define them, for the compiler's own source files.
#pragma once

#include <cstdint>
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

// The types that Lowered and Compiled contain, which sharding/propagate.h, compile/pipeline.h and
// engine/loaded_program.h define. They are in this namespace and not in that of their folder, so
// that users' programs see no namespaces of the compiler except this one and `ops`.
struct ShardingRequest;
struct Stages;
class LoadedProgram;

// The index of a value in Function::types.
using ValueId = int32_t;

// A function that several params may share. It never changes.
using FunctionRef = std::shared_ptr<const Function>;

// Code that binds ops, as a function from a flat list of arrays to another.
using FlatFn = std::function<std::vector<Array>(const std::vector<Array>&)>;

// Code that computes one instance of an op on the host. It gets pointers to whole operands and
// results, which are in row-major order.
using HostCall = std::function<void(std::span<const void* const> in, std::span<void* const> out)>;

}  // namespace tessera::ir

namespace tessera::ops {
using namespace ir;
}
