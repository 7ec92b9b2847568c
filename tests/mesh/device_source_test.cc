#include "tessera/mesh/device_source.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "../errors.h"

namespace tessera::device_source_test {
namespace {

using internal::device_request;
using internal::DeviceRequest;
using test::error_of;
using ::testing::HasSubstr;

class DeviceSource : public ::testing::Test {
 protected:
  void SetUp() override {
    internal::set_device_source(
        [](const std::string& path, const internal::ClientOptions& options) {
          std::vector<Device> out(options.contains("n") ? std::stoul(options.at("n")) : 2);
          for (size_t i = 0; i < out.size(); ++i)
            out[i] = {.id = static_cast<int64_t>(i), .client = static_cast<int64_t>(path.size())};
          return out;
        });
  }
  void TearDown() override {
    unsetenv("TESSERA_ENGINE");
    unsetenv("TESSERA_CLIENT_OPTIONS");
  }
};

TEST_F(DeviceSource, IsAskedForThePlugin) {
  const DeviceRequest request = device_request("pjrt:abc", {{"n", "3"}});
  EXPECT_EQ(request.plugin, "abc");
  const std::vector<Device> found = find_devices(request);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[2].client, 3);
  EXPECT_EQ(find_devices(device_request("cpu:3", {}))[2].client, 0);
}

TEST_F(DeviceSource, PlacesSpecificationsOnThePlugin) {
  setenv("TESSERA_ENGINE", "pjrt:ab", 1);
  setenv("TESSERA_CLIENT_OPTIONS", "n=9,text=a=b", 1);
  const DeviceRequest request = device_request("tpu_v2:2x2", {});
  EXPECT_EQ(request.options, (internal::ClientOptions{{"n", "9"}, {"text", "a=b"}}));
  const std::vector<Device> found = find_devices(request);
  ASSERT_EQ(found.size(), 8u);
  EXPECT_EQ(found[7].kind, DeviceKind::kTpuV2);
  EXPECT_EQ(found[7].core_on_chip, 1);
  EXPECT_EQ(found[7].client, 2);
  EXPECT_EQ(device_request("pjrt:other", {{"n", "1"}}).plugin, "other");
  EXPECT_THAT(error_of([] { find_devices(device_request("cpu:10", {})); }),
              HasSubstr("[initialize] expected 10 devices for \"cpu:10\", got the 9 of 'ab'"));
}

TEST_F(DeviceSource, OptionsAreForPlugins) {
  EXPECT_THAT(error_of([] {
                device_request("cpu:2", {{"n", "1"}});
              }),
              HasSubstr("expected client_options with the devices of a plugin (pjrt:PATH), got n = "
                        "'1' with \"cpu:2\"; leave them out"));
  EXPECT_THAT(error_of([] { device_request("pjrt:", {}); }), HasSubstr("to name a plugin"));
  setenv("TESSERA_ENGINE", "cuda", 1);
  EXPECT_THAT(error_of([] { device_request("cpu:2", {}); }),
              HasSubstr("expected TESSERA_ENGINE to be pjrt:PATH, got 'cuda'"));
  setenv("TESSERA_CLIENT_OPTIONS", "n", 1);
  EXPECT_THAT(error_of([] { device_request("pjrt:a", {}); }),
              HasSubstr("to be NAME=VALUE, separated by commas, got 'n'"));
}

// The library that is a plugin itself asks for this, for the rest of the process; so this test is
// the last one.
TEST_F(DeviceSource, TheEngineIsIgnoredOnRequest) {
  setenv("TESSERA_ENGINE", "pjrt:ab", 1);
  EXPECT_EQ(device_request("cpu:2", {}).plugin, "ab");
  internal::ignore_engine();
  EXPECT_EQ(device_request("cpu:2", {}).plugin, "");
  EXPECT_EQ(device_request("pjrt:ab", {}).plugin, "ab");
}

}  // namespace
}  // namespace tessera::device_source_test
