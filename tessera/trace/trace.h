// Tracing turns user code into a Function: a C++ callable is called once with tracers, and every op
// that it binds is appended to the Function.
//
//    FunctionTrace trace("main");
//    Array x = trace.add_input(type);
//    Function f = trace.finish(std::vector{sine(x) + y});   // y, an outer array, is now input 1:
//    trace.captures()[0];                                   // y
//
// Before: a callable.
// After:  a closed Function of global shapes; its inputs are the declared ones, then the captured
//         arrays, in the order of first use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/array.h"
#include "tessera/ir/function.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/tracer.h"

namespace tessera::tracing {

// Records the ops that are bound on this thread from its construction until finish() or its
// destruction.
class FunctionTrace final : public Trace {
 public:
  // kAll: records every op. kDependent: records only ops that read a value of this trace; all
  // others go to the outer trace, or run at once. This separates the linear program of tangents
  // from the values.
  enum class Records : uint8_t { kAll, kDependent };
  explicit FunctionTrace(std::string name = "main", Records records = Records::kAll);
  ~FunctionTrace() override;
  FunctionTrace(const FunctionTrace&) = delete;
  FunctionTrace& operator=(const FunctionTrace&) = delete;

  Array add_input(Type type);
  // Appends an op and returns its results, with the types that infer_types() returns.
  std::vector<Array> record(const OpDef& def, OpParams params,
                            std::span<const Array> operands) override;
  // Ends the trace and returns its Function; its tracers can no longer be used. Outputs may be
  // tracers, inputs, captured arrays or constants.
  Function finish(std::span<const Array> outputs);

  // Runs `fn` as if this trace, which is the innermost one, did not exist.
  template <class F>
  auto outside(const F& fn) {
    const Suspension suspension(*this);
    return fn();
  }
  bool owns(const Array& array) const;
  // Sets the reason (Op::reason) of the ops that are recorded from now on.
  void set_reason(int32_t reason) { reason_ = reason; }

  // Returns the captured outer arrays. They are the inputs after the declared ones.
  const std::vector<Array>& captures() const { return captures_; }

 private:
  class Suspension {
   public:
    explicit Suspension(FunctionTrace& trace) : trace_(trace) { set_current(trace.outer_); }
    ~Suspension() { set_current(&trace_); }

   private:
    FunctionTrace& trace_;
  };
  // Returns the value of `array` in the Function: one of its values, a constant with the content of
  // a small host array, or a captured input.
  ValueId value_of(std::string_view op, const Array& array);
  ValueId constant(OpParams params);  // takes ConstantParams; equal constants are one value
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
  std::unordered_multimap<size_t, ValueId> constants_;      // keys are hashes of the params
  std::unordered_map<ValueId, OpParams> constants_by_id_;
};

// Host arrays of at most this many elements become constants of the Function that uses them; larger
// ones are captured.
inline constexpr int64_t kMaxConstantElements = 64;

// Returns the type of an array without its sharding: propagation decides on shardings again.
Type traced_type(const Array& x);
std::vector<Type> traced_types(std::span<const Array> arrays);

struct TracedFunction {
  Function function;
  std::vector<Array> captures;  // arrays that the last inputs stand for
};
// Returns the Function of `body`, which is called once with tracers of these types.
TracedFunction trace_function(const FlatFn& body, std::span<const Type> inputs,
                              std::string name = "main");

// Binds the ops of `function` to `args` one by one, in the current trace or at once, and returns
// the results. Types are inferred again, so the results do not have the shardings that propagation
// chose. Throws UserError if the args do not have the types of the inputs.
std::vector<Array> inline_function(const Function& function, std::span<const Array> args);

}  // namespace tessera::tracing
