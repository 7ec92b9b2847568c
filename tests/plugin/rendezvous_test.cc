// Clients of several processes that cannot find each other. tests/jax/test_processes.py tests those
// that can.
#include <gmock/gmock.h>

#include <array>
#include <map>

#include "tests/plugin/plugin_test.h"

namespace tessera::plugin_test {
namespace {

using testing::HasSubstr;

PJRT_NamedValue integer(const char* name, int64_t value) {
  PJRT_NamedValue out{};
  out.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  out.name = name;
  out.name_size = std::strlen(name);
  out.type = PJRT_NamedValue_kInt64;
  out.int64_value = value;
  out.value_size = 1;
  return out;
}

// A store with the values that the other process has left, by the ends of their keys.
using Store = std::map<std::string, std::string>;

PJRT_Error* put(PJRT_KeyValuePutCallback_Args*) { return nullptr; }

PJRT_Error* get(PJRT_KeyValueGetCallback_Args* a) {
  const std::string key(a->key, a->key_size);
  for (const auto& [end, value] : *static_cast<const Store*>(a->user_arg)) {
    if (!key.ends_with(end)) continue;
    a->value = new char[value.size()];
    std::memcpy(a->value, value.data(), value.size());
    a->value_size = value.size();
    a->value_deleter_callback = [](char* text) { delete[] text; };
    return nullptr;
  }
  const std::string message = "nobody came for " + key;
  return (*a->callback_error)(PJRT_Error_Code_DEADLINE_EXCEEDED, message.data(), message.size());
}

Error create(int64_t nodes, int64_t node, Store* store) {
  std::array options{integer("num_nodes", nodes), integer("node_id", node)};
  auto a = args<PJRT_Client_Create_Args>();
  a.create_options = options.data();
  a.num_options = options.size();
  if (store) {
    a.kv_get_callback = get;
    a.kv_get_user_arg = store;
    a.kv_put_callback = put;
    a.kv_put_user_arg = store;
  }
  return taken(api().PJRT_Client_Create(&a));
}

TEST(Rendezvous, NeedsAStore) {
  const Error error = create(2, 1, nullptr);
  EXPECT_EQ(error.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("expected a key-value store, by which 2 processes find each "
                                       "other, got none; call jax.distributed.initialize() first"));
}

TEST(Rendezvous, NamesTheProcessThatDoesNotCome) {
  Store empty;
  const Error error = create(2, 0, &empty);
  EXPECT_EQ(error.code, PJRT_Error_Code_UNAVAILABLE);
  EXPECT_THAT(error.message, HasSubstr("expected process 1 of 2 within 300 s, got: nobody came"));
}

TEST(Rendezvous, VersionsMustBeTheSame) {
  Store older{{"/0/1", "0.0.1"}};
  EXPECT_THAT(create(2, 0, &older).message,
              HasSubstr("expected one version of Tessera in all processes, got "));
  EXPECT_THAT(create(2, 0, &older).message,
              HasSubstr(" here and 0.0.1 in process 1; install the same everywhere"));
}

TEST(Rendezvous, ProcessesAreCountedFromZero) {
  Store empty;
  EXPECT_THAT(create(2, 2, &empty).message,
              HasSubstr("expected a node_id below num_nodes, got 2 of 2"));
  EXPECT_THAT(create(2, -1, &empty).message,
              HasSubstr("expected a node_id below num_nodes, got -1 of 2"));
}

}  // namespace
}  // namespace tessera::plugin_test
