#include "tessera/privacy/batch_selection/bernoulli.h"

#include <algorithm>
#include <cmath>

namespace tessera::privacy::batch_selection::internal {
namespace {

constexpr int64_t kWords = 64, kTrials = 4 * kWords;

uint32_t chunk_of(const uint64_t* words, int64_t trial) {
  return static_cast<uint32_t>(words[trial / 4] >> (16 * (trial % 4))) & 0xffff;
}

}  // namespace

Bernoulli::Bernoulli(const CounterStream& stream, double p)
    : stream_(stream),
      threshold_(static_cast<uint32_t>(p * 0x1p16)),
      rest_(p * 0x1p16 - threshold_) {}

bool Bernoulli::succeeds(int64_t trial, uint32_t chunk) const {
  if (chunk != threshold_) return chunk < threshold_;
  const CounterStream more = stream_.child(static_cast<uint64_t>(trial));
  double rest = rest_;  // a double has few bits, so the loop ends
  for (uint64_t k = 0; rest > 0; ++k) {
    const double scaled = rest * 0x1p64, digit = std::floor(scaled);
    const uint64_t word = more.word(k), of_p = static_cast<uint64_t>(digit);
    if (word != of_p) return word < of_p;
    rest = scaled - digit;
  }
  return false;
}

void Bernoulli::successes(int64_t first, int64_t last, std::vector<int64_t>& out) const {
  const double expected = static_cast<double>(last - first) * (threshold_ + 1) * 0x1p-16;
  out.reserve(out.size() + static_cast<size_t>(expected + 8 * std::sqrt(expected)));
  uint64_t words[kWords];
  int64_t found[kTrials];
  for (int64_t at = first - first % 4; at < last; at += kTrials) {
    stream_.words(static_cast<uint64_t>(at / 4), words);
    const int64_t begin = std::max<int64_t>(first - at, 0), end = std::min(last - at, kTrials);
    // Trials that the first bits decide, which nearly all are, take no branches.
    int64_t count = 0;
    bool tie = false;
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t chunk = chunk_of(words, i);
      found[count] = at + i;
      count += chunk < threshold_;
      tie |= chunk == threshold_;
    }
    if (tie) {
      count = 0;
      for (int64_t i = begin; i < end; ++i)
        if (succeeds(at + i, chunk_of(words, i))) found[count++] = at + i;
    }
    out.insert(out.end(), found, found + count);
  }
}

}  // namespace tessera::privacy::batch_selection::internal
