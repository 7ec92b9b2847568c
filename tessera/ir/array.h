// Array: the user's handle to one of four things (ArrayData::Kind): a value of a function being traced,
// data on the host, data on devices, or a type without data.
//
// An Array is immutable and cheap to copy. bind_op() hands an op to the innermost trace, or, outside
// any trace, to the eager executor that compile/ installs; so lax-level functions, rules and users
// all write the same language.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tessera/base/literal.h"
#include "tessera/ir/forward.h"
#include "tessera/ir/type.h"
#include "tessera/mesh/sharding.h"

namespace tessera::ir {

// The content of an Array. Subclasses, one for each kind: Tracer (trace/), HostData and AbstractData
// (below), DeviceData (runtime/device_data.h), which has a subclass for each engine.
class ArrayData {
 public:
  enum class Kind : uint8_t { kTracer, kHost, kDevice, kAbstract };
  ArrayData(Kind kind, Type type) : kind(kind), type(std::move(type)) {}
  virtual ~ArrayData() = default;
  // The whole (global) array on the host. A tracer throws UserError kTrace; an array that does not
  // lie in this process as a whole, a UserError that says what to call.
  virtual Literal to_literal() const = 0;
  virtual Sharding sharding() const = 0;

  const Kind kind;
  const Type type;
};

}  // namespace tessera::ir

namespace tessera {

class Array {
 public:
  Array() = default;  // no array; every use of it is an error. In rules: a symbolic zero.
  explicit Array(std::shared_ptr<const ir::ArrayData> data) : data_(std::move(data)) {}
  // A C++ scalar: rank 0, weakly typed (but bool), as a Python scalar is in JAX.
  template <class T>
  requires std::is_arithmetic_v<T> Array(T value) : Array(from_scalar(value)) {}
  // Host data; dtype as given, not weak. Lives on the host until an op uses it.
  explicit Array(Literal literal);

  // The value of a one-element array; UserError kTrace for a traced one.
  explicit operator bool() const;
  bool defined() const { return data_ != nullptr; }

  const ir::Type& type() const { return data()->type; }
  const Shape& shape() const { return type().shape; }
  int64_t shape(int64_t axis) const { return shape()[normalize_axis("shape", axis, ndim())]; }
  DType dtype() const { return type().dtype; }
  int64_t ndim() const { return type().rank(); }
  int64_t size() const { return type().elements(); }
  bool weak_type() const { return type().weak; }
  bool is_tracer() const { return data_ && data_->kind == ir::ArrayData::Kind::kTracer; }
  // Where the array lies. For a traced value: UserError kTrace.
  Sharding sharding() const { return data()->sharding(); }

  // The whole array on the host, row-major.
  Literal to_host() const { return data()->to_literal(); }
  // The only element, as C++ type T (converted).
  template <class T>
  T item() const {
    return static_cast<T>(item_as_double());
  }
  double item_as_double() const;

  const std::shared_ptr<const ir::ArrayData>& data() const;

 private:
  static Array from_scalar(bool value);
  static Array from_scalar(int64_t value);
  static Array from_scalar(double value);
  template <class T>
  static Array from_scalar(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      return from_scalar(static_cast<double>(value));
    } else {
      return from_scalar(static_cast<int64_t>(value));
    }
  }
  std::shared_ptr<const ir::ArrayData> data_;
};

}  // namespace tessera

// Compiled once, in array.cc.
extern template class std::vector<tessera::Array>;

namespace tessera {

Array abstract_array(const Shape& shape, DType dtype);
Array abstract_array(const Shape& shape, DType dtype, const NamedSharding& sharding);

// Whether 64-bit types exist for defaults and promotion, as jax_enable_x64. Off by default.
bool x64_enabled();
void enable_x64(bool enable);

}  // namespace tessera

namespace tessera::ir {

// A small array on the host that has not met an op yet: C++ scalars and literals.
class HostData final : public ArrayData {
 public:
  HostData(Literal literal, Type type)
      : ArrayData(Kind::kHost, std::move(type)), literal(std::move(literal)) {}
  Literal to_literal() const override { return literal; }
  Sharding sharding() const override;
  const Literal literal;
};

// Shape, dtype and sharding without data: what jit(f).lower() and eval_shape() take in place of an
// array. JAX's ShapeDtypeStruct.
class AbstractData final : public ArrayData {
 public:
  explicit AbstractData(Type type) : ArrayData(Kind::kAbstract, std::move(type)) {}
  Literal to_literal() const override;  // UserError: there is no data
  Sharding sharding() const override;
};

// Applies an op. Under a trace the op is recorded and the results are tracers; otherwise it runs at
// once.
std::vector<Array> bind_op(const OpDef& def, OpParams params, std::span<const Array> operands);
Array bind_op1(const OpDef& def, OpParams params, std::initializer_list<Array> operands);
// The op of this name; null if there is none.
const OpDef* find_op(std::string_view dialect, std::string_view name);

// The innermost trace records what is bound. Traces stack; arrays of an outer one are captured by
// the inner.
class Trace {
 public:
  virtual ~Trace() = default;
  virtual std::vector<Array> record(const OpDef& def, OpParams params,
                                    std::span<const Array> operands) = 0;
  static Trace* current();  // of this thread; null outside any trace

 protected:
  static void set_current(Trace* trace);
};

// Runs one op on concrete arrays; installed once by compile/.
using EagerExecutor = std::vector<Array> (*)(const OpDef& def, const OpParams& params,
                                             std::span<const Array> operands);
void set_eager_executor(EagerExecutor executor);

}  // namespace tessera::ir
