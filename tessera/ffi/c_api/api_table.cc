// Implements the functions of XLA's FFI that a host offers to handlers (ffi.h), such as making an
// error or keeping a state, and the table in which handlers find them.
#include <cstdlib>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/base/thread_pool.h"
#include "tessera/ffi/c_api/context.h"
#include "tessera/ffi/c_api/types.h"
#include "tessera/ffi/ffi.h"
#include "tessera/ffi/task_queue.h"

namespace tessera::ffi {
namespace {

// Up to version 0.2 a state belongs to the stage `instantiate`, and these structs do not name one.
struct StateArgs02 {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* state;
};

// From version 0.4 on the table has more functions, and this one also returns the code.
struct ErrorDetailsArgs04 {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  XLA_FFI_Error* error;
  const char* message;
  XLA_FFI_Error_Code errc;
};

XLA_FFI_Error* absent(std::string_view what) {
  return new_ffi_error(XLA_FFI_Error_Code_UNIMPLEMENTED,
                       fmt::format("[ffi] expected a handler that runs on the host's CPU, got one "
                                   "that asks for {}; use a handler for the platform cpu",
                                   what));
}

State* state_of(XLA_FFI_ExecutionContext* ctx, XLA_FFI_ExecutionStage stage) {
  switch (stage) {
    case XLA_FFI_ExecutionStage_INSTANTIATE:
      return ctx->instantiated;
    case XLA_FFI_ExecutionStage_PREPARE:
      return ctx->prepared;
    case XLA_FFI_ExecutionStage_INITIALIZE:
      return ctx->initialized;
    case XLA_FFI_ExecutionStage_EXECUTE:
      return nullptr;
  }
  return nullptr;
}

XLA_FFI_Error* no_state(XLA_FFI_ExecutionStage stage) {
  return new_ffi_error(
      XLA_FFI_Error_Code_NOT_FOUND,
      fmt::format("[ffi] expected a stage that has a state and has begun, got stage {}; set it in "
                  "instantiate, prepare or initialize",
                  static_cast<int>(stage)));
}

XLA_FFI_Error* set_state(XLA_FFI_State_Set_Args* args) {
  const auto* old = reinterpret_cast<const StateArgs02*>(args);
  const bool is_old = args->struct_size < XLA_FFI_State_Set_Args_STRUCT_SIZE;
  const XLA_FFI_ExecutionStage stage = is_old ? XLA_FFI_ExecutionStage_INSTANTIATE : args->stage;
  State* state = state_of(args->ctx, stage);
  if (!state) return no_state(stage);
  return is_old ? state->set(old->type_id->type_id, old->state)
                : state->set(args->type_id->type_id, args->state);
}

XLA_FFI_Error* get_state(XLA_FFI_State_Get_Args* args) {
  auto* old = reinterpret_cast<StateArgs02*>(args);
  const bool is_old = args->struct_size < XLA_FFI_State_Get_Args_STRUCT_SIZE;
  const XLA_FFI_ExecutionStage stage = is_old ? XLA_FFI_ExecutionStage_INSTANTIATE : args->stage;
  const State* state = state_of(args->ctx, stage);
  if (!state) return no_state(stage);
  return is_old ? state->get(old->type_id->type_id, &old->state)
                : state->get(args->type_id->type_id, &args->state);
}

XLA_FFI_Error* register_state_type(XLA_FFI_Type_Register_Args* args) {
  try {
    args->type_id->type_id =
        register_type(std::string(args->name.ptr, args->name.len), args->type_id->type_id,
                      args->type_info ? args->type_info->deleter : nullptr);
    return nullptr;
  } catch (const std::exception& e) {
    return new_ffi_error(XLA_FFI_Error_Code_INVALID_ARGUMENT, e.what());
  }
}

XLA_FFI_Error* register_from_handler(XLA_FFI_Handler_Register_Args* args) {
  const std::string_view platform(args->platform.ptr, args->platform.len);
  const bool host = platform == "cpu" || platform == "Host" || platform == "HOST";
  try {
    if (!host && platform != "tessera")
      value_error("ffi", "expected a handler for the platform tessera or cpu, got '{}'", platform);
    register_handlers(std::string(args->name.ptr, args->name.len),
                      {.instantiate = args->bundle.instantiate,
                       .prepare = args->bundle.prepare,
                       .initialize = args->bundle.initialize,
                       .execute = args->bundle.execute},
                      host ? Platform::kCpu : Platform::kTessera);
    return nullptr;
  } catch (const std::exception& e) {
    return new_ffi_error(XLA_FFI_Error_Code_INVALID_ARGUMENT, e.what());
  }
}

void describe_error(XLA_FFI_Error_GetMessage_Args* args) {
  args->message = args->error->message.c_str();
  if (args->struct_size >= XLA_FFI_STRUCT_SIZE(ErrorDetailsArgs04, errc))
    reinterpret_cast<ErrorDetailsArgs04*>(args)->errc = args->error->code;
}

XLA_FFI_Error* allocate(XLA_FFI_DeviceMemory_Allocate_Args* args) {
  const size_t alignment = std::max(args->alignment, alignof(std::max_align_t));
  if ((alignment & (alignment - 1)) != 0)
    return new_ffi_error(
        XLA_FFI_Error_Code_INVALID_ARGUMENT,
        fmt::format("[ffi] expected an alignment that is a power of two, got {}", alignment));
  const bool fits = args->size <= std::numeric_limits<size_t>::max() - alignment;
  const size_t bytes = fits ? (args->size + alignment - 1) / alignment * alignment : 0;
  args->data = fits ? std::aligned_alloc(alignment, std::max(bytes, alignment)) : nullptr;
  if (args->data) return nullptr;
  return new_ffi_error(
      XLA_FFI_Error_Code_RESOURCE_EXHAUSTED,
      fmt::format("[ffi] expected {} bytes of memory for a handler, got none", args->size));
}

// Completes a future. If it is complete already, nothing changes.
XLA_FFI_Error* complete(XLA_FFI_Future* future, XLA_FFI_Error* error) {
  std::unique_ptr<XLA_FFI_Error> owned(error);
  const std::shared_ptr<XLA_FFI_Future::State> state = future->state;
  {
    const std::lock_guard lock(state->mutex);
    if (state->done)
      return new_ffi_error(XLA_FFI_Error_Code_FAILED_PRECONDITION,
                           "[ffi] expected a future that is not completed, got one that is; "
                           "complete it once");
    state->done = true;
    state->error = std::move(owned);
  }
  state->completed.notify_all();
  return nullptr;
}

// Handlers of version 0.5 call the function that follows this version's last one without checking
// struct_size. They check it before they call the one after that.
struct Table {
  XLA_FFI_Api api{};
  XLA_FFI_Error* (*find_extension)(void*) = [](void*) {
    return absent("an extension of the interface");
  };
};

XLA_FFI_Api make_api_table() {
  XLA_FFI_Api api{};
  api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
  api.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR,
                     XLA_FFI_API_MINOR};
  api.XLA_FFI_Error_Create = [](XLA_FFI_Error_Create_Args* args) {
    return new_ffi_error(args->errc, args->message);
  };
  api.XLA_FFI_Error_GetMessage = describe_error;
  api.XLA_FFI_Error_Destroy = [](XLA_FFI_Error_Destroy_Args* args) { delete args->error; };
  api.XLA_FFI_Handler_Register = register_from_handler;
  api.XLA_FFI_Stream_Get = [](XLA_FFI_Stream_Get_Args*) { return absent("a stream"); };
  api.XLA_FFI_Type_Register = register_state_type;
  api.XLA_FFI_ExecutionContext_Get = [](XLA_FFI_ExecutionContext_Get_Args* args) {
    return new_ffi_error(
        XLA_FFI_Error_Code_NOT_FOUND,
        fmt::format("[ffi] expected data of the caller of type {}, got none; pass it as an operand "
                    "or an attribute",
                    args->type_id->type_id));
  };
  api.XLA_FFI_State_Set = set_state;
  api.XLA_FFI_State_Get = get_state;
  api.XLA_FFI_DeviceMemory_Allocate = allocate;
  api.XLA_FFI_DeviceMemory_Free = [](XLA_FFI_DeviceMemory_Free_Args* args) -> XLA_FFI_Error* {
    std::free(args->data);
    return nullptr;
  };
  api.XLA_FFI_ThreadPool_Schedule = [](XLA_FFI_ThreadPool_Schedule_Args* args) -> XLA_FFI_Error* {
    schedule(args->task, args->data);
    return nullptr;
  };
  api.XLA_FFI_ThreadPool_NumThreads =
      [](XLA_FFI_ThreadPool_NumThreads_Args* args) -> XLA_FFI_Error* {
    *args->num_threads = num_threads();
    return nullptr;
  };
  api.XLA_FFI_Future_Create = [](XLA_FFI_Future_Create_Args* args) -> XLA_FFI_Error* {
    args->future = new XLA_FFI_Future;
    return nullptr;
  };
  api.XLA_FFI_Future_SetAvailable = [](XLA_FFI_Future_SetAvailable_Args* args) {
    return complete(args->future, nullptr);
  };
  api.XLA_FFI_Future_SetError = [](XLA_FFI_Future_SetError_Args* args) {
    return complete(args->future, args->error);
  };
  api.XLA_FFI_RunId_Get = [](XLA_FFI_RunId_Get_Args*) { return absent("the number of a run"); };
  api.XLA_FFI_DeviceOrdinal_Get = [](XLA_FFI_DeviceOrdinal_Get_Args*) {
    return absent("the number of a device");
  };
  return api;
}

}  // namespace

State::~State() {
  if (!value_) return;
  if (const auto deleter = deleter_of(type_); deleter && *deleter) (*deleter)(value_);
}

XLA_FFI_Error* State::set(int64_t type, void* value) {
  if (value_)
    return new_ffi_error(XLA_FFI_Error_Code_ALREADY_EXISTS,
                         "[ffi] expected a stage whose state is not set, got one that is; return "
                         "one state from a stage");
  if (!deleter_of(type))
    return new_ffi_error(
        XLA_FFI_Error_Code_FAILED_PRECONDITION,
        fmt::format("[ffi] expected a state of a registered type, got one of number {}; register "
                    "it by jax.ffi.register_ffi_type",
                    type));
  type_ = type;
  value_ = value;
  return nullptr;
}

XLA_FFI_Error* State::get(int64_t type, void** value) const {
  if (!value_)
    return new_ffi_error(XLA_FFI_Error_Code_NOT_FOUND,
                         "[ffi] expected a state, got none; register a handler for the stage that "
                         "sets it");
  if (type != type_)
    return new_ffi_error(XLA_FFI_Error_Code_INVALID_ARGUMENT,
                         fmt::format("[ffi] expected a state of the type {}, got one of {}; ask "
                                     "for the type that the stage returned",
                                     type, type_));
  *value = value_;
  return nullptr;
}

const XLA_FFI_Api& api_table() {
  static const Table table{.api = make_api_table()};
  return table.api;
}

XLA_FFI_Error* new_ffi_error(XLA_FFI_Error_Code code, std::string message) {
  return new XLA_FFI_Error{code, std::move(message)};
}

}  // namespace tessera::ffi
