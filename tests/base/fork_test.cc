#include "tessera/base/fork.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/forks.h"

namespace tessera::fork_test {
namespace {

using test::in_child;

// Each mutex guards two numbers that are equal whenever it is free. Threads nest the two mutexes.
TEST(Fork, ChildrenFindWhatMutexesGuardWhole) {
  ForkSafeMutex outer(ForkParticipant::Level::kCalls), inner(ForkParticipant::Level::kKernels);
  int64_t a = 0, b = 0, c = 0, d = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        {
          const std::lock_guard lock(outer);
          ++a;
          {
            const std::lock_guard inside(inner);
            ++c;
            std::this_thread::yield();
            ++d;
          }
          ++b;
        }
        // A thread that locks again at once keeps the fork waiting for seconds.
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(in_child([&] {
      const std::lock_guard lock(outer);
      const std::lock_guard inside(inner);
      return a == b && c == d;
    }));
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

class Counts final : public ForkParticipant {
 public:
  explicit Counts(Level level, std::vector<Level>* order) : ForkParticipant(level), order_(order) {
    join();
  }
  ~Counts() { leave(); }
  void before_fork() override { order_->push_back(level()); }
  void after_fork(bool child) override { ++(child ? in_child_ : in_parent_); }
  int in_parent() const { return in_parent_; }
  int in_child() const { return in_child_; }

 private:
  std::vector<Level>* order_;
  int in_parent_ = 0, in_child_ = 0;
};

TEST(Fork, ParticipantsTakePartInOrderWhileTheyAreThere) {
  using Level = ForkParticipant::Level;
  std::vector<Level> order;
  const Counts last(Level::kLeaves, &order), first(Level::kCalls, &order);
  { const Counts gone(Level::kPrograms, &order); }
  EXPECT_TRUE(in_child([&] { return first.in_child() == 1 && first.in_parent() == 0; }));
  EXPECT_EQ(first.in_parent(), 1);
  EXPECT_EQ(last.in_child(), 0);
  EXPECT_EQ(order, (std::vector<Level>{Level::kCalls, Level::kLeaves}));
}

}  // namespace
}  // namespace tessera::fork_test
