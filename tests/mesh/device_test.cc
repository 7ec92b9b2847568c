#include "tessera/mesh/device.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <set>
#include <thread>

#include "../errors.h"
#include "tessera/mesh/format.h"
#include "tessera/mesh/scoped_devices.h"

namespace tessera::device_test {
namespace {

using tessera::test::error_of;
using ::testing::HasSubstr;

TEST(Device, PrintsAsJax) {
  std::vector<Device> tpus = parse_devices("tpu_v2:2x2");
  ASSERT_EQ(tpus.size(), 8u);
  EXPECT_EQ(fmt::format("{}", tpus[0]),
            "TpuDevice(id=0, process_index=0, coords=(0,0,0), core_on_chip=0)");
  EXPECT_EQ(fmt::format("{}", tpus[3]),
            "TpuDevice(id=3, process_index=0, coords=(1,0,0), core_on_chip=1)");
  EXPECT_EQ(fmt::format("{}", tpus[4]),
            "TpuDevice(id=4, process_index=0, coords=(0,1,0), core_on_chip=0)");
  EXPECT_EQ(fmt::format("{}", parse_devices("cpu:2")[1]), "CpuDevice(id=1)");
  EXPECT_EQ(fmt::format("{}", parse_devices("gpu:2")[1]), "CudaDevice(id=1)");
  EXPECT_EQ(fmt::format("{}", parse_devices("tpu_v4:2x1x1*2")[3]),
            "TpuDevice(id=3, process_index=1, coords=(1,0,0), core_on_chip=0, slice_index=1)");
}

TEST(Device, KindsHaveTheirCoresAndPlatforms) {
  struct Case {
    const char* spec;
    size_t count;
    const char* platform;
  };
  for (const Case& c : std::vector<Case>{{"cpu:3", 3, "CPU"},
                                         {"gpu:4", 4, "GPU"},
                                         {"tpu_v2:2x2", 8, "TPU"},
                                         {"tpu_v3:4x2", 16, "TPU"},
                                         {"tpu_v4:2x2x4", 16, "TPU"},
                                         {"tpu_v5e:4x4", 16, "TPU"},
                                         {"tpu_v5p:2x2x2", 8, "TPU"},
                                         {"tpu_v6e:1x1", 1, "TPU"},
                                         {"cpu:4*2", 8, "CPU"}}) {
    std::vector<Device> devices = parse_devices(c.spec);
    EXPECT_EQ(devices.size(), c.count) << c.spec;
    std::string_view spec = c.spec;
    for (size_t i = 0; i < devices.size(); ++i) {
      EXPECT_EQ(devices[i].id, static_cast<int64_t>(i));
      EXPECT_EQ(devices[i].platform(), c.platform);
      EXPECT_EQ(kind_name(devices[i].kind), spec.substr(0, spec.find(':')));
      EXPECT_LT(devices[i].core_on_chip, cores_per_chip(devices[i].kind));
    }
  }
}

TEST(Device, CoordinatesChangeXFirst) {
  std::vector<Device> devices = parse_devices("tpu_v4:2x3x4");
  EXPECT_EQ(devices[1].coords, (std::array<int64_t, 3>{1, 0, 0}));
  EXPECT_EQ(devices[2].coords, (std::array<int64_t, 3>{0, 1, 0}));
  EXPECT_EQ(devices[6].coords, (std::array<int64_t, 3>{0, 0, 1}));
  EXPECT_EQ(devices[23].coords, (std::array<int64_t, 3>{1, 2, 3}));
}

TEST(Device, SlicesRepeatTheTopology) {
  std::vector<Device> devices = parse_devices("tpu_v4:2x2x1*2");
  ASSERT_EQ(devices.size(), 8u);
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(devices[i].slice_index, i / 4);
    EXPECT_EQ(devices[i].process_index, i / 4);
    EXPECT_EQ(devices[i].coords, devices[i % 4].coords);
  }
}

TEST(Device, EqualityAndHashFollowAllFields) {
  std::vector<Device> devices = parse_devices("cpu:2");
  EXPECT_EQ(devices[0], parse_devices("cpu:4")[0]);
  EXPECT_EQ(hash_value(devices[0]), hash_value(parse_devices("cpu:4")[0]));
  EXPECT_NE(devices[0], devices[1]);
  EXPECT_NE(devices[0], parse_devices("gpu:1")[0]);
}

TEST(ParseDevices, ErrorsNameTheGrammarAndTheFault) {
  for (const auto& [spec, fault] : std::vector<std::pair<std::string, std::string>>{
           {"", "no colon"},
           {"cpu", "no colon"},
           {"cpu:", "\"\" is not a positive integer"},
           {"cpu:0", "\"0\" is not a positive integer"},
           {"cpu:-1", "\"-1\" is not a positive integer"},
           {"cpu:8 ", "\"8 \" is not a positive integer"},
           {"cpu:2x2", "cpu does not have 2 extents"},
           {"npu:8", "\"npu\" is not a known kind"},
           {"tpu_v1:2x2", "\"tpu_v1\" is not a known kind"},
           {"tpu_v2:2x2x1", "tpu_v2 does not have 3 extents"},
           {"tpu_v4:8", "tpu_v4 does not have 1 extent"},
           {"tpu_v4:2x2x2x2", "tpu_v4 does not have 4 extents"},
           {"tpu_v4:2xx2", "\"\" is not a positive integer"},
           {"tpu_v4:2x2*0", "the number of slices"},
           {"tpu_v4:2x2*", "the number of slices"},
           {"cpu:99999999999999999999", "is not a positive integer"},
           {"cpu:9999999999", "more than 1048576 devices"},
           {"tpu_v4:99999999x99999999x99999999", "more than 1048576 devices"}}) {
    std::string message = error_of([&] { parse_devices(spec); });
    EXPECT_THAT(message, HasSubstr("[initialize] expected a device specification `cpu:N`")) << spec;
    EXPECT_THAT(message, HasSubstr("got \"" + spec + "\"")) << spec;
    EXPECT_THAT(message, HasSubstr(fault)) << spec;
    EXPECT_THAT(message, HasSubstr("for example `cpu:8`")) << spec;
  }
}

TEST(Initialize, MayBeCalledAgainAndOldReferencesStay) {
  initialize({.devices = "cpu:3"});
  const std::vector<Device>& before = devices();
  initialize({.devices = "tpu_v2:2x2"});
  EXPECT_EQ(before.size(), 3u);
  EXPECT_EQ(device_count(), 8);
  EXPECT_EQ(devices()[0].platform(), "TPU");
}

TEST(Initialize, AFailureChangesNothing) {
  initialize({.devices = "cpu:5"});
  EXPECT_THROW(initialize({.devices = "cpu:many"}), UserError);
  EXPECT_EQ(device_count(), 5);
}

TEST(Initialize, ReadsTheEnvironmentWhereOptionsSayNothing) {
  ASSERT_EQ(setenv("TESSERA_DEVICES", "cpu:7", 1), 0);
  initialize();
  EXPECT_EQ(device_count(), 7);
  initialize({.devices = "cpu:2"});
  EXPECT_EQ(device_count(), 2);
  ASSERT_EQ(setenv("TESSERA_DEVICES", "seven", 1), 0);
  EXPECT_THROW(initialize(), UserError);
  EXPECT_EQ(device_count(), 2);
  ASSERT_EQ(unsetenv("TESSERA_DEVICES"), 0);
  initialize();
  EXPECT_EQ(device_count(), 1);
  EXPECT_EQ(devices()[0].platform(), "CPU");
}

TEST(Initialize, IsSafeFromSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        initialize({.devices = fmt::format("cpu:{}", 1 + (t + i) % 4)});
        const std::vector<Device>& seen = devices();
        ASSERT_GE(seen.size(), 1u);
        ASSERT_EQ(seen.back().id, static_cast<int64_t>(seen.size()) - 1);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(ScopedDevices, AreOfOneThreadAndNest) {
  initialize({.devices = "cpu:2"});
  {
    const ScopedDevices pod("tpu_v4:2x2x1");
    EXPECT_EQ(device_count(), 4);
    EXPECT_EQ(devices()[3].kind, DeviceKind::kTpuV4);
    initialize({.devices = "cpu:3"});
    EXPECT_EQ(device_count(), 4);
    std::thread([] { EXPECT_EQ(device_count(), 3); }).join();
    {
      const ScopedDevices gpus("gpu:6");
      EXPECT_EQ(device_count(), 6);
    }
    EXPECT_EQ(device_count(), 4);
    EXPECT_THROW(ScopedDevices("tpu"), UserError);
    EXPECT_EQ(device_count(), 4);
  }
  EXPECT_EQ(device_count(), 3);
  initialize({.devices = "cpu:1"});
}

}  // namespace
}  // namespace tessera::device_test
