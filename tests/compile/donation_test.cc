// Donated arguments: which results reuse their memory, and who gets the error.
#include <thread>

#include "tessera/runtime/device_array.h"
#include "tests/compile/devices.h"

namespace tessera::donation_test {

using namespace runtime;

namespace {

using testing::HasSubstr;

class Donation : public DevicesTest {};

const std::byte* memory_of(const Array& x) {
  return static_cast<const DeviceArray&>(*x.data()).buffer().data();
}
bool is_deleted(const Array& x) { return static_cast<const DeviceArray&>(*x.data()).is_deleted(); }
auto add_one() {
  return jit([](const Array& x) { return x + 1; }, {.donate_argnums = {0}});
}

// The result reuses the memory of an array from device_put, however its spec is written. (An array
// with the layout of the host's array shares its memory as long as that exists.)
TEST_F(Donation, MemoryOfAShardedArrayBecomesTheResult) {
  const auto f = add_one();
  const Array host = iota({16, 8});
  for (const NamedSharding& sharding :
       {on8(P("x")), on8(P("x", None)), on8(P(None, "x")), on8(P()), on24(P("y", "x")),
        on24(P(std::vector<std::string>{"x", "y"}))}) {
    for (int round = 0; round < 2; ++round) {  // traced, then found in the cache
      const Array x = device_put(iota({16, 8}), sharding);
      const std::byte* memory = memory_of(x);
      const Array y = f(x);
      EXPECT_EQ(memory_of(y), memory) << sharding;
      EXPECT_TRUE(is_deleted(x)) << sharding;
      EXPECT_EQ(values(y), values(host + 1)) << sharding;
      EXPECT_THAT(error_of([&] { f(x); }), HasSubstr("[array] expected a live array"));
    }
  }
}

// The program needs another sharding: it uses up its copy, and the original is deleted too.
TEST_F(Donation, ArraysThatAreMovedAreDeletedToo) {
  const auto f = jit([](const Array& x) { return x + 1; },
                     {.in_shardings = {on8(P(None, "x"))}, .donate_argnums = {0}});
  const Array host = iota({16, 8}), x = device_put(host, on8(P("x")));
  EXPECT_EQ(values(f(x)), values(host + 1));
  EXPECT_TRUE(is_deleted(x));
  const Array single = device_put(host, devices()[0]);
  EXPECT_EQ(values(f(single)), values(host + 1));
  EXPECT_TRUE(is_deleted(single));
}

TEST_F(Donation, OthersKeepTheMemoryTheyShare) {
  const auto f = add_one();
  const Array x = device_put(iota({16, 8}), on8(P("x")));
  const Array view = device_put(x, on24(P(std::vector<std::string>{"x", "y"})));
  const std::vector<float> before = values(view);
  f(x);
  EXPECT_TRUE(is_deleted(x));
  EXPECT_EQ(values(view), before);
}

// If one of several donations is refused, no array is deleted.
TEST_F(Donation, AllOrNothing) {
  const auto f =
      jit([](const Array& x, const Array& y) { return x + y; }, {.donate_argnums = {0, 1}});
  const Array x = device_put(iota({64}), on8(P("x"))), gone = device_put(iota({64}), on8(P("x")));
  add_one()(gone);
  EXPECT_THAT(error_of([&] { f(x, gone); }), HasSubstr("whose memory was donated"));
  EXPECT_FALSE(is_deleted(x));
  EXPECT_EQ(values(f(x, x))[5], 10.f);
  EXPECT_TRUE(is_deleted(x));
}

// If several threads donate one array, exactly one succeeds. Threads that read it meanwhile get its
// values or the error.
TEST_F(Donation, OneOfSeveralThreadsWins) {
  const auto f = jit([](const Array& x) { return x * 2 + 1; }, {.donate_argnums = {0}});
  const auto read = jit([](const Array& x) { return x - 1; });
  const Array host = iota({64});
  const std::vector<float> doubled = values(host * 2 + 1), less = values(host - 1);
  f(device_put(host, on8(P("x"))));
  read(device_put(host, on8(P("x"))));
  constexpr int kThreads = 4, kRounds = 300;
  std::vector<Array> arrays;
  for (int r = 0; r < kRounds; ++r)
    arrays.push_back(r % 2 == 0 ? device_put(host, on8(P("x"))) : iota({64}));
  std::vector<std::atomic<int>> wins(kRounds), at_start(kRounds);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (size_t r = 0; r < arrays.size(); ++r) {
        ++at_start[r];
        while (at_start[r] < kThreads) std::this_thread::yield();
        try {
          if (t == 0) {
            if (values(read(arrays[r])) != less) ++wrong;
          } else {
            if (values(f(arrays[r])) != doubled) ++wrong;
            ++wins[r];
          }
        } catch (const UserError& error) {
          if (std::string(error.what()).find("[array] expected a live array") != 0) ++wrong;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  for (size_t r = 0; r < wins.size(); ++r) ASSERT_EQ(wins[r], 1) << "round " << r;
}

}  // namespace
}  // namespace tessera::donation_test
