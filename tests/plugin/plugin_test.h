// Helpers for the tests of the plugin: the library's table of functions, as JAX gets it, and a
// client of two devices.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "xla/pjrt/c/pjrt_c_api.h"

namespace tessera::plugin_test {

inline const PJRT_Api& api() {
  static const PJRT_Api* const loaded = [] {
    void* library = dlopen(TESSERA_PJRT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
  }();
  return *loaded;
}

template <class Args>
Args args() {
  Args out{};
  out.struct_size = sizeof(Args);
  return out;
}

struct Error {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
};

inline Error taken(PJRT_Error* error) {
  if (!error) return {};
  auto message = args<PJRT_Error_Message_Args>();
  message.error = error;
  api().PJRT_Error_Message(&message);
  auto code = args<PJRT_Error_GetCode_Args>();
  code.error = error;
  api().PJRT_Error_GetCode(&code);
  Error out{code.code, {message.message, message.message_size}};
  auto destroy = args<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api().PJRT_Error_Destroy(&destroy);
  return out;
}

inline void expect_ok(PJRT_Error* error) { EXPECT_EQ(taken(error).message, ""); }

inline bool is_ready(PJRT_Event* event) {
  auto a = args<PJRT_Event_IsReady_Args>();
  a.event = event;
  expect_ok(api().PJRT_Event_IsReady(&a));
  return a.is_ready;
}

inline void destroy(PJRT_Event* event) {
  auto a = args<PJRT_Event_Destroy_Args>();
  a.event = event;
  expect_ok(api().PJRT_Event_Destroy(&a));
}

inline void destroy(PJRT_Buffer* buffer) {
  auto a = args<PJRT_Buffer_Destroy_Args>();
  a.buffer = buffer;
  expect_ok(api().PJRT_Buffer_Destroy(&a));
}

class Plugin : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    PJRT_NamedValue devices{};
    devices.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    devices.name = "num_devices";
    devices.name_size = std::strlen(devices.name);
    devices.type = PJRT_NamedValue_kInt64;
    devices.int64_value = 2;
    devices.value_size = 1;
    auto a = args<PJRT_Client_Create_Args>();
    a.create_options = &devices;
    a.num_options = 1;
    expect_ok(api().PJRT_Client_Create(&a));
    client = a.client;
    auto all = args<PJRT_Client_AddressableMemories_Args>();
    all.client = client;
    expect_ok(api().PJRT_Client_AddressableMemories(&all));
    ASSERT_EQ(all.num_addressable_memories, 6U) << "three kinds on each device";
    memory = all.addressable_memories[0];
  }
  static void TearDownTestSuite() {
    auto a = args<PJRT_Client_Destroy_Args>();
    a.client = client;
    expect_ok(api().PJRT_Client_Destroy(&a));
  }

  static std::vector<float> read(PJRT_Buffer* buffer, size_t n) {
    std::vector<float> out(n);
    auto a = args<PJRT_Buffer_ToHostBuffer_Args>();
    a.src = buffer;
    a.dst = out.data();
    a.dst_size = n * sizeof(float);
    expect_ok(api().PJRT_Buffer_ToHostBuffer(&a));
    if (a.event) destroy(a.event);
    return out;
  }

  // Compiles a program and returns the error; `loaded` is null if there is one.
  static Error compile(std::string program, const std::string& options,
                       PJRT_LoadedExecutable** loaded) {
    PJRT_Program p{};
    p.struct_size = PJRT_Program_STRUCT_SIZE;
    p.code = program.data();
    p.code_size = program.size();
    p.format = "mlir";
    p.format_size = 4;
    auto a = args<PJRT_Client_Compile_Args>();
    a.client = client;
    a.program = &p;
    a.compile_options = options.data();
    a.compile_options_size = options.size();
    const Error error = taken(api().PJRT_Client_Compile(&a));
    *loaded = error.code == PJRT_Error_Code_OK ? a.executable : nullptr;
    return error;
  }
  // Compiles a program, destroys the executable, and returns the error.
  static Error compile(const std::string& program, const std::string& options) {
    PJRT_LoadedExecutable* loaded = nullptr;
    const Error error = compile(program, options, &loaded);
    if (loaded) destroy(loaded);
    return error;
  }
  // Returns the executable of a program that compiles.
  static PJRT_LoadedExecutable* compiled(const std::string& program, const std::string& options) {
    PJRT_LoadedExecutable* loaded = nullptr;
    EXPECT_EQ(compile(program, options, &loaded).message, "");
    return loaded;
  }
  static PJRT_Executable* executable_of(PJRT_LoadedExecutable* loaded) {
    auto a = args<PJRT_LoadedExecutable_GetExecutable_Args>();
    a.loaded_executable = loaded;
    expect_ok(api().PJRT_LoadedExecutable_GetExecutable(&a));
    return a.executable;
  }
  static void destroy(PJRT_Executable* executable) {
    auto a = args<PJRT_Executable_Destroy_Args>();
    a.executable = executable;
    expect_ok(api().PJRT_Executable_Destroy(&a));
  }
  static void destroy(PJRT_LoadedExecutable* executable) {
    auto a = args<PJRT_LoadedExecutable_Destroy_Args>();
    a.executable = executable;
    expect_ok(api().PJRT_LoadedExecutable_Destroy(&a));
  }
  using testing::Test::Test;
  static void destroy(PJRT_Buffer* buffer) { plugin_test::destroy(buffer); }
  static void destroy(PJRT_Event* event) { plugin_test::destroy(event); }

  static inline PJRT_Client* client = nullptr;
  static inline PJRT_Memory* memory = nullptr;
};

inline const char* const kProgram =
    "module @twice { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> { "
    "%0 = stablehlo.add %x, %x : tensor<4xf32> return %0 : tensor<4xf32> } }";

inline PJRT_Client_BufferFromHostBuffer_Args host_args(PJRT_Client* client, PJRT_Memory* memory,
                                                       const float* data, const int64_t& n) {
  auto a = args<PJRT_Client_BufferFromHostBuffer_Args>();
  a.client = client;
  a.data = data;
  a.type = PJRT_Buffer_Type_F32;
  a.dims = &n;
  a.num_dims = 1;
  a.memory = memory;
  return a;
}

}  // namespace tessera::plugin_test
