// The end of a process, and its children.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "tessera/base/thread_pool.h"
#include "tests/compile/devices.h"
#include "tests/sanitizers.h"

namespace tessera::process_test {
namespace {

class Process : public DevicesTest {
 protected:
  void SetUp() override {
    if (has_thread_sanitizer())
      GTEST_SKIP() << "the thread sanitizer allows no threads in a child of a fork";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

float compute(float c) {
  return sum(jit([c](const Array& x) { return matmul(x, x) * c; })(
                 device_put(iota({16, 16}), on8(P("x")))))
      .item<float>();
}
void compile_forever(int thread) {
  for (int i = 0;; ++i) compute(static_cast<float>(thread * 100000 + i));
}

// Runs the body in a child. Returns its exit status, or -1 if it hangs or dies of a signal.
template <class F>
int in_child(F&& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    // The leak checker would report the memory of threads that do not exist in the child.
    if (has_address_sanitizer()) ::on_exit([](int status, void*) { std::_Exit(status); }, nullptr);
    body();
    std::exit(7);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Process, ExitsWhileOtherThreadsCompile) {
  EXPECT_EXIT(
      {
        ::alarm(60);
        compute(1);
        for (int t = 0; t < 3; ++t) std::thread(compile_forever, t).detach();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::exit(3);
      },
      testing::ExitedWithCode(3), "");
}

// A program that was compiled before still runs. Nothing new can be compiled, because LLVM is being
// destroyed.
struct ComputesWhenDestroyed {
  ~ComputesWhenDestroyed() {
    if (known) std::fprintf(stderr, "again %g, ", static_cast<double>((*known)(3.f).item<float>()));
    try {
      compute(0.5f);
    } catch (const RuntimeError& error) {
      std::fprintf(stderr, "%s", error.what());
    }
    std::_Exit(5);
  }
  const std::function<Array(float)>* known;
};

TEST_F(Process, DestructorsOfStaticsRunWhatIsCompiled) {
  const auto square = jit([](const Array& x) { return x * x; });
  const std::function<Array(float)> known = [&](float x) { return square(Array(x)); };
  for (bool before : {false, true})
    EXPECT_EXIT(
        {
          ::alarm(60);
          if (before) known(2.f);
          static const ComputesWhenDestroyed last(before ? &known : nullptr);
          compute(2);
          std::exit(3);
        },
        testing::ExitedWithCode(5),
        std::string(before ? "again 9, " : "") + ".exit. expected to compile and to call");
}

TEST_F(Process, ChildrenCompileAndRun) {
  const float expected = compute(3);
  EXPECT_EQ(in_child([&] {
              if (compute(3) != expected || compute(4) == expected) std::exit(1);
            }),
            7);
}

TEST_F(Process, ChildrenCompileAndRunThoughThreadsWereCompiling) {
  if (has_address_sanitizer())
    GTEST_SKIP()
        << "the address sanitizer's allocator (of GCC 12) is not made safe for forks: a child "
           "waits for a lock that no thread of it holds";
  EXPECT_EXIT(
      {
        ::alarm(100);
        const float expected = compute(3);
        for (int t = 0; t < 2; ++t) std::thread(compile_forever, t).detach();
        int good = 0;
        for (int i = 0; i < 5; ++i) {
          good += in_child([&] {
                    if (compute(3) != expected || compute(4) == expected) std::exit(1);
                  }) == 7;
        }
        std::fprintf(stderr, "%d children", good);
        std::exit(3);
      },
      testing::ExitedWithCode(3), "5 children");
}

// Threads do not start, because there is no room for a stack of that size.
TEST_F(Process, WorksWithoutThreads) {
  EXPECT_EXIT(
      {
        ::alarm(60);
        set_num_threads(8);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, size_t{1} << 46);
        pthread_setattr_default_np(&attributes);
        const Array x = device_put(iota({512, 512}), on8(P("x")));
        const float y = sum(jit([](const Array& a) { return matmul(a, a) * 0; })(x)).item<float>();
        std::exit(y == 0 ? 3 : 4);
      },
      testing::ExitedWithCode(3), "expected to start 8 threads, the system starts 1");
}

}  // namespace
}  // namespace tessera::process_test
