// Processes are killed while they save. The last complete step must stay.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "files.h"
#include "tessera/io/checkpoint.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/placement.h"

extern char** environ;

namespace tessera::checkpoint_kill_test {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFolder = "TESSERA_TEST_CHECKPOINTS";

struct Tree {
  Array w;
  std::vector<Array> rest;
};
// Returns a tree in which every byte depends on the step.
Tree tree_of(int64_t step) {
  const auto value = [&](int64_t elements, int64_t salt) {
    Literal out(int32, {elements});
    for (int64_t i = 0; i < elements; ++i)
      out.mutable_data<int32_t>()[i] = static_cast<int32_t>(step * 7919 + i + salt);
    return out;
  };
  const Mesh mesh(create_device_mesh({8}), {"x"});
  Tree out{device_put(Array(value(100'000, 1)), NamedSharding(mesh, P("x"))), {}};
  for (int64_t i = 0; i < 20; ++i) out.rest.push_back(Array(value(500, i)));
  return out;
}

class CheckpointKillTest : public test::FolderTest {
 protected:
  void SetUp() override { initialize({.devices = "cpu:8"}); }
  void TearDown() override { initialize({.devices = "cpu:1"}); }
};

// The child saves step after step until it is killed, and writes a byte after each.
TEST(CheckpointKillTestChild, DISABLED_Saves) {
  initialize({.devices = "cpu:8"});
  const char* folder = std::getenv(kFolder);
  ASSERT_TRUE(folder) << "run by SavesThatAreKilled";
  for (int64_t step = latest_step(folder).value_or(0) + 1;; ++step) {
    save_checkpoint(folder, step, tree_of(step), {.keep = 2, .single_file_bytes = 0});
    if (::write(STDOUT_FILENO, "!", 1) != 1) return;
  }
}

// Starts a new child (a forked one would have no threads). `out` becomes the file of its output.
// Returns its process id.
pid_t start_child(const fs::path& folder, int& out) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::setenv(kFolder, folder.c_str(), 1);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    const char* argv[] = {"io_tests",
                          "--gtest_filter=CheckpointKillTestChild.DISABLED_Saves",
                          "--gtest_also_run_disabled_tests",
                          "--gtest_output=",
                          "--gtest_brief=1",
                          nullptr};
    ::execve("/proc/self/exe", const_cast<char**>(argv), environ);
    ::_exit(127);
  }
  ::close(ends[1]);
  out = ends[0];
  return pid;
}

// Returns the number of steps that the child has finished, when there are `enough` or the child has
// ended.
int64_t count_steps(int out, int64_t enough) {
  int64_t steps = 0;
  for (char byte = 0; steps < enough && ::read(out, &byte, 1) == 1;) steps += byte == '!';
  return steps;
}

TEST_F(CheckpointKillTest, SavesThatAreKilled) {
  std::mt19937 random(4);
  int64_t finished = 0;
  int left_behind = 0;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    int out = -1;
    const pid_t child = start_child(folder_, out);
    // Some children are killed during their first save, which removes the files that the last child
    // left.
    const int64_t first = round % 4 == 0 ? 1 : 2;
    int64_t done = count_steps(out, first);
    ASSERT_EQ(done, first) << "the child ended";
    ::usleep(random() % 20'000);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    done += count_steps(out, INT64_MAX);
    ::close(out);
    finished += done;

    // The child may have died between the rename and the byte.
    const std::vector<int64_t> steps = all_steps(folder_);
    ASSERT_FALSE(steps.empty());
    EXPECT_GE(steps.back(), finished);
    EXPECT_LE(steps.back(), finished + 1);
    finished = steps.back();
    for (int64_t step : steps) {
      const Tree back = restore_checkpoint(folder_, tree_of(0), step);
      const Tree expected = tree_of(step);
      EXPECT_EQ(back.w.to_host(), expected.w.to_host());
      for (size_t i = 0; i < back.rest.size(); ++i)
        EXPECT_EQ(back.rest[i].to_host(), expected.rest[i].to_host());
    }
    for (const auto& entry : fs::directory_iterator(folder_))
      left_behind += entry.path().filename().string().starts_with(".tmp-");
  }
  // Some children left files; these are removed by one more save.
  EXPECT_GT(left_behind, 0);
  save_checkpoint(folder_, finished + 1, tree_of(finished + 1), {.keep = 1});
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace tessera::checkpoint_kill_test
