// Loads a plugin from its file: a shared library with one function, GetPjrtApi.
#include <dlfcn.h>

#include <filesystem>

#include "tessera/engine/c_api/api.h"
#include "tessera/ir/format.h"

namespace tessera::engine {
namespace {

// The size of the table up to the last function that this folder calls. A plugin with a smaller
// table is too old.
constexpr size_t kNeeded = PJRT_STRUCT_SIZE(PJRT_Api, PJRT_Buffer_ToHostBuffer);

const PJRT_Api* open(const std::string& path) {
  if (!std::filesystem::is_regular_file(path))
    value_error("initialize", "expected a PJRT plugin at '{}', got {}; check the path", path,
                std::filesystem::exists(path) ? "something that is no file" : "no file");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    value_error("initialize",
                "expected a shared library that loads, got '{}', which does not: {}; install what "
                "it needs, or name another one",
                path, dlerror());
  const auto get_api = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  const PJRT_Api* api = get_api ? get_api() : nullptr;
  if (!api) {
    dlclose(library);
    value_error("initialize",
                "expected a PJRT plugin, which has a function GetPjrtApi, got '{}' without one; "
                "name the plugin's library",
                path);
  }
  const PJRT_Api_Version& version = api->pjrt_api_version;
  if (version.major_version != PJRT_API_MAJOR || api->struct_size < kNeeded)
    value_error(
        "initialize",
        "expected a plugin of PJRT's C API {}.x, with a table of {} bytes or more, got '{}' "
        "of {}.{} with one of {}; take {} plugin",
        PJRT_API_MAJOR, kNeeded, path, version.major_version, version.minor_version,
        api->struct_size, version.major_version > PJRT_API_MAJOR ? "an older" : "a newer");
  auto args = TESSERA_PJRT_ARGS(Plugin_Initialize);
  try {
    check(api, api->PJRT_Plugin_Initialize(&args));
  } catch (const Failure& failure) {
    value_error("initialize", "expected the plugin '{}' to start, got: {}", path, failure.what());
  }
  return api;
}

}  // namespace

const PJRT_Api* load_plugin(const std::string& path) {
  static auto& loaded = *new std::map<std::string, const PJRT_Api*>;
  const auto found = loaded.find(path);
  return found != loaded.end() ? found->second : loaded.emplace(path, open(path)).first->second;
}

ClientRef open_client(const std::string& path, const std::map<std::string, std::string>& options) {
  return make_client(load_plugin(path), path, options);
}

}  // namespace tessera::engine
