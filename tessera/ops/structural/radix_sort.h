// Radix sort: a stable sort of items by digits of an unsigned key, least significant digit first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tessera/base/thread_pool.h"

namespace tessera::ops {

inline constexpr int kDigitBits = 8;
inline constexpr int64_t kDigits = int64_t{1} << kDigitBits;
// This many items or fewer are sorted by insertion.
inline constexpr int64_t kFewItems = 32;
// The number of items for which one more thread is worth it.
inline constexpr int64_t kItemsPerThread = int64_t{1} << 15;

template <class Item, class KeyFn>
void insertion_sort(Item* items, int64_t n, KeyFn key) {
  for (int64_t i = 1; i < n; ++i) {
    const Item item = items[i];
    int64_t at = i;
    for (; at > 0 && key(item) < key(items[at - 1]); --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

// Moves the items into `to` by the digit of their keys at `shift`; returns false, and moves
// nothing, if all have the same digit. Threads count and move the items in parts. Among items with
// one digit, those of earlier parts come first, so the result does not depend on the number of
// parts.
template <class Item, class KeyFn>
bool sort_by_digit(const Item* from, Item* to, int64_t n, int shift, KeyFn key, int64_t parts,
                   std::vector<std::array<int64_t, kDigits>>& starts) {
  const auto digit = [&](const Item& item) {
    return static_cast<size_t>(key(item) >> shift) & (kDigits - 1);
  };
  const int64_t part = (n + parts - 1) / parts;
  parallel_for(parts, [&](int64_t p) {
    std::array<int64_t, kDigits>& count = starts[static_cast<size_t>(p)];
    count.fill(0);
    const int64_t end = std::min(n, (p + 1) * part);
    for (int64_t i = p * part; i < end; ++i) ++count[digit(from[i])];
  });
  int64_t next = 0;
  for (size_t d = 0; d < kDigits; ++d) {
    const int64_t before = next;
    for (int64_t p = 0; p < parts; ++p) {
      const int64_t count = starts[static_cast<size_t>(p)][d];
      starts[static_cast<size_t>(p)][d] = next;
      next += count;
    }
    if (next - before == n) return false;
  }
  parallel_for(parts, [&](int64_t p) {
    std::array<int64_t, kDigits>& at = starts[static_cast<size_t>(p)];
    const int64_t end = std::min(n, (p + 1) * part);
    for (int64_t i = p * part; i < end; ++i) to[at[digit(from[i])]++] = from[i];
  });
  return true;
}

// Sorts `items` by the lowest `bits` bits of key(item); `spare` is scratch memory.
template <class Item, class KeyFn>
void radix_sort(std::vector<Item>& items, std::vector<Item>& spare, int bits, KeyFn key) {
  const auto n = static_cast<int64_t>(items.size());
  if (n <= kFewItems) {
    insertion_sort(items.data(), n, key);
    return;
  }
  spare.resize(items.size());
  const int64_t parts =
      in_parallel_task() ? 1 : std::clamp<int64_t>(n / kItemsPerThread, 1, num_threads());
  std::vector<std::array<int64_t, kDigits>> starts(static_cast<size_t>(parts));
  for (int shift = 0; shift < bits; shift += kDigitBits)
    if (sort_by_digit(items.data(), spare.data(), n, shift, key, parts, starts)) items.swap(spare);
}

}  // namespace tessera::ops
