// Tracer: a value of a Function under construction. trace/ makes tracers; rules of ops may ask
// whether a tracer is a known constant.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"

namespace tessera::ops {

// What the tracers of a trace share. It outlives the trace, so that leaked tracers are detected.
// Another thread reads it if a tracer is used there by mistake.
struct TraceState {
  std::atomic<bool> live = true;
  const std::thread::id thread = std::this_thread::get_id();

  // Returns whether the trace is running in this thread.
  bool usable() const { return live && thread == std::this_thread::get_id(); }
};

class Tracer final : public ArrayData {
 public:
  Tracer(std::shared_ptr<const TraceState> trace, ValueId id, Type type,
         std::optional<Literal> known = std::nullopt)
      : ArrayData(Kind::kTracer, std::move(type)),
        trace(std::move(trace)),
        id(id),
        known(std::move(known)) {}
  // Both throw UserError kTrace: the value is not known while a function is traced.
  Literal to_literal() const override;
  Sharding sharding() const override;

  const std::shared_ptr<const TraceState> trace;
  const ValueId id;
  const std::optional<Literal> known;  // the value, if it is the result of a constant op
};

// Throws the UserError for a tracer that this thread cannot use, because its trace has ended or is
// running in another thread. If it has ended, `expected` follows "expected" in the message.
[[noreturn]] void throw_unusable(std::string_view op, const Tracer& tracer,
                                 std::string_view expected = "concrete arrays");

// Returns the value of a host array or of a traced constant; null for all others. The pointer is
// valid as long as the array exists.
const Literal* known_value(const Array& array);

}  // namespace tessera::ops
