// What the rules of ops with regions ask of tracing and of the transforms. Those stand above ops/
// and install themselves here (transform/install_regions.cc), as the eager executor does for bind_op().
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"
#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The type of an array as a trace sees it: without a sharding, which is found anew there.
Type traced_type(const Array& x);
std::vector<Type> traced_types(std::span<const Array> arrays);

struct TracedFunction {
  Function function;
  std::vector<Array> captures;  // what its last inputs stand for
};

// The tangent program of a function at given primals: linear in its first inputs, which are the
// tangents of the arguments that have one; the inputs after them are residuals.
struct LinearizedFunction {
  std::vector<Array> primals;  // the function's results
  Function linear;
  std::vector<Array> residuals;  // what the last inputs of `linear` stand for
  std::vector<bool> nonzero;     // which results have a tangent; `linear` returns those
};

struct RegionTransforms {
  // Calls `body` with tracers of these types.
  TracedFunction (*trace)(const FlatFn& body, std::span<const Type> inputs, std::string name);
  // Binds the ops of `function` to `args`; types are inferred anew.
  std::vector<Array> (*apply)(const Function& function, std::span<const Array> args);
  // Results and tangents of `function`, op by op; an undefined tangent is zero.
  JvpResult (*jvp)(const Function& function, std::span<const Array> primals,
                   std::span<const Array> tangents);
  LinearizedFunction (*linearize)(const Function& function, std::span<const Array> primals,
                                  const std::vector<bool>& has_tangent);
  // The same where the values `known` of the function are given, not computed.
  LinearizedFunction (*linearize_with)(const Function& function, std::span<const Array> primals,
                                       const std::vector<bool>& has_tangent, const Dims& known,
                                       std::span<const Array> known_values);
  // Cotangents of the inputs marked `linear` (undefined for the others), given those of the results
  // (undefined: zero). `function` is linear in the marked inputs; their operands are not read.
  std::vector<Array> (*transpose)(const Function& function, const std::vector<bool>& linear,
                                  std::span<const Array> operands,
                                  std::span<const Array> cotangents);
  // The same as far as what examples share, and not through it (transform/uses.h).
  Uses (*uses)(const Function& function, const std::vector<Sharing>& sharing,
               std::span<const Array> operands, std::span<const Array> cotangents);
  // `function` over every example: operands mapped at `dims` (-1: the same for all).
  BatchResult (*batch)(const Function& function, std::span<const Array> operands,
                       std::span<const int> dims);
};
const RegionTransforms& regions();
// A use that hands its input on: `cotangent` is the input's, of each example.
Use identity_use(size_t input, const Array& cotangent);
void install_region_transforms(const RegionTransforms& transforms);

}  // namespace tessera::ops
