#include "tessera/ir/array.h"

#include <atomic>
#include <complex>

#include "tessera/base/array_size.h"
#include "tessera/base/narrow.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ir/narrow_ops.h"
#include "tessera/ir/op_def.h"
#include "tessera/mesh/default_device.h"

namespace tessera::ir {
namespace {

std::atomic<EagerExecutor> eager_executor{nullptr};
thread_local Trace* current_trace = nullptr;

}  // namespace

Trace* Trace::current() { return current_trace; }
void Trace::set_current(Trace* trace) { current_trace = trace; }
void set_eager_executor(EagerExecutor executor) { eager_executor = executor; }

Sharding HostData::sharding() const { return SingleDeviceSharding(default_device()); }

Literal AbstractData::to_literal() const {
  value_error(
      "array",
      "expected an array with data, got the abstract {}; it can be lowered, not run or read",
      describe(type));
}
Sharding AbstractData::sharding() const {
  if (type.sharding) return *type.sharding;
  return SingleDeviceSharding(default_device());
}

std::vector<Array> bind_op(const OpDef& def, OpParams params, std::span<const Array> operands) {
  if (auto results = bind_widened(def, params, operands)) return std::move(*results);
  if (Trace* trace = Trace::current()) return trace->record(def, std::move(params), operands);
  const EagerExecutor execute = eager_executor.load();
  TESSERA_CHECK(execute != nullptr, "no eager executor is installed");
  return execute(def, params, operands);
}

Array bind_op1(const OpDef& def, OpParams params, std::initializer_list<Array> operands) {
  return bind_op(def, std::move(params),
                 std::span<const Array>(operands.begin(), operands.size()))[0];
}

}  // namespace tessera::ir

namespace tessera {

using namespace ir;

namespace {
std::atomic<bool> x64{false};
}

bool x64_enabled() { return x64.load(std::memory_order_relaxed); }
void enable_x64(bool enable) { x64 = enable; }

Array abstract_array(const Shape& shape, DType dtype) {
  checked_bytes("abstract_array", dtype, shape);
  return Array(std::make_shared<AbstractData>(Type{.dtype = dtype, .shape = shape}));
}
Array abstract_array(const Shape& shape, DType dtype, const NamedSharding& sharding) {
  checked_bytes("abstract_array", dtype, shape);
  check_rank("abstract_array", sharding, shape);
  return Array(std::make_shared<AbstractData>(
      Type{.dtype = dtype, .shape = shape, .sharding = std::make_shared<NamedSharding>(sharding)}));
}

Array::Array(Literal literal) {
  ir::Type type{.dtype = literal.dtype(), .shape = literal.shape()};
  data_ = std::make_shared<HostData>(std::move(literal), std::move(type));
}

Array Array::from_scalar(bool value) { return Array(Literal::scalar(value)); }

Array Array::from_scalar(int64_t value) {
  if (!x64_enabled() && value != static_cast<int32_t>(value))
    value_error(
        "array",
        "expected an integer that fits int32, got {}; call enable_x64(true) for 64-bit types",
        value);
  Literal literal =
      x64_enabled() ? Literal::scalar(value) : Literal::scalar(static_cast<int32_t>(value));
  ir::Type type{.dtype = literal.dtype(), .shape = {}, .weak = true};
  return Array(std::make_shared<HostData>(std::move(literal), std::move(type)));
}

Array Array::from_scalar(double value) {
  Literal literal =
      x64_enabled() ? Literal::scalar(value) : Literal::scalar(static_cast<float>(value));
  ir::Type type{.dtype = literal.dtype(), .shape = {}, .weak = true};
  return Array(std::make_shared<HostData>(std::move(literal), std::move(type)));
}

Array Array::from_complex(double real, double imag) {
  const std::complex<double> value(real, imag);
  Literal literal =
      x64_enabled() ? Literal::scalar(value) : Literal::scalar(std::complex<float>(value));
  ir::Type type{.dtype = literal.dtype(), .shape = {}, .weak = true};
  return Array(std::make_shared<HostData>(std::move(literal), std::move(type)));
}

const std::shared_ptr<const ArrayData>& Array::data() const {
  if (!data_) value_error("array", "expected an array, got an empty Array; assign it before use");
  return data_;
}

double Array::item_as_double() const {
  if (size() != 1)
    shape_error("item", "expected an array of one element, got {}; index or reduce it first",
                describe(type()));
  const Literal value = widened(to_host());
  return visit_dtype(value.dtype(), [&]<class T>(TypeTag<T>) -> double {
    const T x = value.data<T>()[0];
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      return static_cast<double>(x.real());
    } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
      return static_cast<float>(x);
    } else {
      return static_cast<double>(x);
    }
  });
}

Array::operator bool() const {
  if (is_tracer())
    trace_error("bool",
                "expected a concrete value, got the traced {}: while a function is traced its "
                "values are not known; use "
                "where(), cond() or while_loop(), or compute the condition outside",
                describe(type()));
  return item_as_double() != 0;
}

}  // namespace tessera

template class std::vector<tessera::Array>;
