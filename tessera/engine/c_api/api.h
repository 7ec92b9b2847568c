// The C API of a plugin for C++: functions are called by name, errors are exceptions, and handles
// are destroyed.
#pragma once

#include <memory>
#include <string>

#include "tessera/engine/client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace tessera::engine {

// Makes the arguments of PJRT_##name; the caller sets the other fields.
#define TESSERA_PJRT_ARGS(name) \
  PJRT_##name##_Args { .struct_size = PJRT_##name##_Args_STRUCT_SIZE }

// Throws Failure if there is an error.
void check(const PJRT_Api* api, PJRT_Error* error);

// Owns a handle that the plugin has made, and lets the plugin destroy it.
template <class Handle, class Args, auto function, auto field>
struct Destroy {
  const PJRT_Api* api = nullptr;
  void operator()(Handle* handle) const {
    Args args{};
    args.struct_size = sizeof(Args);
    args.*field = handle;
    // Errors of a destructor are ignored, because no caller could handle them.
    if (PJRT_Error* error = (api->*function)(&args)) {
      PJRT_Error_Destroy_Args gone{.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                   .error = error};
      api->PJRT_Error_Destroy(&gone);
    }
  }
};
template <class Handle, class Args, auto function, auto field>
using Owned = std::unique_ptr<Handle, Destroy<Handle, Args, function, field>>;

using BufferHandle = Owned<PJRT_Buffer, PJRT_Buffer_Destroy_Args, &PJRT_Api::PJRT_Buffer_Destroy,
                           &PJRT_Buffer_Destroy_Args::buffer>;
using EventHandle = Owned<PJRT_Event, PJRT_Event_Destroy_Args, &PJRT_Api::PJRT_Event_Destroy,
                          &PJRT_Event_Destroy_Args::event>;
using ExecutableHandle =
    Owned<PJRT_Executable, PJRT_Executable_Destroy_Args, &PJRT_Api::PJRT_Executable_Destroy,
          &PJRT_Executable_Destroy_Args::executable>;
using LoadedExecutableHandle = Owned<PJRT_LoadedExecutable, PJRT_LoadedExecutable_Destroy_Args,
                                     &PJRT_Api::PJRT_LoadedExecutable_Destroy,
                                     &PJRT_LoadedExecutable_Destroy_Args::executable>;

// Waits for the event. Throws Failure if its operation failed.
void await(const PJRT_Api* api, PJRT_Event* event);

// Returns the C API's type for a dtype, or PJRT_Buffer_Type_INVALID if it has none.
PJRT_Buffer_Type buffer_type(DType dtype);

// Returns the functions of the plugin at `path`. Throws the UserError [initialize] of
// open_client(). A plugin stays loaded for the life of the process. One thread at a time may call
// it.
const PJRT_Api* load_plugin(const std::string& path);

ClientRef make_client(const PJRT_Api* api, const std::string& path,
                      const std::map<std::string, std::string>& options);

class CApiBuffer final : public ClientBuffer {
 public:
  CApiBuffer(const PJRT_Api* api, PJRT_Buffer* buffer) : api_(api), buffer_(buffer, {api}) {}
  void copy_to_host(std::byte* to, int64_t bytes) const override;
  void release() const override;
  PJRT_Buffer* get() const { return buffer_.get(); }

 private:
  const PJRT_Api* api_;
  BufferHandle buffer_;
};

class CApiExecutable final : public ClientExecutable {
 public:
  CApiExecutable(const PJRT_Api* api, PJRT_LoadedExecutable* executable);
  std::vector<std::vector<ClientBufferRef>> execute(
      std::span<const std::vector<const ClientBuffer*>> args) const override;
  std::string optimized_program() const override;
  int64_t temporary_bytes() const override;

 private:
  ExecutableHandle unloaded() const;
  const PJRT_Api* api_;
  LoadedExecutableHandle executable_;
  size_t num_outputs_ = 0;
};

}  // namespace tessera::engine
