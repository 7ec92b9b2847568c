// Checkpoints of several processes: each writes its own shards, one commits; an error in one
// process is an error in all. The tests of CheckpointChain are run by tests/cluster/checkpoints,
// which starts other numbers of processes on one folder.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tessera/cluster/joint_step.h"
#include "tessera/cluster/processes.h"
#include "tessera/io/safetensors.h"
#include "tessera/ir/format.h"
#include "tests/cluster/recorded.h"
#include "tests/errors.h"

namespace tessera::checkpoint_test {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Array floats(const Shape& shape) { return ones(shape, float32); }

struct Tree {
  std::map<std::string, Array> arrays;
  Array host, weak, on_device;
  int64_t fixed = 3;
};

class CheckpointTree : public ClusterTest {
 protected:
  const int64_t count_ = process_count(), me_ = process_index();

  // Returns a tree in which every byte depends on the step, and each dtype is sharded in some way,
  // evenly or not. With `elsewhere` it is sharded in other ways.
  static Tree tree_of(int64_t step, bool elsewhere = false) {
    const Mesh line = mesh({8}), grid = mesh({2, 4}),
               mixed = mesh({4, 2}, {5, 0, 3, 6, 1, 2, 7, 4}), some = mesh({3}, {7, 5, 4});
    std::vector<NamedSharding> places{
        {line, P("x")},      {line, P()},    {grid, P("y", "x")}, {grid, P(None, joint("x", "y"))},
        {mixed, P("x")},     {some, P("x")}, {grid, P("x")},      {mixed, P("y", "x")},
        {line, P(None, "x")}};
    if (elsewhere) std::rotate(places.begin(), places.begin() + 4, places.end());
    Tree out;
    const auto seed = static_cast<uint64_t>(step * 100);
    for (int d = 0; d < kNumDTypes; ++d) {
      const auto dtype = static_cast<DType>(d);
      const auto i = static_cast<size_t>(d);
      out.arrays[fmt::format("{}", dtype)] =
          device_put(Array(bits(dtype, {13, 8}, seed + i)), places[i % places.size()]);
    }
    out.arrays["empty"] = device_put(Array(Literal(float32, {0, 3})), NamedSharding(line, P("x")));
    out.arrays["number"] = device_put(Array(bits(float64, {}, seed)), NamedSharding(line, P()));
    out.host = Array(bits(int32, {7}, seed));
    out.weak = Array(2.5f + static_cast<float>(step));
    out.on_device = device_put(Array(bits(float32, {5, 2}, seed)), devices()[elsewhere ? 6 : 1]);
    return out;
  }
  // Returns random bits, except bit patterns that a dtype does not have.
  static Literal bits(DType dtype, const Shape& shape, uint64_t seed) {
    if (dtype == bool_) return numbers(dtype, shape, seed);
    Literal out(dtype, shape);
    const Literal random = numbers(float64, {out.bytes() / 8 + 1}, seed);
    if (out.bytes() > 0)
      std::memcpy(out.mutable_raw(), random.raw(), static_cast<size_t>(out.bytes()));
    return out;
  }
  static void expect_same(const Array& a, const Array& b, const std::string& name) {
    EXPECT_EQ(a.sharding(), b.sharding()) << name;
    const std::vector<Shard> x = addressable_shards(a), y = addressable_shards(b);
    ASSERT_EQ(x.size(), y.size()) << name;
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i].data, y[i].data) << name << ' ' << i;
  }
  static void expect_same(const Tree& a, const Tree& b) {
    for (const auto& [name, array] : a.arrays) expect_same(array, b.arrays.at(name), name);
    expect_same(a.on_device, b.on_device, "on_device");
    EXPECT_EQ(a.host.to_host(), b.host.to_host());
    EXPECT_EQ(a.weak.to_host(), b.weak.to_host());
    EXPECT_TRUE(a.weak.weak_type());
  }
};

class Checkpoint : public CheckpointTree {
 protected:
  void SetUp() override {
    CheckpointTree::SetUp();
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    // All processes use the name that process 0 makes.
    const std::string name = cluster::joint_step([] { return std::string("a folder's name"); },
                                                 [] { return std::to_string(::getpid()); })[0];
    folder_ = fs::temp_directory_path() / fmt::format("tessera-{}-{}", test->name(), name);
    if (me_ == 0) fs::create_directories(folder_);
    sync_global_devices("a folder");
  }
  void TearDown() override {
    sync_global_devices("the end");
    if (me_ == 0) fs::remove_all(folder_);
    CheckpointTree::TearDown();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_))
      out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }
  fs::path folder_;
};

TEST_F(Checkpoint, SavedAndRestored) {
  EXPECT_EQ(latest_step(folder_), std::nullopt);
  save_checkpoint(folder_, 3, tree_of(3));
  save_checkpoint(folder_, 4, tree_of(4));
  EXPECT_THAT(all_steps(folder_), ElementsAre(3, 4));
  EXPECT_EQ(latest_step(folder_), 4);
  expect_same(restore_checkpoint(folder_, tree_of(0)), tree_of(4));
  expect_same(restore_checkpoint(folder_, tree_of(0, true), 3), tree_of(3, true));
  // Each process writes one file, with the shards that no earlier process has.
  int64_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "step_00000003"))
    files += entry.path().extension() == ".safetensors";
  EXPECT_EQ(files, count_);
  if (count_ > 1) {
    const auto last =
        read_safetensors(folder_ / "step_00000003" /
                         fmt::format("arrays-{:05}-of-{:05}.safetensors", count_, count_));
    EXPECT_FALSE(last.empty());
    for (const auto& [name, data] : last) {
      EXPECT_THAT(name, ::testing::HasSubstr("@"));
      EXPECT_LT(data.shape()[0] * data.shape()[1], 13 * 8);
    }
  }
}

TEST_F(Checkpoint, OldStepsGo) {
  for (int64_t step = 0; step < 4; ++step) save_checkpoint(folder_, step, Array(step), {.keep = 2});
  EXPECT_THAT(all_steps(folder_), ElementsAre(2, 3));
  EXPECT_EQ(restore_checkpoint(folder_, Array(int64_t{0})).item<int64_t>(), 3);
}

TEST_F(Checkpoint, RestoresPartsOfLargeLeaves) {
  const Array x = placed(float32, {1024, 512}, 1, {mesh({8}), P("x")});
  save_checkpoint(folder_, 1, x, {.single_file_bytes = 0});
  const Array like = placed(float32, {1024, 512}, 2, {mesh({2, 4}), P("y", "x")});
  expect_same(restore_checkpoint(folder_, like), device_put(x, like.sharding()), "x");
}

TEST_F(Checkpoint, ErrorsAreInAllProcesses) {
  const Array x = placed(float32, {8, 4}, 1, {mesh({8}), P("x")});
  const auto save = [&](int64_t step, const auto& tree) {
    return error_of([&] { save_checkpoint(folder_, step, tree); });
  };
  const std::string where = count_ == 1 ? "" : fmt::format(" (in process {})", count_ - 1);
  const bool last = me_ == count_ - 1;
  // In the last process a leaf has no data.
  const std::vector<Array> tree{x, last ? abstract_array({2}, float32) : floats({2})};
  EXPECT_THAT(save(1, tree), AllOf(HasSubstr("expected leaf '[1]' to have data, got the abstract "),
                                   HasSubstr(last ? "" : where)));
  EXPECT_THAT(save(-1, x), HasSubstr("[save_checkpoint] expected a step of 0 or more"));
  // Process 0 cannot create a folder below a file.
  std::ofstream(folder_ / "file") << "x";
  sync_global_devices("written");
  EXPECT_THAT(error_of([&] { save_checkpoint(folder_ / "file", 1, x); }), HasSubstr("/file"));
  EXPECT_THAT(names(), ElementsAre("file"));
  sync_global_devices("looked");
  // Saving works afterwards; the step does not exist yet.
  EXPECT_EQ(save(1, std::vector<Array>{x, floats({2})}), "");
  EXPECT_THAT(save(1, x), HasSubstr("expected a step that"));
  EXPECT_THAT(names(), ElementsAre("file", "step_00000001"));

  EXPECT_THAT(error_of([&] { restore_checkpoint(folder_, x, 7); }),
              HasSubstr("expected step 7 in"));
  EXPECT_THAT(error_of([&] { restore_checkpoint(folder_, x); }),
              HasSubstr("to have the only leaf, got none of that path among its 2"));
  const std::vector<Array> other{x, floats({last ? 3 : 2})};
  EXPECT_THAT(error_of([&] { restore_checkpoint(folder_, other); }),
              AllOf(HasSubstr("expected leaf '[1]' of shape (3,), got (2,)"),
                    HasSubstr(last ? "" : where)));
  // Now a file is damaged that only the last process reads.
  sync_global_devices("before damage");
  const fs::path file =
      folder_ / "step_00000001" /
      (count_ == 1 ? "arrays.safetensors"
                   : fmt::format("arrays-{:05}-of-{:05}.safetensors", count_, count_));
  if (last) {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(-1, std::ios::end);
    out.put('!');
  }
  sync_global_devices("damaged");
  const std::vector<Array> like{x, floats({2})};
  EXPECT_THAT(error_of([&] { restore_checkpoint(folder_, like); }),
              AllOf(HasSubstr("bytes with checksum"), HasSubstr(last ? "" : where)));
}

TEST_F(Checkpoint, TreesThatDiffer) {
  if (count_ == 1) return;
  const Array x = placed(float32, {8, 4}, 1, {mesh({8}), P("x")});
  const auto save = [&](const auto& tree) {
    return error_of([&] { save_checkpoint(folder_, 1, tree); });
  };
  EXPECT_THAT(save(std::vector<Array>{x, floats({2}) * me_}),
              HasSubstr("[save_checkpoint] expected one tree in all processes, got leaf '[1]' "
                        "float32[2] of its own with checksum "));
  EXPECT_THAT(save(std::vector<Array>(static_cast<size_t>(me_ == 1 ? 2 : 1), x)),
              AllOf(HasSubstr("got nothing more in process 0 and leaf '[1]' float32[8,4] on "),
                    HasSubstr(" in process 1; ")));
  EXPECT_THAT(save(device_put(floats({8}), NamedSharding(Mesh(local_devices(), {"x"}), P("x")))),
              AllOf(HasSubstr("of devices 0, 1"), HasSubstr("in process 0 and the only leaf")));
  EXPECT_TRUE(names().empty());
  sync_global_devices("looked");
  EXPECT_EQ(save(x), "");
}

TEST_F(Checkpoint, AnotherSaveIsWriting) {
  if (me_ == 0) {
    const int lock = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
    EXPECT_THAT(error_of([&] { save_checkpoint(folder_, 1, floats({2})); }),
                HasSubstr("expected no other save to be writing"));
    ::close(lock);
  } else {
    EXPECT_THAT(
        error_of([&] { save_checkpoint(folder_, 1, floats({2})); }),
        AllOf(HasSubstr("expected no other save to be writing"), HasSubstr("(in process 0)")));
  }
}

// ---- Several runs on one folder, started by tests/cluster/checkpoints.

class CheckpointChain : public CheckpointTree {
 protected:
  void SetUp() override {
    if (!folder_) GTEST_SKIP() << "run by tests/cluster/checkpoints";
  }
  void TearDown() override {}
  const char* folder_ = std::getenv("TESSERA_TEST_CHECKPOINTS");
};

// Restores all that earlier runs have written, bit for bit, with the same shardings or others. Then
// it saves one more step.
TEST_F(CheckpointChain, RestoresAllAndSaves) {
  const std::vector<int64_t> steps = all_steps(folder_);
  for (int64_t step : steps) {
    SCOPED_TRACE(step);
    expect_same(restore_checkpoint(folder_, tree_of(0), step), tree_of(step));
    expect_same(restore_checkpoint(folder_, tree_of(0, true), step), tree_of(step, true));
  }
  const int64_t next = steps.empty() ? 1 : steps.back() + 1;
  save_checkpoint(folder_, next, tree_of(next));
  EXPECT_EQ(latest_step(folder_), next);
}

// Saves until the last process kills itself: during a save, TESSERA_TEST_KILL_AFTER microseconds
// after its beginning.
TEST_F(CheckpointChain, DISABLED_SavesUntilKilled) {
  const char* after = std::getenv("TESSERA_TEST_KILL_AFTER");
  ASSERT_TRUE(after);
  int64_t step = latest_step(folder_).value_or(0) + 1;
  save_checkpoint(folder_, step, tree_of(step), {.keep = 3});
  std::thread killer;
  if (me_ == count_ - 1)
    killer = std::thread([this, after] {
      const auto writes = [this] {
        std::error_code gone;
        for (fs::directory_iterator entry(folder_, gone), end; !gone && entry != end;
             entry.increment(gone))
          if (entry->path().filename().string().starts_with(".tmp-")) return true;
        return false;
      };
      while (!writes()) ::usleep(20);
      ::usleep(static_cast<useconds_t>(std::atoi(after)));
      ::kill(::getpid(), SIGKILL);
    });
  while (true) {
    ++step;
    save_checkpoint(folder_, step, tree_of(step), {.keep = 3});
  }
}

}  // namespace
}  // namespace tessera::checkpoint_test
