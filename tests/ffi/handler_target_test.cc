// Handlers of XLA's FFI as targets of lax::ffi_call. They include the headers that users have.
#include <gtest/gtest.h>

#include <cmath>

#include "../errors.h"
#include "tessera/ffi/ffi.h"
#include "tessera/mesh/scoped_devices.h"
#include "tessera/ops/control/ffi_target.h"
#include "tessera/tessera.h"
#include "xla/ffi/api/c_api.h"
#include "xla/ffi/api/ffi.h"

namespace tessera::ffi_test {
namespace {

namespace x = xla::ffi;
using ir::Type;
using test::expect_error;
using F32 = x::Buffer<x::F32>;

const std::vector<Type> kFour{Type{.dtype = float32, .shape = {4}}};

x::Error add_values(F32 a, F32 b, x::ResultBuffer<x::F32> out) {
  if (a.element_count() != b.element_count()) return x::Error::InvalidArgument("sizes differ");
  for (size_t i = 0; i < out->element_count(); ++i)
    out->typed_data()[i] = a.typed_data()[i] + b.typed_data()[i % b.element_count()];
  return x::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kAdd, add_values, x::Ffi::Bind().Arg<F32>().Arg<F32>().Ret<F32>());

x::Error power_of(F32 a, x::ResultBuffer<x::F32> out, int32_t exponent, float scale,
                  std::string_view sign, x::Span<const int64_t> shifts) {
  for (size_t i = 0; i < a.element_count(); ++i) {
    float value = scale * std::pow(a.typed_data()[i], static_cast<float>(exponent));
    for (int64_t shift : shifts) value += static_cast<float>(shift);
    out->typed_data()[i] = sign == "minus" ? -value : value;
  }
  return x::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kPower, power_of,
                       x::Ffi::Bind()
                           .Arg<F32>()
                           .Ret<F32>()
                           .Attr<int32_t>("exponent")
                           .Attr<float>("scale")
                           .Attr<std::string_view>("sign")
                           .Attr<x::Span<const int64_t>>("shifts"));

x::Error double_in_place(F32 a, x::ResultBuffer<x::F32> out) {
  if (a.untyped_data() != out->untyped_data()) return x::Error::Internal("not aliased");
  for (size_t i = 0; i < out->element_count(); ++i) out->typed_data()[i] *= 2;
  return x::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kDouble, double_in_place, x::Ffi::Bind().Arg<F32>().Ret<F32>());

x::Future add_one_later(x::ThreadPool pool, F32 a, x::ResultBuffer<x::F32> out) {
  const auto n = static_cast<int64_t>(a.element_count());
  x::CountDownPromise promise(n);
  x::Future future(promise);
  for (int64_t i = 0; i < n; ++i)
    pool.Schedule([promise, i, from = a.typed_data(), to = out->typed_data()]() mutable {
      to[i] = from[i] + 1;
      promise.CountDown();
    });
  return future;
}
XLA_FFI_DEFINE_HANDLER(kLater, add_one_later,
                       x::Ffi::Bind().Ctx<x::ThreadPool>().Arg<F32>().Ret<F32>());

XLA_FFI_Error* of_the_future(XLA_FFI_CallFrame* frame) {
  auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
  extension->metadata->api_version.major_version = 9;
  return nullptr;
}

void register_all() {
  ffi::register_handler("add", kAdd);
  ffi::register_handler("power", kPower);
  ffi::register_handler("double", kDouble);
  ffi::register_handler("later", kLater);
}

std::vector<float> values(const Array& a) { return to_vector<float>(a); }

TEST(Handlers, AreCalledInPrograms) {
  register_all();
  const auto f = jit([](const Array& a) {
    return lax::ffi_call("add", kFour, {a + 1.0, a * 2.0})[0] - 1.0;
  });
  EXPECT_EQ(values(f(arange(4, float32))), (std::vector<float>{0, 3, 6, 9}));
  EXPECT_EQ(values(lax::ffi_call("add", kFour, {ones({4}), ones({4})})[0]),
            (std::vector<float>{2, 2, 2, 2}));
}

TEST(Handlers, HaveAttributes) {
  register_all();
  const auto f = jit([](const Array& a) {
    return lax::ffi_call("power", kFour, {a},
                         {.attributes = {{"exponent", int32_t{2}},
                                         {"scale", 0.5F},
                                         {"sign", "minus"},
                                         {"shifts", std::vector<int64_t>{1, 2}}}})[0];
  });
  EXPECT_EQ(values(f(arange(4, float32))), (std::vector<float>{-3, -3.5, -5, -7.5}));
}

TEST(Handlers, OverwriteAliasedOperands) {
  register_all();
  const Array a = arange(4, float32);
  const auto f = jit([](const Array& b) {
    return lax::ffi_call("double", kFour, {b}, {.aliases = {{0, 0}}})[0];
  });
  EXPECT_EQ(values(f(a)), (std::vector<float>{0, 2, 4, 6}));
  EXPECT_EQ(values(a), (std::vector<float>{0, 1, 2, 3}));
}

TEST(Handlers, CompleteFuturesOnOtherThreads) {
  register_all();
  const auto f = jit([](const Array& a) { return lax::ffi_call("later", kFour, {a})[0]; });
  EXPECT_EQ(values(f(arange(4, float32))), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Handlers, UnderVmap) {
  register_all();
  const Array rows = reshape(arange(12, float32), {3, 4}), ones_of_four = ones({4});
  const auto batch = [&](lax::FfiVmap method) {
    return vmap([&](const Array& a) {
      return lax::ffi_call("add", kFour, {a, ones_of_four}, {.vmap = method})[0];
    })(rows);
  };
  EXPECT_EQ(values(batch(lax::FfiVmap::kSequential)), values(rows + 1.0));
  EXPECT_EQ(values(batch(lax::FfiVmap::kBroadcastAll)), values(rows + 1.0));
  // The handler gets (3, 4) and (1, 4), and accepts only equal sizes.
  EXPECT_THROW(batch(lax::FfiVmap::kExpandDims), ffi::HandlerError);
}

TEST(Handlers, UnderVmapOfVmap) {
  register_all();
  const Array all = reshape(arange(24, float32), {2, 3, 4});
  const auto add_all = vmap([](const Array& a) {
    return vmap([](const Array& b) {
      return lax::ffi_call("add", kFour, {b, b}, {.vmap = lax::FfiVmap::kSequential})[0];
    })(a);
  });
  EXPECT_EQ(values(add_all(all)), values(all * 2.0));
}

TEST(Handlers, ErrorsArriveWithTextAndCode) {
  register_all();
  const auto f = jit([](const Array& a) { return lax::ffi_call("add", kFour, {a, ones({2})})[0]; });
  try {
    f(ones({4}));
    FAIL() << "expected an error";
  } catch (const ffi::HandlerError& e) {
    EXPECT_EQ(e.code(), XLA_FFI_Error_Code_INVALID_ARGUMENT);
    EXPECT_NE(std::string(e.what()).find("'add' to succeed, got the error: sizes differ"),
              std::string::npos);
  }
}

TEST(Handlers, Errors) {
  register_all();
  expect_error([] { lax::ffi_call("nowhere", kFour, {ones({4})}); },
               "[ffi_call] expected a target that is registered in this process, got 'nowhere'");
  expect_error([] { ffi::register_handler("add", kPower); },
               "[register_handlers] expected a target that is not registered yet, or the same "
               "handlers");
  expect_error([] { ffi::register_handler("late", of_the_future); },
               "for version 0.2 to 0.5 of XLA's FFI, got one for 9.0");
  expect_error([] { ffi::register_handler("none", nullptr); }, "for the stage execute, got none");
  expect_error(
      [] {
        lax::ffi_call("double", kFour, {ones({3})}, {.aliases = {{0, 0}}});
      },
      "expected an operand and a result of the same type as aliases");
  expect_error(
      [] {
        lax::ffi_call("double", kFour, {ones({4})}, {.aliases = {{1, 0}}});
      },
      "expected aliases of one of 1 operands and one of 1 results");
  const auto f = [](const Array& a) { return sum(lax::ffi_call("double", kFour, {a})[0]); };
  expect_error([&] { grad(f)(ones({4})); }, "custom_jvp");
  expect_error([&] { vmap(f)(ones({2, 4})); }, "FfiOptions::vmap");
}

TEST(Handlers, TypesHaveOneNumber) {
  const int64_t id = ffi::register_type("a type of the test", 0, nullptr);
  EXPECT_NE(id, 0);
  EXPECT_EQ(ffi::register_type("a type of the test", 0, nullptr), id);
  expect_error([&] { ffi::register_type("a type of the test", id + 1, nullptr); },
               "expected the type 'a type of the test' with the number");
  expect_error([&] { ffi::register_type("another type of the test", id, nullptr); },
               "expected a number that no other type has");
}

}  // namespace
}  // namespace tessera::ffi_test
