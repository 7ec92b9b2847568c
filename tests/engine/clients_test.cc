// Devices of plugins: initialize() with them, and its errors.
#include "tessera/engine/clients.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tessera/engine/client_array.h"
#include "tests/engine/plugin_test.h"

namespace tessera::clients_test {
namespace {

using namespace test;
using ::testing::HasSubstr;

class Clients : public PluginTest {};

class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST_F(Clients, GiveTheirDevices) {
  ASSERT_EQ(device_count(), 8);
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(devices()[i].id, i);
    EXPECT_EQ(devices()[i].kind, DeviceKind::kCpu);
    EXPECT_GT(devices()[i].client, 0);
  }
  EXPECT_EQ(fmt::format("{}", devices()[3]), "CpuDevice(id=3)");
}

TEST_F(Clients, AreMadeOnceForThePluginAndItsOptions) {
  const std::vector<Device> first = devices();
  initialize({.devices = "cpu:8"});
  EXPECT_EQ(devices()[0].client, 0);
  initialize(eight_devices());
  EXPECT_EQ(devices(), first);
  initialize({.devices = "pjrt:" + plugin(), .client_options = {{"cpu_device_count", "2"}}});
  EXPECT_EQ(device_count(), 2);
  EXPECT_NE(devices()[0].client, first[0].client);
}

TEST_F(Clients, TakeTheirOptionsFromTheEnvironment) {
  const Environment options("TESSERA_CLIENT_OPTIONS", "cpu_device_count=3");
  initialize({.devices = "pjrt:" + plugin()});
  EXPECT_EQ(device_count(), 3);
  const Environment devices("TESSERA_DEVICES", "pjrt:" + plugin());
  initialize();
  EXPECT_EQ(device_count(), 3);
}

// Programs that ask for emulated devices run unchanged on a plugin's devices.
TEST_F(Clients, StandForEmulatedDevices) {
  const Environment engine("TESSERA_ENGINE", "pjrt:" + plugin()),
      options("TESSERA_CLIENT_OPTIONS", "cpu_device_count=8");
  initialize({.devices = "tpu_v2:2x2"});
  ASSERT_EQ(device_count(), 8);
  EXPECT_EQ(fmt::format("{}", devices()[5]),
            "TpuDevice(id=5, process_index=0, coords=(0,1,0), core_on_chip=1)");
  EXPECT_GT(devices()[5].client, 0);
  const Array x =
      device_put(iota({8}), NamedSharding(make_mesh({4, 2}, {"x", "y"}), P(joint("x", "y"))));
  EXPECT_TRUE(dynamic_cast<const engine::ClientArray*>(x.data().get()));
  EXPECT_EQ(sum(x).item<float>(), 28);
  EXPECT_THAT(error_of([] { initialize({.devices = "cpu:9"}); }),
              AllOf(HasSubstr("[initialize] expected 9 devices for \"cpu:9\", got the 8 of"),
                    HasSubstr("cpu_device_count=9")));
  EXPECT_EQ(device_count(), 8);
}

// --- Errors ---

class ClientErrors : public ::testing::Test {
 protected:
  void TearDown() override { initialize({.devices = "cpu:1"}); }
  static std::string error(const std::string& path,
                           std::map<std::string, std::string> options = {}) {
    return error_of(
        [&] { initialize({.devices = "pjrt:" + path, .client_options = std::move(options)}); });
  }
};

TEST_F(ClientErrors, NameWhatIsNoPlugin) {
  EXPECT_THAT(error("/nowhere/plugin.so"),
              HasSubstr("[initialize] expected a PJRT plugin at '/nowhere/plugin.so', got no file; "
                        "check the path"));
  EXPECT_THAT(error("/tmp"), HasSubstr("got something that is no file"));
  const std::string text = ::testing::TempDir() + "no_library.so";
  std::ofstream(text) << "no library";
  EXPECT_THAT(error(text), HasSubstr("expected a shared library that loads, got"));
  EXPECT_THAT(error(TESSERA_TEST_NO_PLUGIN),
              HasSubstr("expected a PJRT plugin, which has a function GetPjrtApi, got"));
  EXPECT_THAT(error_of([] { initialize({.devices = "pjrt:"}); }),
              HasSubstr("to name a plugin, as pjrt:PATH"));
}

TEST_F(ClientErrors, NameTheVersionOfTheApi) {
  EXPECT_THAT(error(TESSERA_TEST_OLD_PLUGIN), HasSubstr("of 0.20 with one of 200;"));
  EXPECT_THAT(error(TESSERA_TEST_OLD_PLUGIN), HasSubstr("take a newer plugin"));
  EXPECT_THAT(error(TESSERA_TEST_NEW_PLUGIN), HasSubstr("of 1.3"));
  EXPECT_THAT(error(TESSERA_TEST_NEW_PLUGIN), HasSubstr("take an older plugin"));
}

TEST_F(ClientErrors, SayWhatThePluginSays) {
  if (!std::filesystem::exists(plugin())) GTEST_SKIP() << "no plugin; scripts/pjrt-setup";
  EXPECT_THAT(error(plugin(), {{"no_such_option", "1"}}),
              AllOf(HasSubstr("to make a client with no_such_option=1, got: "),
                    HasSubstr("change the client options")));
}

TEST_F(ClientErrors, NameOptionsThatMeanNothing) {
  EXPECT_THAT(error_of([] {
                initialize({.devices = "cpu:2", .client_options = {{"cpu_device_count", "2"}}});
              }),
              HasSubstr("expected client_options with the devices of a plugin (pjrt:PATH), got "
                        "cpu_device_count = '2' with \"cpu:2\""));
  const Environment engine("TESSERA_ENGINE", "gpu");
  EXPECT_THAT(error_of([] { initialize({.devices = "cpu:2"}); }),
              HasSubstr("expected TESSERA_ENGINE to be pjrt:PATH, got 'gpu'"));
  const Environment plugin_engine("TESSERA_ENGINE", "pjrt:x"),
      options("TESSERA_CLIENT_OPTIONS", "cpu_device_count");
  EXPECT_THAT(
      error_of([] { initialize({.devices = "cpu:2"}); }),
      HasSubstr("expected TESSERA_CLIENT_OPTIONS to be NAME=VALUE, separated by commas, got "
                "'cpu_device_count'"));
}

TEST_F(Clients, DoNotMix) {
  std::vector<Device> mixed = {devices()[0], parse_devices("cpu:2")[1]};
  EXPECT_THAT(error_of([&] { device_put(iota({4}), NamedSharding(Mesh(mixed, {"x"}), P("x"))); }),
              HasSubstr("[device_put] expected devices of one engine"));
}

TEST_F(Clients, AreOfTheProcessThatMadeThem) {
  const Array x = iota({4});
  const pid_t child = fork();
  if (child == 0) {
    try {
      (void)x.to_host();
      _exit(1);
    } catch (const RuntimeError& e) {
      _exit(std::string(e.what()).find("fork before initialize()") != std::string::npos ? 0 : 2);
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(DeviceKind, FollowsFromWhatAPluginSays) {
  using engine::device_kind;
  EXPECT_EQ(device_kind("tpu", "TPU v4"), DeviceKind::kTpuV4);
  EXPECT_EQ(device_kind("tpu", "TPU v5 lite"), DeviceKind::kTpuV5e);
  EXPECT_EQ(device_kind("tpu", "TPU v5"), DeviceKind::kTpuV5p);
  EXPECT_EQ(device_kind("tpu", "TPU v5p"), DeviceKind::kTpuV5p);
  EXPECT_EQ(device_kind("tpu", "TPU v6 lite"), DeviceKind::kTpuV6e);
  EXPECT_EQ(device_kind("cuda", "NVIDIA H100 80GB HBM3"), DeviceKind::kGpu);
  EXPECT_EQ(device_kind("cpu", "cpu"), DeviceKind::kCpu);
}

}  // namespace
}  // namespace tessera::clients_test
