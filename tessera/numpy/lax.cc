#include "tessera/numpy/lax.h"

#include "tessera/trace/trace.h"

namespace tessera::lax {

using namespace tracing;

std::vector<Array> reduce(std::span<const Array> operands, std::span<const Array> inits,
                          const ArraysFunction& computation, const Dims& dims) {
  std::vector<Type> scalars;
  for (int side = 0; side < 2; ++side)
    for (const Array& x : operands) scalars.push_back({x.dtype(), {}});
  TracedFunction body = trace_function(computation, scalars, "reducer");
  if (!body.captures.empty())
    trace_error("reduce",
                "expected a computation of its arguments alone, got one that uses an array of "
                "outside, {}; pass it as an "
                "operand, or apply it after the reduction",
                describe(body.captures[0].type()));
  return reduce(operands, inits, std::make_shared<const Function>(remove_dead_ops(body.function)),
                dims);
}

}  // namespace tessera::lax
