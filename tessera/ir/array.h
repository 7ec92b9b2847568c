// Array: what users hold, which is one of four things (ArrayData::Kind): a value of a function
// being traced, data on the host, data on devices, or a type without data.
//
// An Array is immutable and cheap to copy. bind_op() passes an op to the innermost trace, or, if
// there is none, to the eager executor that compile/ installs. So functions of lax, rules and users
// write the same code whether or not it is traced.
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

// The content of an Array. It has a subclass for each kind: Tracer (trace/), HostData and
// AbstractData (below), and DeviceData (runtime/device_data.h), which has a subclass for each
// engine.
class ArrayData {
 public:
  enum class Kind : uint8_t { kTracer, kHost, kDevice, kAbstract };
  ArrayData(Kind kind, Type type) : kind(kind), type(std::move(type)) {}
  virtual ~ArrayData() = default;
  // Returns the whole (global) array on the host. A tracer throws UserError kTrace; an array that
  // is not completely in this process throws a UserError that names the function to call.
  virtual Literal to_literal() const = 0;
  virtual Sharding sharding() const = 0;

  const Kind kind;
  const Type type;
};

}  // namespace tessera::ir

namespace tessera {

class Array {
 public:
  Array() = default;  // no array: any use throws. In rules it is a symbolic zero.
  explicit Array(std::shared_ptr<const ir::ArrayData> data) : data_(std::move(data)) {}
  // Makes an array of a C++ scalar: of rank 0 and weakly typed (except bool), like Python scalars
  // in JAX.
  template <class T>
  requires std::is_arithmetic_v<T> Array(T value) : Array(from_scalar(value)) {}
  // Makes an array of a complex number, as std::complex_literals has them: rank 0, weakly typed.
  template <template <class> class Complex, class T>
  requires(DTypeOf<Complex<T>>::value == complex64 || DTypeOf<Complex<T>>::value == complex128)
      Array(const Complex<T>& value)
      : Array(from_complex(value.real(), value.imag())) {}
  // There is no conversion from a std::vector of numbers, because it would copy the numbers without
  // saying so. This constructor only makes the compiler print what to write instead.
  template <class T, class Allocator>
  requires std::is_arithmetic_v<T> Array(const std::vector<T, Allocator>&) {
    static_assert(kNever<T>,
                  "expected an Array, got a std::vector of numbers: write array(values), or "
                  "from_host(values, shape)");
  }
  // Makes an array of host data, with the dtype of the literal and no weak type. The data stays on
  // the host until an op uses it.
  explicit Array(Literal literal);

  // Returns the value of a one-element array. Throws UserError kTrace if it is traced.
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
  // Returns where the array is. Throws UserError kTrace for a traced value.
  Sharding sharding() const { return data()->sharding(); }

  // Returns the whole array on the host, row-major.
  Literal to_host() const { return data()->to_literal(); }
  // Returns the only element, converted to the C++ type T.
  template <class T>
  T item() const {
    return static_cast<T>(item_as_double());
  }
  double item_as_double() const;

  const std::shared_ptr<const ir::ArrayData>& data() const;

  // There is no x[i]. This operator only makes the compiler print what to write instead.
  template <class Index>
  Array operator[](const Index&) const {
    static_assert(kNever<Index>,
                  "an Array has no operator[]: write index(x, {i, Slice(1, 5)}) for x[i, 1:5], and "
                  "x = at(x)[{i}].set(value) for x[i] = value");
    return {};
  }

 private:
  template <class>
  static constexpr bool kNever = false;
  static Array from_complex(double real, double imag);
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

// These templates are compiled once, in array.cc.
extern template class std::vector<tessera::Array>;

namespace tessera {

Array abstract_array(const Shape& shape, DType dtype);
Array abstract_array(const Shape& shape, DType dtype, const NamedSharding& sharding);

// Returns whether the default dtypes and promotion use 64 bits, like jax_enable_x64. It is off by
// default.
bool x64_enabled();
void enable_x64(bool enable);

}  // namespace tessera

namespace tessera::ir {

// A small array on the host that no op has used yet: C++ scalars and literals.
class HostData final : public ArrayData {
 public:
  HostData(Literal literal, Type type)
      : ArrayData(Kind::kHost, std::move(type)), literal(std::move(literal)) {}
  Literal to_literal() const override { return literal; }
  Sharding sharding() const override;
  const Literal literal;
};

// Shape, dtype and sharding without data (JAX's ShapeDtypeStruct). jit(f).lower() and eval_shape()
// accept it in place of an array.
class AbstractData final : public ArrayData {
 public:
  explicit AbstractData(Type type) : ArrayData(Kind::kAbstract, std::move(type)) {}
  Literal to_literal() const override;  // throws UserError: there is no data
  Sharding sharding() const override;
};

// Applies an op and returns its results. Under a trace the op is recorded and the results are
// tracers; otherwise the op runs at once.
std::vector<Array> bind_op(const OpDef& def, OpParams params, std::span<const Array> operands);
Array bind_op1(const OpDef& def, OpParams params, std::initializer_list<Array> operands);
// Returns the op of this name, or null if there is none.
const OpDef* find_op(std::string_view dialect, std::string_view name);

// A trace records the ops that are bound while it is the innermost one. Traces nest: an inner trace
// captures arrays of outer ones.
class Trace {
 public:
  virtual ~Trace() = default;
  virtual std::vector<Array> record(const OpDef& def, OpParams params,
                                    std::span<const Array> operands) = 0;
  static Trace* current();  // the innermost trace of this thread; null outside any trace

 protected:
  static void set_current(Trace* trace);
};

// Runs one op on concrete arrays; throws UserError kTrace for a tracer. compile/ installs it once.
using EagerExecutor = std::vector<Array> (*)(const OpDef& def, const OpParams& params,
                                             std::span<const Array> operands);
void set_eager_executor(EagerExecutor executor);

}  // namespace tessera::ir
