#include "tessera/privacy/batch_selection/subset.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera::privacy::batch_selection::internal {

std::vector<int64_t> uniform_subset(int64_t n, int64_t k, const CounterStream& stream) {
  // The smaller part is drawn; the complement of a uniform subset is uniform too.
  const int64_t drawn = std::min(k, n - k);
  BufferedWords words(stream);
  std::vector<bool> in(static_cast<size_t>(n), false);
  for (int64_t last = n - drawn; last < n; ++last) {
    const auto at =
        words.below(static_cast<uint64_t>(last) + 1, static_cast<uint64_t>(last - (n - drawn)));
    in[in[at] ? static_cast<size_t>(last) : at] = true;
  }
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(k));
  for (int64_t i = 0; i < n; ++i)
    if (in[static_cast<size_t>(i)] == (drawn == k)) out.push_back(i);
  return out;
}

std::vector<int64_t> uniform_draws(int64_t n, int64_t k, const CounterStream& stream) {
  BufferedWords words(stream);
  std::vector<int64_t> out(static_cast<size_t>(k));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<int64_t>(words.below(static_cast<uint64_t>(n), i));
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<int64_t> permutation(int64_t n, const CounterStream& stream) {
  BufferedWords words(stream);
  std::vector<int64_t> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  for (size_t i = 0; i < out.size(); ++i) std::swap(out[i], out[words.below(i + 1, i)]);
  return out;
}

}  // namespace tessera::privacy::batch_selection::internal
