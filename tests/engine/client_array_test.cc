// Arrays in the memories of a plugin's devices: transfers to, between and from them.
#include "tessera/engine/client_array.h"

#include <fmt/ostream.h>

#include "tests/engine/plugin_test.h"

namespace tessera::client_array_test {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ClientArrays : public PluginTest {
 protected:
  static bool on_client(const Array& x) {
    return dynamic_cast<const engine::ClientArray*>(x.data().get()) != nullptr;
  }
};

TEST_F(ClientArrays, HoldWhatTheyAreGiven) {
  const Array host = iota({8, 12});
  for (const NamedSharding& sharding :
       {on8(P("x")), on8(P(None, "x")), on8(P()), on24(P("y", "x")), on24(P(joint("x", "y")))}) {
    const Array x = device_put(host, sharding);
    EXPECT_TRUE(on_client(x));
    EXPECT_EQ(x.sharding(), Sharding(sharding));
    EXPECT_EQ(values(x), values(host)) << sharding;
  }
  EXPECT_TRUE(on_client(device_put(host, devices()[5])));
  EXPECT_EQ(device_put(host, devices()[5]).sharding(),
            Sharding(SingleDeviceSharding(devices()[5])));
}

TEST_F(ClientArrays, ArePaddedWhereTheyDoNotDivide) {
  const Array x = device_put(iota({10}), on24(P("y")));
  EXPECT_EQ(values(x), values(iota({10})));
  EXPECT_EQ(sum(x).item<float>(), 45);
  EXPECT_EQ(max(-x).item<float>(), 0);
  const std::vector<Shard> shards = addressable_shards(x);
  ASSERT_EQ(shards.size(), 8u);
  EXPECT_EQ(shards[3].data.shape(), Shape({1}));
  EXPECT_EQ(shards[3].data.data<float>()[0], 9);
}

TEST_F(ClientArrays, MoveBetweenShardings) {
  const Array host = iota({16, 8});
  const Array x = device_put(host, on24(P("x", "y")));
  for (const PartitionSpec& spec : {P("y", "x"), P(), P(None, "x"), P(joint("x", "y"))}) {
    const Array y = device_put(x, on24(spec));
    EXPECT_TRUE(on_client(y));
    EXPECT_EQ(values(y), values(host)) << fmt::format("{}", spec);
  }
  EXPECT_EQ(values(device_put(x, on8(P("x")))), values(host));
  EXPECT_EQ(values(device_put(x, devices()[2])), values(host));
  const Array reversed =
      device_put(x, NamedSharding(Mesh({devices().rbegin(), devices().rend()}, {"r"}), P("r")));
  EXPECT_EQ(values(reversed), values(host));
  EXPECT_EQ(addressable_shards(reversed)[0].device, devices()[7]);
}

TEST_F(ClientArrays, MoveBetweenEngines) {
  const Array x = device_put(iota({8}), on8(P("x")));
  const std::vector<Device> emulated = parse_devices("cpu:8");
  const Array y = device_put(x, NamedSharding(Mesh(emulated, {"x"}), P("x")));
  EXPECT_FALSE(on_client(y));
  EXPECT_EQ(values(y + 1), values(iota({8}) + 1));
  EXPECT_EQ(values(device_put(y, on8(P("x")))), values(x));
}

TEST_F(ClientArrays, HaveEveryDtypeOfThePlugin) {
  for (DType dtype : {bool_, int8, int16, int32, uint8, uint16, uint32, float16, bfloat16, float32,
                      complex64, int4, uint4, float8_e4m3fn, float8_e5m2, float8_e4m3b11fnuz}) {
    const Literal host = arange(6.0).to_host();
    const Array x = device_put(astype(Array(host), dtype), on8(P()));
    EXPECT_EQ(x.dtype(), dtype);
    EXPECT_TRUE(on_client(x));
    initialize({.devices = "cpu:1"});
    const Array emulated = astype(Array(host), dtype);
    EXPECT_EQ(x.to_host(), emulated.to_host()) << dtype;
    initialize(eight_devices());
  }
}

TEST_F(ClientArrays, RefuseDtypesThatThePluginLacks) {
  Literal host(float6_e2m3fn, {4});
  EXPECT_THAT(error_of([&] { device_put(Array(host), on8(P())); }),
              AllOf(HasSubstr("[device_put] expected an array that '"),
                    HasSubstr("takes, got float6_e2m3fn[4]"), HasSubstr("has no element type")));
}

TEST_F(ClientArrays, ComeFromCallbacks) {
  const Array x = make_array_from_callback({8, 2}, on8(P("x")), float32, [](const ShardIndex& at) {
    Literal part(float32, {1, 2});
    part.mutable_data<float>()[0] = static_cast<float>(at[0].start);
    return part;
  });
  EXPECT_TRUE(on_client(x));
  EXPECT_EQ(sum(x).item<float>(), 28);
}

TEST_F(ClientArrays, EmptyAndScalarOnes) {
  EXPECT_EQ(values(device_put(zeros({0, 4}), on8(P("x"))) + 1).size(), 0u);
  EXPECT_EQ(device_put(Array(3.f), on8(P())).item<float>(), 3);
}

TEST_F(ClientArrays, AreSavedAndRestored) {
  const std::string folder = ::testing::TempDir() + "engine_checkpoint";
  std::filesystem::remove_all(folder);
  const Array x = device_put(iota({16, 4}), on24(P("x", "y")));
  save_checkpoint(folder, 1, x);
  const Array back = restore_checkpoint(folder, device_put(zeros({16, 4}), on8(P("x"))));
  EXPECT_TRUE(on_client(back));
  EXPECT_EQ(back.sharding(), Sharding(on8(P("x"))));
  EXPECT_EQ(values(back), values(x));
  initialize({.devices = "cpu:1"});
  EXPECT_EQ(values(restore_checkpoint(folder, abstract_array({16, 4}, float32))), values(x));
}

TEST_F(ClientArrays, Print) {
  EXPECT_EQ(fmt::format("{}", fmt::streamed(device_put(iota({4}), on24(P("y"))))), "[0. 1. 2. 3.]");
}

}  // namespace
}  // namespace tessera::client_array_test
