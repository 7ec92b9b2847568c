// Tests what the caches of compilation keep, and that it is freed.
#include "tessera/compile/caches.h"

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/compile/devices.h"

namespace tessera::caches_test {
namespace {

class Caches : public DevicesTest {};

int64_t mappings() {
  std::ifstream maps("/proc/self/maps");
  int64_t n = 0;
  for (std::string line; std::getline(maps, line);) ++n;
  return n;
}
int64_t code_bytes() { return compile_stats().machine_code_bytes; }

// Runs a program that has a kernel of its own for each `c`.
float run_new_program(float c) {
  return jit([c](const Array& x) { return x * c + 0.5f; })(Array(2.f)).item<float>();
}

TEST_F(Caches, ClearingFreesProgramsAndMachineCode) {
  clear_caches();
  const int64_t before = code_bytes();
  const auto f = jit([](const Array& x) { return tanh(x) * 7; });
  const Array x = iota({13});
  const std::vector<float> expected = values(f(x));
  for (int i = 0; i < 4; ++i) run_new_program(static_cast<float>(i) + 0.125f);
  EXPECT_GT(compile_stats().programs_cached, 4);
  EXPECT_GT(code_bytes(), before);
  clear_caches();
  EXPECT_EQ(compile_stats().programs_cached, 0);
  EXPECT_EQ(code_bytes(), before);
  const int64_t compiled = compile_stats().programs_compiled;
  EXPECT_EQ(values(f(x)), expected);
  EXPECT_EQ(compile_stats().programs_compiled, compiled + 1);
}

TEST_F(Caches, WhatIsHeldOutlivesThem) {
  clear_caches();
  const Array x = iota({17});
  const CompiledRef held = jit([](const Array& v) { return cos(v) * 3; }).lower(x).compile();
  const std::vector<float> expected = values(held->run(std::array{x})[0]);
  clear_caches();
  EXPECT_GT(code_bytes(), 0);
  EXPECT_EQ(values(held->run(std::array{x})[0]), expected);
}

TEST_F(Caches, ProgramsThatRunAreNotFreed) {
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const auto f = jit([t](const Array& x) { return sin(x) * static_cast<float>(t + 1); });
      const Array x = iota({200});
      const std::vector<float> expected = values(f(x));
      while (!stop) {
        if (values(f(x)) != expected) ++wrong;
        if (values(x + static_cast<float>(t))[0] != static_cast<float>(t)) ++wrong;
      }
    });
  for (int i = 0; i < 20; ++i) clear_caches();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Each program is one kernel of its own: machine code does not grow with programs that were
// dropped, and each does not need a mapping of its own.
TEST_F(Caches, MachineCodeIsAsLargeAsTheProgramsThatLive) {
  clear_caches();
  run_new_program(0.25f);
  const int64_t one = code_bytes(), before = mappings();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 12; ++i)
      ASSERT_EQ(run_new_program(static_cast<float>(100 * round + i)),
                static_cast<float>(200 * round + 2 * i) + 0.5f);
    EXPECT_LE(code_bytes(), 20 * one);
    EXPECT_LT(mappings(), before + 20);
    clear_caches();
  }
}

}  // namespace
}  // namespace tessera::caches_test
