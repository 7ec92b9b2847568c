#include "tessera/cluster/broadcast.h"

#include "tests/cluster/recorded.h"

namespace tessera::broadcast_test {
namespace {

class Broadcast : public ClusterTest {};

TEST_F(Broadcast, BytesAreThoseOfProcess0) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{32}, size_t{1} << 20}) {
    std::vector<std::byte> bytes(size, static_cast<std::byte>(7 + process_index()));
    cluster::broadcast(bytes, [] { return std::string("bytes"); });
    EXPECT_EQ(bytes, std::vector<std::byte>(size, std::byte{7}));
  }
}

}  // namespace
}  // namespace tessera::broadcast_test
