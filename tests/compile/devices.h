// The fixture of the tests of compile/, which run on eight CPU devices.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tessera/tessera.h>

namespace tessera {

class DevicesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (device_count() != 8) initialize({.devices = "cpu:8"});
  }
};

inline const Mesh& mesh8() {
  static const Mesh& mesh = *new Mesh(create_device_mesh({8}), {"x"});
  return mesh;
}
inline const Mesh& mesh24() {
  static const Mesh& mesh = *new Mesh(create_device_mesh({2, 4}), {"x", "y"});
  return mesh;
}
inline NamedSharding on8(PartitionSpec spec) { return NamedSharding(mesh8(), std::move(spec)); }
inline NamedSharding on24(PartitionSpec spec) { return NamedSharding(mesh24(), std::move(spec)); }

inline std::vector<float> values(const Array& x) {
  const Literal host = x.to_host();
  return {host.data<float>(), host.data<float>() + host.elements()};
}
inline Array iota(Shape shape) {
  return reshape(arange(static_cast<double>(shape.elements())), shape);
}

// Returns the message of the UserError that `body` throws. The library must work afterwards.
template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const UserError& e) {
    EXPECT_EQ(jit([](const Array& x) { return x + 1; })(Array(1.f)).template item<float>(), 2.f);
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace tessera
