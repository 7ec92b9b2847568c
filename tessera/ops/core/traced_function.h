// Functions that are made by tracing a callable, as code of ops/ names them. Tracing stands above
// ops/; trace_function() is declared here for those who say an op by functions of Arrays.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"

namespace tessera::ops {

// Returns the type of an array as a trace sees it: without a sharding, which is found anew there.
Type traced_type(const Array& x);
std::vector<Type> traced_types(std::span<const Array> arrays);

struct TracedFunction {
  Function function;
  std::vector<Array> captures;  // what its last inputs stand for
};

// Returns what `body` does, by calling it once with tracers of these types (trace/trace.cc).
TracedFunction trace_function(const FlatFn& body, std::span<const Type> inputs,
                              std::string name = "main");

}  // namespace tessera::ops
