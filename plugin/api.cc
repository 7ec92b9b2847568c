// The table of functions that JAX loads. Functions that are not set return an error with their
// name.
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "plugin/about.h"
#include "plugin/buffer.h"
#include "plugin/client.h"
#include "plugin/custom_partitioner.h"
#include "plugin/error.h"
#include "plugin/event.h"
#include "plugin/executable.h"
#include "plugin/ffi.h"
#include "plugin/layouts.h"
#include "plugin/memory.h"
#include "plugin/named_value.h"
#include "plugin/shardings.h"
#include "plugin/struct_size.h"
#include "plugin/topology.h"
#include "plugin/transfers.h"
#include "tessera/base/blas.h"

namespace tessera::plugin {
namespace {

// Returns the three numbers of a version such as "1.22.0".
std::array<int64_t, 3> numbers(std::string_view version) {
  std::array<int64_t, 3> out{};
  size_t part = 0;
  for (char c : version) {
    if (c == '.') {
      ++part;
    } else {
      out.at(part) = out.at(part) * 10 + (c - '0');
    }
  }
  return out;
}

void add_plugin(PJRT_Api& api) {
  api.PJRT_Plugin_Initialize = [](auto*) -> PJRT_Error* { return nullptr; };
  api.PJRT_Plugin_Attributes = [](PJRT_Plugin_Attributes_Args* a) -> PJRT_Error* {
    // JAX writes artifacts of the newest version that it and this plugin know.
    static const std::array newest = numbers(kNewestStableHlo), oldest = numbers(kOldestStableHlo);
    static const std::array attributes{named_integers("stablehlo_current_version", newest),
                                       named_integers("stablehlo_minimum_version", oldest)};
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

// Returns the table of functions that expect complete structs.
PJRT_Api make_functions() {
  PJRT_Api api{};
#define FUNCTION(name) \
  api.name = [](name##_Args*) -> PJRT_Error* { return guarded([] { not_there(#name); }); };
#include "plugin/functions.inc"
  add_errors(api);
  add_plugin(api);
  add_events(api);
  add_client(api);
  add_memories(api);
  add_topologies(api);
  add_buffers(api);
  add_transfers(api);
  add_executables(api);
  return api;
}

const PJRT_Api& functions() {
  static const PJRT_Api api = make_functions();
  return api;
}

// Returns the table of functions for callers of any version.
PJRT_Api make_api() {
  PJRT_Api api = functions();
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
#define CHECKED(name, needed)                                                                   \
  api.name = [](name##_Args* a) {                                                               \
    return call_with_whole_struct(functions().name, a, name##_Args_STRUCT_SIZE, needed, #name); \
  };
#define FUNCTION(name) CHECKED(name, name##_Args_STRUCT_SIZE)
#define GREW(name, last) CHECKED(name, PJRT_STRUCT_SIZE(name##_Args, last))
#include "plugin/functions.inc"
#undef CHECKED
  static PJRT_MemoryDescriptions_Extension memories = make_memory_descriptions_extension(nullptr);
  static PJRT_Layouts_Extension layouts = make_layouts_extension(&memories.base);
  static PJRT_Shardings_Extension shardings = make_shardings_extension(&layouts.base);
  static PJRT_FFI_Extension ffi = make_ffi_extension(&shardings.base);
  static PJRT_Custom_Partitioner_Extension partitioners =
      make_custom_partitioner_extension(&ffi.base);
  api.extension_start = &partitioners.base;
  return api;
}

}  // namespace
}  // namespace tessera::plugin

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = [] {
    tessera::prepare_blas();  // its threads, which are started when it is loaded, spin until then
    return tessera::plugin::make_api();
  }();
  return &api;
}
