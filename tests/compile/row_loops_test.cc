// Programs with loops over large arrays, which are computed for some rows at a time
// (fusion/rewrites/loop_over_rows.h), and loops whose trips run at the same time.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tessera/base/thread_pool.h"
#include "tessera/ops/control/host_callback.h"
#include "tests/compile/devices.h"

namespace tessera::row_loops_test {
namespace {

class RowLoops : public DevicesTest {};

// A tridiagonal system for each x and y along the last dimension, by Thomas's elimination, between
// elementwise ops that read neighbouring levels. Products are added, so some are fused.
Array solved(const Array& a, const Array& b) {
  const int64_t levels = a.shape()[2];
  const auto level = [](const Array& x, int64_t from, int64_t to) {
    return slice_in_dim(x, from, to, 2);
  };
  const Array root = sqrt(abs(a) + 1), zero = zeros_like(level(a, 0, 1));
  const Array between = 0.5 * (level(root, 1, levels) + level(root, 0, levels - 1));
  const Array below = -concatenate({zero, between}, 2), above = -concatenate({between, zero}, 2);
  const Array right = a * b + root * cumsum(b, {.axis = 2});
  const auto front = [](const Array& x) { return moveaxis(x, 2, 0); };
  using Level = std::tuple<Array, Array, Array, Array>;
  const Array start = zeros_like(squeeze(level(a, 0, 1), 2));
  const auto eliminated =
      scan(
          [](const std::pair<Array, Array>& carry, const Level& x) {
            const auto& [l, d, u, r] = x;
            const Array scale = 1 / (d - l * carry.first);
            const std::pair<Array, Array> next{u * scale, (r - l * carry.second) * scale};
            return std::pair{next, next};
          },
          std::pair{start, start},
          Level{front(below), front(2 - below - above), front(above), front(right)})
          .second;
  const Array out = scan(
                        [](const Array& after, const std::pair<Array, Array>& x) {
                          const Array next = x.second - x.first * after;
                          return std::pair{next, next};
                        },
                        start, eliminated, {.reverse = true})
                        .second;
  return maximum(moveaxis(out, 0, 2), 0.001) * b;
}

// The first rows of a large array have the same bits as if they were alone, in one loop that is not
// divided.
TEST_F(RowLoops, BitsDoNotDependOnTheNumberOfRows) {
  const Array a = random::normal(random::key(1), {128, 64, 32}),
              b = random::normal(random::key(2), {128, 64, 32});
  const auto f = jit(solved);
  const Literal all = f(a, b).to_host();
  for (int64_t rows : {1, 2, 16}) {
    const Literal some = f(slice_in_dim(a, 0, rows), slice_in_dim(b, 0, rows)).to_host();
    ASSERT_EQ(std::memcmp(all.data<float>(), some.data<float>(),
                          static_cast<size_t>(some.elements()) * sizeof(float)),
              0)
        << rows;
  }
  const std::string text = f.lower(a, b).text("fused");
  EXPECT_THAT(text, testing::HasSubstr("stacking"));
}

TEST_F(RowLoops, AStateThatIsIterated) {
  const auto f = jit([](const Array& x) {
    return fori_loop(
        0, 50, [](const Array&, const Array& s) { return 0.5 * s + sin(s); }, x);
  });
  const Array x = random::normal(random::key(1), {1 << 19});
  const Literal all = f(x).to_host(), some = f(slice_in_dim(x, 1000, 2000)).to_host();
  EXPECT_EQ(std::memcmp(all.data<float>() + 1000, some.data<float>(), 1000 * sizeof(float)), 0);
}

// The trips of map carry nothing; on several threads they have the results of one thread.
TEST_F(RowLoops, TripsOfMapOnSeveralThreads) {
  const Array xs = random::normal(random::key(1), {40, 3000});
  const auto f = jit([](const Array& x) {
    return map([](const Array& row) { return cumsum(sin(row) * row) + sort(row); }, x);
  });
  const int threads = num_threads();
  set_num_threads(1);
  const Literal one = f(xs).to_host();
  set_num_threads(7);
  const Literal seven = f(xs).to_host();
  set_num_threads(threads);
  EXPECT_EQ(one, seven);
  for (int64_t i : {0, 1, 39}) {
    const Array row = squeeze(slice_in_dim(xs, i, i + 1), 0);
    const Literal alone =
        jit([](const Array& r) { return cumsum(sin(r) * r) + sort(r); })(row).to_host();
    for (int64_t k = 0; k < 3000; ++k)
      ASSERT_NEAR(one.data<float>()[i * 3000 + k], alone.data<float>()[k], 1e-4);
  }
}

// A trip that calls a function of the user does not run beside another one.
TEST_F(RowLoops, FunctionsOfUsersAreCalledTripAfterTrip) {
  std::atomic<int> inside{0}, most{0}, calls{0};
  const int64_t number = lax::add_host_function([&](auto in, auto out) {
    const int here = ++inside;
    if (here > most) most = here;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::memcpy(out[0], in[0], sizeof(float));
    ++calls;
    --inside;
  });
  const int threads = num_threads();
  set_num_threads(4);
  const auto f = jit([&](const Array& x) {
    return map(
        [&](const Array& row) {
          const ir::Type scalar{.dtype = float32, .shape = {}};
          return cumsum(sin(row) * row) + lax::pure_callback(number, {scalar}, {sum(row)})[0];
        },
        x);
  });
  f(random::normal(random::key(1), {40, 3000})).to_host();
  set_num_threads(threads);
  lax::remove_host_function(number);
  EXPECT_EQ(calls, 40);
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace tessera::row_loops_test
