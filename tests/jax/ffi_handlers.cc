// Handlers of XLA's FFI for test_ffi.py, which compiles this file with the headers of jaxlib.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "xla/ffi/api/c_api.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;

static ffi::Error Add(F32 a, F32 b, ffi::ResultBuffer<ffi::F32> out) {
  if (a.element_count() != b.element_count())
    return ffi::Error::InvalidArgument("sizes differ: " + std::to_string(a.element_count()) +
                                       " and " + std::to_string(b.element_count()));
  for (size_t i = 0; i < a.element_count(); ++i)
    out->typed_data()[i] = a.typed_data()[i] + b.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(add, Add, ffi::Ffi::Bind().Arg<F32>().Arg<F32>().Ret<F32>());

// Returns the sum of all attributes, in every element.
static ffi::Error SumAttributes(ffi::ResultBuffer<ffi::F64> out, int32_t i32, int64_t i64,
                                uint8_t u8, float f32, double f64, bool flag, std::string_view text,
                                ffi::Span<const int32_t> array, ffi::Dictionary dictionary) {
  const auto inner = dictionary.get<int64_t>("inner");
  if (inner.has_error()) return inner.error();
  double sum = i32 + static_cast<double>(i64) + u8 + f32 + f64 + (flag ? 1 : 0);
  sum += static_cast<double>(text.size()) + static_cast<double>(*inner);
  for (int32_t value : array) sum += value;
  for (size_t i = 0; i < out->element_count(); ++i) out->typed_data()[i] = sum;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(sum_attributes, SumAttributes,
                              ffi::Ffi::Bind()
                                  .Ret<ffi::Buffer<ffi::F64>>()
                                  .Attr<int32_t>("i32")
                                  .Attr<int64_t>("i64")
                                  .Attr<uint8_t>("u8")
                                  .Attr<float>("f32")
                                  .Attr<double>("f64")
                                  .Attr<bool>("flag")
                                  .Attr<std::string_view>("text")
                                  .Attr<ffi::Span<const int32_t>>("array")
                                  .Attr<ffi::Dictionary>("dictionary"));

// Doubles its operand in place. Operand and result have the same memory.
static ffi::Error DoubleInPlace(F32 x, ffi::ResultBuffer<ffi::F32> out) {
  if (x.untyped_data() != out->untyped_data()) return ffi::Error::Internal("not aliased");
  for (size_t i = 0; i < out->element_count(); ++i) out->typed_data()[i] *= 2;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(double_in_place, DoubleInPlace,
                              ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

static ffi::Error Nothing(F32, ffi::ResultBuffer<ffi::F32>) { return ffi::Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(nothing, Nothing, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

// A counter in the state of one call in a program.
struct Counter {
  static ffi::TypeId id;
  int32_t calls = 0;
};
ffi::TypeId Counter::id = {};
static ffi::TypeInfo counter_info = ffi::MakeTypeInfo<Counter>();

static ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter() { return std::make_unique<Counter>(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(counter_instantiate, MakeCounter, ffi::Ffi::BindInstantiate());
static ffi::Error Count(Counter* counter, ffi::ResultBuffer<ffi::S32> out) {
  out->typed_data()[0] = ++counter->calls;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    counter_execute, Count,
    ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<ffi::Buffer<ffi::S32>>());

extern "C" void* counter_type_id() { return &Counter::id; }
extern "C" void* counter_type_info() { return &counter_info; }

// Adds one to each element on the threads of the host, and completes a future.
static ffi::Future AddOneLater(ffi::ThreadPool pool, F32 x, ffi::ResultBuffer<ffi::F32> out) {
  const auto n = static_cast<int64_t>(x.element_count());
  ffi::CountDownPromise promise(n);
  ffi::Future future(promise);
  for (int64_t i = 0; i < n; ++i)
    pool.Schedule([promise, i, from = x.typed_data(), to = out->typed_data()]() mutable {
      to[i] = from[i] + 1;
      promise.CountDown();
    });
  return future;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(add_one_later, AddOneLater,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<F32>().Ret<F32>());

// A handler for a version of the interface that no host supports.
extern "C" XLA_FFI_Error* of_the_future(XLA_FFI_CallFrame* frame) {
  auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
  extension->metadata->api_version.major_version = 9;
  return nullptr;
}
