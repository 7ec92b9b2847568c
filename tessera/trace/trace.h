// Tracing: the one interpreter of user code. A C++ callable is called once with tracers; every op
// it binds is appended to a Function.
//
//   FunctionTrace trace("main");
//   Array x = trace.add_input(type);
//   Function f = trace.finish(std::vector{sine(x) + y});   // y, of outside, is now input 1:
//   trace.captures()[0];                                   // y
//
// Before: nothing but a callable.
// After:  a closed Function of global shapes; its inputs are the declared ones, then what it
//         captured, in the order of first use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/tracer.h"

namespace tessera::tracing {

// Records what is bound on this thread from its construction until finish() or its destruction.
class FunctionTrace final : public Trace {
 public:
  // kAll: every op. kDependent: only ops that read a value of this trace; all others go to the
  // trace outside, or run at once. So a program of tangents is told apart from what it is linear
  // at.
  enum class Records : uint8_t { kAll, kDependent };
  explicit FunctionTrace(std::string name = "main", Records records = Records::kAll);
  ~FunctionTrace() override;
  FunctionTrace(const FunctionTrace&) = delete;
  FunctionTrace& operator=(const FunctionTrace&) = delete;

  Array add_input(Type type);
  // Result types are infer's; an ordinary op's results vary over the manual axes that any of its
  // operands varies over.
  std::vector<Array> record(const OpDef& def, OpParams params,
                            std::span<const Array> operands) override;
  // Ends the trace: its tracers can no longer be used. Outputs may be tracers, inputs, captured
  // arrays or constants.
  Function finish(std::span<const Array> outputs);

  // Runs `fn` as if this trace, the innermost one, were not there.
  template <class F>
  auto outside(const F& fn) {
    const Suspension suspension(*this);
    return fn();
  }
  bool owns(const Array& array) const;
  // The ops recorded from here on are there for this reason (Op::reason).
  void set_reason(int32_t reason) { reason_ = reason; }

  // Arrays of outside that were used: the inputs after the declared ones.
  const std::vector<Array>& captures() const { return captures_; }

 private:
  class Suspension {
   public:
    explicit Suspension(FunctionTrace& trace) : trace_(trace) { set_current(trace.outer_); }
    ~Suspension() { set_current(&trace_); }

   private:
    FunctionTrace& trace_;
  };
  // Where `array` stands in the Function: a value of it, a constant made of a small host array, or
  // a captured input.
  ValueId value_of(std::string_view op, const Array& array);
  ValueId constant(OpParams params);  // of ConstantParams; equal ones are one value
  Array tracer(ValueId id) const;
  ValueId capture(const Array& array);
  void end();

  std::shared_ptr<TraceState> state_ = std::make_shared<TraceState>();
  Trace* outer_;
  const Records records_;
  int32_t reason_ = 0;
  Function function_;
  std::vector<Array> captures_;
  std::vector<ValueId> captured_ids_;
  std::unordered_map<const ArrayData*, ValueId> captured_;  // captures_ keeps the keys alive
  std::unordered_multimap<size_t, ValueId> constants_;      // by hash of the params
  std::unordered_map<ValueId, OpParams> constants_by_id_;
};

// Host arrays of at most so many elements become constants of the Function that uses them; larger
// ones are captured.
inline constexpr int64_t kMaxConstantElements = 64;

// Returns the type of an array as a trace sees it: without a sharding, which is found anew there.
Type traced_type(const Array& x);
std::vector<Type> traced_types(std::span<const Array> arrays);

struct TracedFunction {
  Function function;
  std::vector<Array> captures;  // what its last inputs stand for
};
// Returns what `body` does, by calling it once with tracers of these types.
TracedFunction trace_function(const FlatFn& body, std::span<const Type> inputs,
                              std::string name = "main");

// Binds the ops of `function` to `args` one by one: into the current trace, or at once. Types are
// inferred anew, so shardings that propagation gave to values are not kept. UserError where args
// are not of the input types.
std::vector<Array> inline_function(const Function& function, std::span<const Array> args);

}  // namespace tessera::tracing
