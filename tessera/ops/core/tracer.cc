#include "tessera/ops/core/tracer.h"

namespace tessera::ops {

Literal Tracer::to_literal() const {
  trace_error("to_host",
              "expected a concrete array, got the traced {}: while a function is traced its values "
              "are not known; "
              "return it from the function and read it outside",
              describe(type));
}

Sharding Tracer::sharding() const {
  trace_error("sharding",
              "expected a concrete array, got the traced {}: shardings are decided when the "
              "function is compiled; "
              "constrain it with with_sharding_constraint, or see jit(f).lower(x).text()",
              describe(type));
}

void throw_unusable(std::string_view op, const Tracer& tracer, std::string_view expected) {
  const TraceState& trace = *tracer.trace;
  if (trace.live && !trace.usable())
    trace_error(op,
                "expected an array that this thread can use, got the traced {} of another thread, "
                "in which its function is being traced; compute with it in that thread, or return "
                "it from the traced function and pass the result to other threads",
                describe(tracer.type));
  trace_error(
      op,
      "expected {}, got the traced {} after its trace has ended (a leaked tracer): return it "
      "from the traced function instead of storing it",
      expected, describe(tracer.type));
}

const Literal* known_value(const Array& array) {
  if (!array.defined()) return nullptr;
  switch (array.data()->kind) {
    case ArrayData::Kind::kHost:
      return &static_cast<const HostData*>(array.data().get())->literal;
    case ArrayData::Kind::kTracer: {
      const auto* tracer = static_cast<const Tracer*>(array.data().get());
      return tracer->known ? &*tracer->known : nullptr;
    }
    case ArrayData::Kind::kDevice:
    case ArrayData::Kind::kAbstract:
      return nullptr;
  }
  return nullptr;
}

}  // namespace tessera::ops
