// What one process computes is recorded, device by device, and compared bit for bit with what each
// of several processes finds on its own devices. ctest runs the tests with one process first
// (cluster_1, CMakeLists.txt), then with two and four, which read what that one wrote.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tessera/tessera.h>

#include <map>
#include <string>

#include "tessera/runtime/device_array.h"

namespace tessera {

class ClusterTest : public testing::Test {
 protected:
  void SetUp() override;
  // Every process hears of failures in the others; process 0, whose results are counted, fails with
  // them.
  void TearDown() override;

  // What each device holds of x, under this name: once a test. One process writes it down, several
  // look at those of their devices.
  void same(const std::string& name, const Array& x);

  // Pseudo-random numbers in (-1, 1) of many magnitudes, so that the order of a sum is seen; whole
  // ones below 100 for integers.
  static Literal numbers(DType dtype, const Shape& shape, uint64_t seed);
  static Array placed(DType dtype, const Shape& shape, uint64_t seed, const NamedSharding& where) {
    return device_put(Array(numbers(dtype, shape, seed)), where);
  }
  // Devices in the given order of their ids.
  static Mesh mesh(const Shape& sizes, const std::vector<int64_t>& order = {});

 private:
  std::string file() const;
  std::map<std::string, std::string> recorded_, seen_;
};

}  // namespace tessera
