#include "tessera/engine/compile_options.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::compile_options_test {
namespace {

// As protoc writes executable_build_options { device_ordinal: -1 num_replicas: 2 num_partitions: 1
// device_assignment { replica_count: 2 computation_count: 1 computation_devices {
// replica_device_ids: [3, 300] } } }.
TEST(CompileOptions, InProtobufsWireFormat) {
  const std::string assignment("\x08\x02\x10\x01\x1a\x05\x08\x03\x08\xac\x02", 11);
  const std::string build = std::string("\x08") + std::string(9, '\xff') + "\x01" +
                            std::string("\x20\x02\x28\x01\x4a\x0b", 6) + assignment;
  const std::vector<int64_t> devices = {3, 300};
  EXPECT_EQ(engine::compile_options(devices),
            std::string("\x1a") + static_cast<char>(build.size()) + build);
}

}  // namespace
}  // namespace tessera::compile_options_test
