// The table of functions that JAX loads. Those that nobody fills in say so by name.
#include <fmt/format.h>

#include <array>

#include "plugin/buffer.h"
#include "plugin/client.h"
#include "plugin/error.h"
#include "plugin/event.h"
#include "plugin/executable.h"
#include "plugin/layouts.h"
#include "plugin/named_value.h"
#include "plugin/shardings.h"
#include "plugin/topology.h"
#include "plugin/transfers.h"

namespace tessera::plugin {
namespace {

// The versions of StableHLO's portable artifacts that are read, and that JAX should write.
constexpr int64_t kCurrent[] = {1, 14, 0}, kMinimum[] = {0, 9, 0};

void add_errors(PJRT_Api& api) {
  api.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args* a) { delete a->error; };
  api.PJRT_Error_Message = [](PJRT_Error_Message_Args* a) {
    a->message = a->error->message.data();
    a->message_size = a->error->message.size();
  };
  api.PJRT_Error_GetCode = [](auto* a) -> PJRT_Error* {
    a->code = a->error->code;
    return nullptr;
  };
}

void add_plugin(PJRT_Api& api) {
  api.PJRT_Plugin_Initialize = [](auto*) -> PJRT_Error* { return nullptr; };
  api.PJRT_Plugin_Attributes = [](PJRT_Plugin_Attributes_Args* a) -> PJRT_Error* {
    static const std::array attributes{named_integers("stablehlo_current_version", kCurrent),
                                       named_integers("stablehlo_minimum_version", kMinimum)};
    a->attributes = attributes.data();
    a->num_attributes = attributes.size();
    return nullptr;
  };
}

[[noreturn]] void not_there(const char* name) {
  unimplemented(
      fmt::format("[tessera] expected a function of the PJRT API that this plugin has, got "
                  "{}; docs/jax.md says what is missing",
                  name));
}

PJRT_Api make_api() {
  PJRT_Api api{};
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
#define FUNCTION(name) \
  api.name = [](name##_Args*) -> PJRT_Error* { return guarded([] { not_there(#name); }); };
#include "plugin/functions.inc"
#undef FUNCTION
  add_errors(api);
  add_plugin(api);
  add_events(api);
  add_client(api);
  add_topologies(api);
  add_buffers(api);
  add_transfers(api);
  add_executables(api);
  static PJRT_Layouts_Extension layouts = make_layouts_extension(nullptr);
  static PJRT_Shardings_Extension shardings = make_shardings_extension(&layouts.base);
  api.extension_start = &shardings.base;
  return api;
}

}  // namespace
}  // namespace tessera::plugin

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = tessera::plugin::make_api();
  return &api;
}
