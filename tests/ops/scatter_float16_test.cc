// Compares the loops of a scatter over float16 with one fold after the other, for numbers of every
// kind: their bits are those of the fold in float, rounded.
#include "tessera/ops/indexing/scatter_float16.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ops/core/fold_element.h"

namespace tessera::scatter_float16_test {

using namespace ops;

namespace {

// All bits at random: denormal numbers, infinities and NaN are among them.
std::vector<Float16> numbers(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Float16> out(n);
  for (Float16& x : out) x.bits = static_cast<uint16_t>(random());
  for (size_t i = 0; i < n; i += 7) out[i].bits = i % 2 ? 0x8000 : 0;
  return out;
}

void expect_same(const std::vector<Float16>& got, const std::vector<Float16>& want) {
  const auto is_nan = [](Float16 x) { return (x.bits & 0x7fff) > 0x7c00; };
  for (size_t i = 0; i < got.size(); ++i) {
    if (is_nan(got[i]) && is_nan(want[i])) continue;
    EXPECT_EQ(got[i].bits, want[i].bits) << i;
  }
}

template <ReduceKind fold>
void check_folds(ScatterKind kind) {
  const std::optional<ScatterFolds> folds = scatter_folds_of_float16(kind);
  if (!folds) GTEST_SKIP() << "no conversions of float16";
  constexpr int64_t kElements = 400, kUpdates = 5000;
  const std::vector<Float16> x = numbers(kElements, 1), u = numbers(kUpdates, 2);
  std::mt19937 random(3);
  std::vector<int64_t> at(kUpdates), from(kUpdates);
  for (int64_t i = 0; i < kUpdates; ++i) {
    at[i] = random() % kElements;
    from[i] = random() % kUpdates;
  }
  const auto folded = [&](auto&& visit) {
    std::vector<Float16> out = x;
    visit([&](int64_t to, int64_t with) {
      out[to] = Float16(
          fold_element<fold, float>(static_cast<float>(out[to]), static_cast<float>(u[with])));
    });
    return out;
  };
  std::vector<Float16> got = x;
  folds->elements(got.data(), at.data(), u.data(), kUpdates);
  expect_same(got, folded([&](auto&& f) {
                for (int64_t i = 0; i < kUpdates; ++i) f(at[i], i);
              }));
  got = x;
  folds->chosen(got.data(), at.data(), u.data(), from.data(), kUpdates);
  expect_same(got, folded([&](auto&& f) {
                for (int64_t i = 0; i < kUpdates; ++i) f(at[i], from[i]);
              }));
  // Every second element, and indices that are too large or negative.
  std::vector<int32_t> places(kUpdates);
  for (int64_t i = 0; i < kUpdates; ++i) places[i] = static_cast<int32_t>(random() % 260) - 30;
  got = x;
  folds->indexed_32(got.data(), places.data(), 2, 199, u.data(), kUpdates);
  expect_same(got, folded([&](auto&& f) {
                for (int64_t i = 0; i < kUpdates; ++i)
                  if (places[i] >= 0 && places[i] < 200) f(2 * places[i], i);
              }));
  for (int64_t run : {1, 7, 8, 21}) {
    const std::vector<int64_t> to{3, 100, 3, 279}, with{50, 10, 4000, 77};
    got = x;
    folds->rows(got.data(), to.data(), u.data(), with.data(), 4, run);
    expect_same(got, folded([&](auto&& f) {
                  for (size_t i = 0; i < to.size(); ++i)
                    for (int64_t k = 0; k < run; ++k) f(to[i] + k, with[i] + k);
                }));
  }
}

TEST(ScatterFloat16, Sums) { check_folds<ReduceKind::kSum>(ScatterKind::kAdd); }
TEST(ScatterFloat16, Products) { check_folds<ReduceKind::kProduct>(ScatterKind::kMul); }
TEST(ScatterFloat16, Minima) { check_folds<ReduceKind::kMin>(ScatterKind::kMin); }
TEST(ScatterFloat16, Maxima) { check_folds<ReduceKind::kMax>(ScatterKind::kMax); }

}  // namespace
}  // namespace tessera::scatter_float16_test
