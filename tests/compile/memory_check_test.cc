// Programs for which the machine does not have enough memory, and allocations that fail while a
// program starts.
#include "tessera/compile/memory_check.h"

#include <sys/resource.h>

#include <fstream>

#include "tessera/base/buffer.h"
#include "tests/compile/devices.h"
#include "tests/sanitizers.h"

namespace tessera::memory_check_test {
namespace {

using compile::check_memory;
using testing::HasSubstr;

class MemoryCheck : public DevicesTest {};

// Returns a program that makes a product of 4 MiB from an argument of 4 KiB, and then its sum.
Lowered product_of(const Array& x) {
  return jit([](const Array& a) { return sum(sin(outer(a, a)), {.axis = 0}); }).lower(x);
}

TEST_F(MemoryCheck, ProgramsThatFitPass) {
  const Lowered lowered = product_of(abstract_array({1024}, float32));
  const int64_t results = 4096, arena = int64_t{3} << 20;
  check_memory(lowered.stages(), arena, arena + results);
  EXPECT_THAT(error_of([&] { check_memory(lowered.stages(), arena, arena + results - 1); }),
              HasSubstr("[jit] expected a program that fits the machine's memory of 3.0 MiB"));
}

TEST_F(MemoryCheck, TheErrorNamesTheLargestValues) {
  const Lowered lowered = product_of(abstract_array({1024}, float32));
  const std::string error =
      error_of([&] { check_memory(lowered.stages(), int64_t{8} << 20, int64_t{6} << 20); });
  EXPECT_THAT(error, HasSubstr("got one that needs 8.0 MiB: 8.0 MiB for temporaries"));
  EXPECT_THAT(error, HasSubstr("the largest values are 4.0 MiB float32[1024,1024] of "));
  EXPECT_THAT(error, HasSubstr("float32[1024,1024] of multiply"));
  EXPECT_THAT(error, HasSubstr("; use smaller arrays, or compute in parts"));
}

TEST_F(MemoryCheck, AllDevicesShareTheMemory) {
  const Lowered lowered = jit([](const Array& a) {
                            return sin(a);
                          }).lower(abstract_array({8, 1 << 18}, float32, on8(P("x"))));
  const std::string error = error_of([&] { check_memory(lowered.stages(), 0, 1); });
  EXPECT_THAT(error, HasSubstr("8.0 MiB for arguments, 8.0 MiB for results"));
  EXPECT_THAT(error, HasSubstr("8.0 MiB float32[1,262144] of sine"));
  EXPECT_THAT(error, HasSubstr("on 8 devices"));
}

// No machine that runs the tests has 2^50 bytes.
TEST_F(MemoryCheck, JitRefusesBeforeItRuns) {
  const auto f = jit([](const Array& x) { return x + iota({1 << 24, 1 << 24}); });
  const Array x = ones({});
  EXPECT_THAT(error_of([&] { f(x); }), HasSubstr("1048576.0 GiB float32[16777216,16777216] of "));
  EXPECT_EQ(x.item<float>(), 1.0F);
}

int64_t address_space() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

// A sanitizer ends the process if memory is refused.
bool may_refuse() { return !has_sanitizer(); }

// While one exists, the address space of the process may not grow.
class NoMoreMemory {
 public:
  NoMoreMemory() : cached_(buffer_cache_limit()) {
    set_buffer_cache_limit(0);
    getrlimit(RLIMIT_AS, &before_);
    rlimit tight = before_;
    tight.rlim_cur = static_cast<rlim_t>(address_space() + (int64_t{32} << 20));
    setrlimit(RLIMIT_AS, &tight);
  }
  ~NoMoreMemory() {
    setrlimit(RLIMIT_AS, &before_);
    set_buffer_cache_limit(cached_);
  }

 private:
  int64_t cached_;
  rlimit before_{};
};

// The first result reuses the argument's memory; there is no memory for the second one.
TEST_F(MemoryCheck, AnAllocationThatFailsLeavesDonatedArraysAsTheyWere) {
  if (!may_refuse()) GTEST_SKIP() << "a sanitizer ends the process instead";
  const auto f = jit(
      [](const Array& x) {
        return std::pair(x + 1, broadcast_to(x, {64, 1 << 20}));
      },
      {.donate_argnums = {0}});
  const auto make = [] { return device_put(iota({1 << 20}), devices()[0]); };
  f(make());  // this compiles the program
  const Array x = make();
  {
    const NoMoreMemory limited;
    EXPECT_THROW(f(x), RuntimeError);
  }
  EXPECT_EQ(values(x), values(iota({1 << 20})));
  EXPECT_EQ(values(f(x).first), values(iota({1 << 20}) + 1));
}

}  // namespace
}  // namespace tessera::memory_check_test
