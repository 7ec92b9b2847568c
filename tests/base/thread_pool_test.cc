#include "tessera/base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tessera/base/error.h"

namespace tessera::thread_pool_test {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 4, 7}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t n : {0, 1, 2, 3, 100, 5000}) {
      std::vector<std::atomic<int>> count(static_cast<size_t>(n));
      pool.parallel_for(n, [&](int64_t i) { ++count[static_cast<size_t>(i)]; });
      for (const auto& c : count) ASSERT_EQ(c.load(), 1);
    }
  }
}

TEST(ThreadPool, ManyShortCallsSeeOnlyTheirOwnTasks) {
  ThreadPool pool(4);
  for (int64_t round = 0; round < 20000; ++round) {
    std::array<int64_t, 5> got{};
    pool.parallel_for(5, [&](int64_t i) { got[static_cast<size_t>(i)] = round + i; });
    for (int64_t i = 0; i < 5; ++i) ASSERT_EQ(got[static_cast<size_t>(i)], round + i);
  }
}

TEST(ThreadPool, TasksRunOnSeveralThreads) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  // Each task waits for the other: only two threads can finish this.
  pool.parallel_for(2, [&](int64_t) {
    ++arrived;
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(ThreadPool, NestedCallsRunInline) {
  ThreadPool pool(3);
  std::atomic<int> total{0};
  EXPECT_FALSE(in_parallel_task());
  pool.parallel_for(6, [&](int64_t) {
    EXPECT_TRUE(in_parallel_task());
    const auto self = std::this_thread::get_id();
    pool.parallel_for(10, [&](int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      ++total;
    });
  });
  EXPECT_EQ(total.load(), 60);
  EXPECT_FALSE(in_parallel_task());
}

TEST(ThreadPool, ExceptionsReachTheCallerAndThePoolStaysUsable) {
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      try {
        pool.parallel_for(100, [&](int64_t i) {
          if (i % 10 == 3) throw std::runtime_error("task failed");
        });
        FAIL() << "no exception";
      } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "task failed");
      }
      std::atomic<int> count{0};
      pool.parallel_for(20, [&](int64_t) { ++count; });
      ASSERT_EQ(count.load(), 20);
    }
    EXPECT_FALSE(in_parallel_task());
  }
}

TEST(ThreadPool, TasksThatHaveNotBegunAreDroppedAfterAnException) {
  ThreadPool pool(2);
  constexpr int64_t kTasks = 1'000'000;
  std::atomic<int64_t> count{0};
  EXPECT_THROW(pool.parallel_for(kTasks,
                                 [&](int64_t i) {
                                   if (i == 0 || i == kTasks - 1) throw std::runtime_error("first");
                                   ++count;
                                 }),
               std::runtime_error);
  EXPECT_LT(count.load(), kTasks - 2);
}

TEST(ThreadPool, SeveralUsersAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> users;
  std::atomic<int64_t> total{0};
  for (int u = 0; u < 4; ++u) {
    users.emplace_back([&] {
      for (int round = 0; round < 300; ++round)
        pool.parallel_for(17, [&](int64_t i) { total += i; });
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(total.load(), 4 * 300 * (16 * 17 / 2));
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    std::atomic<int> arrived{0};
    pool.parallel_for(2, [&](int64_t) {
      ++arrived;
      while (arrived.load() < 2) std::this_thread::yield();
    });
  }
}

void wait_until_asleep(const ThreadPool& pool) {
  for (int i = 0; i < 5000 && pool.awake(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(ThreadPool, WorkersAreAwakeAfterACallAndThenSleep) {
  ThreadPool pool(2);
  EXPECT_FALSE(pool.awake());  // there are no workers yet
  bool was_awake = false, in_task = false;
  // If the system runs other threads just then, the worker may sleep already.
  for (int round = 0; round < 1000 && !was_awake; ++round) {
    std::atomic<bool> worker_began{false}, caller_ended{false};
    pool.parallel_for(2, [&](int64_t task) {
      if (pool.awake()) in_task = true;
      if (task == 1) worker_began = true;
      while (task == 0 ? !worker_began : !caller_ended) std::this_thread::yield();
      if (task == 0) caller_ended = true;
    });
    was_awake = pool.awake();
  }
  EXPECT_TRUE(was_awake);
  EXPECT_FALSE(in_task);
  wait_until_asleep(pool);
  EXPECT_FALSE(pool.awake());
}

TEST(ThreadPool, ShortTasksWakeNobody) {
  ThreadPool pool(2);
  pool.parallel_for(2, [](int64_t) {});
  wait_until_asleep(pool);
  const auto self = std::this_thread::get_id();
  std::vector<int> count(1000);
  pool.parallel_for_awake(1000, [&](int64_t i) {
    EXPECT_EQ(std::this_thread::get_id(), self);
    ++count[static_cast<size_t>(i)];
  });
  EXPECT_EQ(count, std::vector<int>(1000, 1));
  EXPECT_FALSE(pool.awake());
}

TEST(ThreadPool, TheCallerBeginsWithTheFirstTaskAndAWorkerWithTheLast) {
  ThreadPool pool(2);
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 100; ++round) {
    std::array<std::thread::id, 2> threads;
    std::atomic<int> arrived{0};
    pool.parallel_for(2, [&](int64_t i) {
      threads[static_cast<size_t>(i)] = std::this_thread::get_id();
      ++arrived;
      while (arrived.load() < 2) std::this_thread::yield();
    });
    ASSERT_EQ(threads[0], caller);
    ASSERT_NE(threads[1], caller);
  }
}

TEST(ThreadPool, CallerSleepsWhileATaskIsLong) {
  ThreadPool pool(2);
  std::atomic<bool> worker_began{false};
  const auto caller = std::this_thread::get_id();
  std::atomic<int> ended{0};
  pool.parallel_for(2, [&](int64_t) {
    if (std::this_thread::get_id() == caller) {
      while (!worker_began) std::this_thread::yield();
    } else {
      worker_began = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ++ended;
  });
  EXPECT_EQ(ended.load(), 2);
}

TEST(ThreadPool, ResizeChangesTheNumberOfThreads) {
  ThreadPool pool(1);
  for (int threads : {4, 1, 2}) {
    pool.resize(threads);
    EXPECT_EQ(pool.threads(), threads);
    std::atomic<int> count{0};
    pool.parallel_for(64, [&](int64_t) { ++count; });
    EXPECT_EQ(count.load(), 64);
  }
}

TEST(ThreadPool, RangesCoverTheWholeOnce) {
  for (int64_t n : {0, 1, 7, 64, 1000}) {
    for (int64_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      parallel_for_ranges(n, grain, [&](int64_t begin, int64_t end) {
        EXPECT_LE(end - begin, grain);
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (const auto& s : seen) ASSERT_EQ(s.load(), 1);
    }
  }
}

TEST(ThreadPool, NumberOfThreadsOfTheProcess) {
  const int before = num_threads();
  EXPECT_GE(before, 1);
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
  set_num_threads(before);
  try {
    set_num_threads(0);
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "[set_num_threads] expected a number of threads from 1 to 4096, got 0");
  }
}

// Threads do not start, because there is no room for a stack of that size.
TEST(ThreadPoolDeathTest, GoesOnWithTheThreadsThatStart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, size_t{1} << 46);
        pthread_setattr_default_np(&attributes);
        ThreadPool pool(4);
        std::atomic<int> sum = 0;
        for (int i = 0; i < 3; ++i) pool.parallel_for(10, [&](int64_t task) { sum += task; });
        run_on_threads(3, [&] { ++sum; });
        std::_Exit(sum == 3 * 45 + 1 && pool.threads() == 1 ? 3 : 4);
      },
      testing::ExitedWithCode(3),
      "\\[thread_pool\\] expected to start 4 threads, the system starts 1 \\(.*\\); work goes on "
      "with these");
}

TEST(ThreadPool, AChildHasWorkersOfItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer allows no threads in a child of a fork";
#endif
  ThreadPool pool(4);
  const auto works = [&] {
    std::atomic<int> sum = 0;
    std::set<std::thread::id> ids;
    std::mutex mutex;
    for (int i = 0; i < 20 && ids.size() < 2; ++i) {
      sum = 0;
      pool.parallel_for(100, [&](int64_t task) {
        sum += static_cast<int>(task);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
      });
    }
    return sum == 4950 && ids.size() > 1;
  };
  EXPECT_TRUE(works());
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(30);
    const bool good = works();
    pool.resize(2);
    ::_exit(good && works() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(works());
}

// Each case needs a process of its own, because the variable is read once.
TEST(ThreadPoolDeathTest, NumberOfThreadsFromTheEnvironment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto start = [](const char* value) {
    setenv("TESSERA_NUM_THREADS", value, 1);
    try {
      std::fprintf(stderr, "%d threads", num_threads());
    } catch (const UserError& e) {
      std::fputs(e.what(), stderr);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(start("3"), testing::ExitedWithCode(0), "^3 threads");
  for (const char* wrong : {"many", "0", "-2", "4x"})
    EXPECT_EXIT(start(wrong), testing::ExitedWithCode(0),
                "\\[TESSERA_NUM_THREADS\\] expected a number of threads from 1 to 4096, got '");
}

}  // namespace
}  // namespace tessera::thread_pool_test
