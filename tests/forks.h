// Helpers for tests of children that are forked while other threads work.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tessera::test {

// Returns whether the body returns true in a child; false if the child hangs for 20 seconds.
template <class F>
bool in_child(F&& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(20);
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Expects that work() ends in children that are forked while three threads do nothing else.
template <class F>
void expect_work_in_children(const F& work, int children) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer allows no threads in a child of a fork";
#endif
  work(-1);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      while (!stop) work(t);
    });
  bool all = true;
  for (int i = 0; i < children && all; ++i)
    all = in_child([&] {
      work(-1);
      return true;
    });
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(all) << "a child does not end";
}

}  // namespace tessera::test
