#include "plugin/ffi.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "plugin/error.h"
#include "plugin/struct_size.h"
#include "tessera/ffi/ffi.h"
#include "xla/ffi/api/c_api.h"

namespace tessera::plugin {
namespace {

void register_handler(const PJRT_FFI_Register_Handler_Args& a) {
  const std::string name(a.target_name, a.target_name_size),
      platform(a.platform_name, a.platform_name_size);
  if (platform != "tessera" && platform != "cpu")
    invalid(fmt::format(
        "[ffi] expected a handler for the platform tessera or cpu, got '{}' for '{}'; register it "
        "with platform=\"tessera\"",
        platform, name));
  ffi::register_handlers(name, {.execute = reinterpret_cast<ffi::Handler*>(a.handler)},
                         platform == "cpu" ? ffi::Platform::kCpu : ffi::Platform::kTessera);
}

// Runs f. Returns 0, or 1 and the text of the exception in `error`.
template <class F>
int with_text(char* error, size_t capacity, F&& f) {
  try {
    f();
    return 0;
  } catch (const std::exception& e) {
    const size_t size = std::min(std::strlen(e.what()), capacity - 1);
    std::memcpy(error, e.what(), size);
    error[size] = '\0';
    return 1;
  }
}

}  // namespace

PJRT_FFI_Extension make_ffi_extension(PJRT_Extension_Base* next) {
  PJRT_FFI_Extension out{};
  out.base = {PJRT_FFI_Extension_STRUCT_SIZE, PJRT_Extension_Type_FFI, next};
  out.type_register = [](PJRT_FFI_Type_Register_Args* a) {
    return guarded([&] {
      a->type_id = ffi::register_type(std::string(a->type_name, a->type_name_size), a->type_id,
                                      a->type_info ? a->type_info->deleter : nullptr);
    });
  };
  out.user_data_add = [](PJRT_FFI_UserData_Add_Args*) {
    return guarded([] {
      unimplemented(
          "[ffi] expected handlers without data of the caller, got data to add to an execution; "
          "pass it as an operand or an attribute");
    });
  };
  out.register_handler = [](PJRT_FFI_Register_Handler_Args* a) {
    return guarded([&] { register_handler(*a); });
  };
  return out;
}

}  // namespace tessera::plugin

int tessera_register_ffi_handlers(const char* name, void* instantiate, void* prepare,
                                  void* initialize, void* execute, int for_cpu, char* error,
                                  size_t capacity) {
  using namespace tessera;
  return plugin::with_text(error, capacity, [&] {
    ffi::register_handlers(name,
                           {.instantiate = reinterpret_cast<ffi::Handler*>(instantiate),
                            .prepare = reinterpret_cast<ffi::Handler*>(prepare),
                            .initialize = reinterpret_cast<ffi::Handler*>(initialize),
                            .execute = reinterpret_cast<ffi::Handler*>(execute)},
                           for_cpu != 0 ? ffi::Platform::kCpu : ffi::Platform::kTessera);
  });
}

int tessera_register_ffi_type(const char* name, void* type_id, void* type_info, char* error,
                              size_t capacity) {
  using namespace tessera;
  return plugin::with_text(error, capacity, [&] {
    auto* id = static_cast<XLA_FFI_TypeId*>(type_id);
    const auto* info = static_cast<const XLA_FFI_TypeInfo*>(type_info);
    id->type_id = ffi::register_type(name, id->type_id, info ? info->deleter : nullptr);
  });
}
