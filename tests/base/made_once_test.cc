#include "tessera/base/made_once.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tessera::made_once_test {
namespace {

using Values = MadeOnce<std::string, int>;

TEST(MadeOnce, MakesEachValueOnce) {
  Values values;
  int calls = 0;
  const auto length_of = [&](const std::string& key) {
    return values.get(key, [&] {
      ++calls;
      return static_cast<int>(key.size());
    });
  };
  EXPECT_EQ(length_of("ab"), 2);
  EXPECT_EQ(length_of("ab"), 2);
  EXPECT_EQ(length_of("abc"), 3);
  EXPECT_EQ(calls, 2);
}

// While one value is being made, another key does not wait, and the same key does.
TEST(MadeOnce, WaitsForItsOwnKeyAlone) {
  Values values;
  std::promise<void> begun, go_on;
  std::atomic<int> calls = 0;
  std::thread maker([&] {
    EXPECT_EQ(values.get("slow",
                         [&] {
                           ++calls;
                           begun.set_value();
                           go_on.get_future().wait();
                           return 7;
                         }),
              7);
  });
  begun.get_future().wait();
  EXPECT_EQ(values.get("other", [] { return 8; }), 8);
  std::vector<std::thread> waiters;
  for (int t = 0; t < 3; ++t)
    waiters.emplace_back([&] { EXPECT_EQ(values.get("slow", [&] { return ++calls; }), 7); });
  go_on.set_value();
  maker.join();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(calls, 1);
}

TEST(MadeOnce, AFailureIsThatOfAllWhoWaitAndTriedAgainLater) {
  Values values;
  std::promise<void> begun, go_on;
  std::atomic<int> failures = 0;
  const auto expect_failure = [&](const auto& make) {
    try {
      values.get("a", make);
    } catch (const std::runtime_error& e) {
      failures += std::string(e.what()) == "no";
    }
  };
  std::thread maker([&] {
    expect_failure([&]() -> int {
      begun.set_value();
      go_on.get_future().wait();
      throw std::runtime_error("no");
    });
  });
  begun.get_future().wait();
  std::thread waiter([&] { expect_failure([]() -> int { throw std::runtime_error("no"); }); });
  go_on.set_value();
  maker.join();
  waiter.join();
  EXPECT_EQ(failures, 2);
  EXPECT_EQ(values.get("a", [] { return 3; }), 3);
}

}  // namespace
}  // namespace tessera::made_once_test
