// The results of a run with one process are recorded, device by device. In runs with several
// processes, each process compares the results on its own devices with the records, bit for bit.
// ctest runs the tests with one process first (cluster_1, CMakeLists.txt), then with two and four.
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
  // Sends the failures of every process to the others. Process 0, whose results are counted, fails
  // if another process fails.
  void TearDown() override;

  // Records the shards of x under this name (one process), or compares those of this process's
  // devices with the records (several processes). A test may use a name only once.
  void same(const std::string& name, const Array& x);

  // Returns pseudo-random numbers in (-1, 1) of many magnitudes, so that the order of a sum
  // matters. For integer dtypes they are whole numbers below 100.
  static Literal numbers(DType dtype, const Shape& shape, uint64_t seed);
  static Array placed(DType dtype, const Shape& shape, uint64_t seed, const NamedSharding& where) {
    return device_put(Array(numbers(dtype, shape, seed)), where);
  }
  // Returns a mesh of the devices with these ids, in this order.
  static Mesh mesh(const Shape& sizes, const std::vector<int64_t>& order = {});

 private:
  std::string file() const;
  std::map<std::string, std::string> recorded_, seen_;
};

}  // namespace tessera
