// Independent trials, each a success with probability exactly p, for every double p. Internal to
// privacy/.
//
// A trial compares a uniform number U in [0, 1), of as many bits as it takes, with p: success is U
// < p. Its first 16 bits decide all but 1 of 65536 trials, so a word of the stream serves four of
// them; the others read 64 more bits at a time, from a stream of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/privacy/batch_selection/counter_stream.h"

namespace tessera::privacy::batch_selection::internal {

class Bernoulli {
 public:
  Bernoulli(const CounterStream& stream, double p);  // 0 <= p <= 1

  // Appends the successful trials among first, ..., last - 1, in increasing order.
  void successes(int64_t first, int64_t last, std::vector<int64_t>& out) const;

 private:
  bool succeeds(int64_t trial, uint32_t chunk) const;

  CounterStream stream_;
  uint32_t threshold_;  // the first 16 bits of p; 65536 for p = 1
  double rest_;         // the bits of p after those, in [0, 1)
};

}  // namespace tessera::privacy::batch_selection::internal
