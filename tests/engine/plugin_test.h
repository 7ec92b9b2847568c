// The tests of engine/ run on eight devices of XLA's plugin for CPUs, which scripts/pjrt-setup
// fetches. If it is not there, they are skipped.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tessera/tessera.h>

#include <cstdlib>
#include <filesystem>

#include "../errors.h"
#include "tessera/ir/format.h"

namespace tessera::test {

// Returns the path of the plugin. TESSERA_TEST_PLUGIN_PATH is where scripts/pjrt-setup puts it.
inline std::string plugin() {
  const char* other = std::getenv("TESSERA_TEST_PLUGIN");
  return other ? other : TESSERA_TEST_PLUGIN_PATH;
}
inline InitOptions eight_devices() {
  return {.devices = "pjrt:" + plugin(), .client_options = {{"cpu_device_count", "8"}}};
}

class PluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(plugin()))
      GTEST_SKIP() << "no plugin at " << plugin() << "; scripts/pjrt-setup fetches one";
    initialize(eight_devices());
  }
};

inline Mesh mesh8() { return make_mesh({8}, {"x"}); }
inline Mesh mesh24() { return make_mesh({2, 4}, {"x", "y"}); }
inline NamedSharding on8(PartitionSpec spec) { return NamedSharding(mesh8(), std::move(spec)); }
inline NamedSharding on24(PartitionSpec spec) { return NamedSharding(mesh24(), std::move(spec)); }

inline std::vector<float> values(const Array& x) {
  const Literal host = x.to_host();
  return {host.data<float>(), host.data<float>() + host.elements()};
}
inline Array iota(const Shape& shape) {
  return reshape(arange(static_cast<double>(shape.elements())), shape);
}

}  // namespace tessera::test
