#include "plugin/rendezvous.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>

#include "plugin/error.h"

namespace tessera::plugin {
namespace {

// The seconds that a process waits for another one to create its client. The other may load its
// data first.
constexpr int kSeconds = 300;

// The store creates its errors by this function.
PJRT_Error* make_error(PJRT_Error_Code code, const char* message, size_t size) {
  return new_error({code, {message, size}});
}

// Throws an error that the store returned, as an error of the client.
void expect_success(PJRT_Error* error, const std::string& what) {
  if (!error) return;
  const char* text = nullptr;
  size_t size = 0;
  error->vtable->message(error, &text, &size);
  const std::string message = fmt::format(
      "[tessera] expected {} within {} s, got: {}; start all processes, each of which "
      "must make its client (jax.devices(), for example)",
      what, kSeconds, std::string_view(text, size));
  error->vtable->destroy(error);
  throw ApiError({PJRT_Error_Code_UNAVAILABLE, message});
}

void put(const PJRT_Client_Create_Args& a, const std::string& key, const std::string& value) {
  PJRT_CallbackError on_error = make_error;
  PJRT_KeyValuePutCallback_Args args{.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE,
                                     .extension_start = nullptr,
                                     .key = key.data(),
                                     .key_size = key.size(),
                                     .value = value.data(),
                                     .value_size = value.size(),
                                     .callback_error = &on_error,
                                     .user_arg = a.kv_put_user_arg};
  expect_success(a.kv_put_callback(&args), "the key-value store to take " + key);
}

std::string get(const PJRT_Client_Create_Args& a, const std::string& key, const std::string& what) {
  PJRT_CallbackError on_error = make_error;
  PJRT_KeyValueGetCallback_Args args{.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE,
                                     .extension_start = nullptr,
                                     .key = key.data(),
                                     .key_size = key.size(),
                                     .timeout_in_ms = kSeconds * 1000,
                                     .callback_error = &on_error,
                                     .user_arg = a.kv_get_user_arg,
                                     .value = nullptr,
                                     .value_size = 0,
                                     .value_deleter_callback = nullptr};
  expect_success(a.kv_get_callback(&args), what);
  std::string value(args.value, args.value_size);
  if (args.value_deleter_callback) args.value_deleter_callback(args.value);
  return value;
}

void expect_one_version(const std::vector<std::string>& versions) {
  for (size_t p = 0; p < versions.size(); ++p)
    if (versions[p] != kVersion)
      invalid(
          fmt::format("[tessera] expected one version of Tessera in all processes, got {} here and "
                      "{} in process {}; install the same everywhere",
                      kVersion, versions[p], p));
}

}  // namespace

cluster::Rendezvous rendezvous_of(const PJRT_Client_Create_Args& a, const ClientRequest& request) {
  if (!a.kv_get_callback || !a.kv_put_callback)
    invalid(
        fmt::format("[tessera] expected a key-value store, by which {} processes find each other, "
                    "got none; call jax.distributed.initialize() first",
                    request.nodes));
  // A key can be written only once, so each client of the process, and each exchange, has its own
  // keys.
  static std::atomic<int> clients{0};
  const auto exchange = [&a, nodes = request.nodes, node = request.node, client = clients++,
                         round = 0](const std::string& own) mutable {
    const auto key = [&](int64_t p) { return fmt::format("tessera/{}/{}/{}", client, round, p); };
    put(a, key(node), own);
    std::vector<std::string> out;
    for (int64_t p = 0; p < nodes; ++p)
      out.push_back(p == node ? own : get(a, key(p), fmt::format("process {} of {}", p, nodes)));
    ++round;
    return out;
  };
  cluster::Rendezvous out{static_cast<int>(request.node), static_cast<int>(request.nodes),
                          exchange};
  expect_one_version(out.exchange(kVersion));
  return out;
}

}  // namespace tessera::plugin

bool tessera_leave_cluster() { return tessera::cluster::leave(); }
