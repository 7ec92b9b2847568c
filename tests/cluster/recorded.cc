#include "tests/cluster/recorded.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tessera/cluster/processes.h"
#include "tessera/ir/format.h"
#include "tessera/ops/core/convert.h"

namespace tessera {

using namespace ops;

namespace {

// Up to this many bytes of an array are recorded as they are, so that people can read a difference.
constexpr int64_t kShown = 64;
// Set when processes can no longer work together after an error.
bool gave_up = false;

std::string text_of(const Literal& x) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int64_t i = 0; i < x.bytes(); ++i)
    hash = (hash ^ static_cast<uint64_t>(x.raw()[i])) * 0x100000001b3;
  std::string out = fmt::format("{}{} #{:016x}", x.dtype(), x.shape(), hash);
  const auto* bytes = reinterpret_cast<const uint8_t*>(x.raw());
  for (int64_t i = 0; i < std::min(kShown, x.bytes()); ++i)
    out += fmt::format("{}{:02x}", i % itemsize(x.dtype()) == 0 ? " " : "", bytes[i]);
  return out;
}

uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

std::string ClusterTest::file() const {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::string name = fmt::format("{}.{}", test.test_suite_name(), test.name());
  std::replace(name.begin(), name.end(), '/', '_');
  const char* folder = std::getenv("TESSERA_CLUSTER_RECORDS");
  TESSERA_CHECK(folder, "TESSERA_CLUSTER_RECORDS names no folder; start by tests/cluster/run");
  return fmt::format("{}/{}", folder, name);
}

void ClusterTest::SetUp() {
  enable_x64(true);
  if (process_count() == 1) return;
  if (gave_up) GTEST_SKIP() << "the processes gave up in a test before";
  std::ifstream in(file());
  ASSERT_TRUE(in) << "run cluster_1 first: there is no " << file();
  for (std::string line; std::getline(in, line);) {
    const size_t tab = line.find('\t');
    recorded_[line.substr(0, tab)] = line.substr(tab + 1);
  }
}

void ClusterTest::same(const std::string& name, const Array& x) {
  const std::vector<Shard> shards = addressable_shards(x);
  const Sharding sharding = x.sharding();
  size_t here = 0;
  for (const Device& device : sharding.devices())
    here += !sharding.is_named() || device.process_index == process_index();
  EXPECT_EQ(shards.size(), here) << name;
  for (const Shard& shard : shards) {
    const std::string key = fmt::format("{} on {}", name, shard.device.id),
                      value =
                          fmt::format("[{}] {}", fmt::join(shard.index, ", "), text_of(shard.data));
    EXPECT_TRUE(seen_.emplace(key, value).second) << key << " twice";
    if (process_count() == 1) continue;
    const auto found = recorded_.find(key);
    if (found == recorded_.end()) {
      ADD_FAILURE() << key << ": one process has none";
      continue;
    }
    EXPECT_EQ(found->second, value) << key << ", in one process and here";
  }
}

void ClusterTest::TearDown() {
  if (gave_up) return;
  if (process_count() == 1) {
    std::ofstream out(file());
    for (const auto& [key, value] : seen_) out << key << '\t' << value << '\n';
    ASSERT_TRUE(out.flush()) << "cannot write " << file();
    return;
  }
  // Counts records for devices of this process that no test has compared. (An array on one device
  // is in every process.)
  size_t missing = 0;
  std::string first;
  for (const auto& [key, value] : recorded_) {
    const int64_t device = std::stoll(key.substr(key.rfind(' ') + 1));
    if (devices().at(static_cast<size_t>(device)).process_index != process_index()) continue;
    if (!seen_.contains(key) && missing++ == 0) first = key;
  }
  EXPECT_EQ(missing, 0u) << "not compared: " << first << ", ...";
  std::string failures;
  const testing::TestResult& result =
      *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < result.total_part_count(); ++i)
    if (result.GetTestPartResult(i).failed())
      failures += std::string(result.GetTestPartResult(i).message()) + '\n';
  try {
    const std::vector<std::string> all =
        cluster::Processes::current()->all_gather(failures, [] { return "the end of a test"; });
    for (size_t p = 1; p < all.size(); ++p)
      if (!all[p].empty() && process_index() == 0)
        ADD_FAILURE() << "in process " << p << ": " << all[p];
  } catch (const std::exception& error) {
    gave_up = true;
    ADD_FAILURE() << error.what();
  }
}

Literal ClusterTest::numbers(DType dtype, const Shape& shape, uint64_t seed) {
  const bool complex = is_complex(dtype);
  const int64_t n = shape.elements() * (complex ? 2 : 1);
  std::vector<double> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bits = mixed((seed + 1) * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(i));
    const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
    values[static_cast<size_t>(i)] = is_inexact(dtype) ? std::ldexp(2 * unit - 1, -int(bits % 5))
                                     : dtype == bool_  ? static_cast<double>(bits % 2)
                                                       : std::floor(unit * 100);
  }
  Literal wide(complex ? complex128 : float64, shape);
  if (n > 0) std::memcpy(wide.mutable_raw(), values.data(), static_cast<size_t>(n) * 8);
  return convert_literal(wide, dtype);
}

Mesh ClusterTest::mesh(const Shape& sizes, const std::vector<int64_t>& order) {
  std::vector<Device> list;
  for (int64_t i = 0; i < sizes.elements(); ++i)
    list.push_back(devices().at(static_cast<size_t>(order.empty() ? i : order.at(i))));
  const std::vector<std::string> names{"x", "y", "z"};
  return Mesh(DeviceMesh(sizes, list), {names.begin(), names.begin() + sizes.rank()});
}

}  // namespace tessera
