#include "tessera/privacy/batch_selection/counter_stream.h"

#include "tessera/ir/format.h"

namespace tessera::privacy::batch_selection::internal {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr uint64_t kChild = uint64_t{1} << 63;
// "batches" and a zero.
constexpr uint64_t kDomain = 0x6261746368657300;

// Threefry on kLanes counters at a time; loops over lanes that the compiler makes vectors of.
template <size_t kLanes>
void threefry(const uint32_t (&key)[2], uint64_t first, uint64_t* out) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t schedule[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  uint32_t a[kLanes], b[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    const uint64_t counter = first + i;
    a[i] = static_cast<uint32_t>(counter >> 32) + schedule[0];
    b[i] = static_cast<uint32_t>(counter) + schedule[1];
  }
  for (uint32_t group = 1; group <= 5; ++group) {
    for (int bits : kRotations[(group - 1) % 2]) {
      for (size_t i = 0; i < kLanes; ++i) {
        a[i] += b[i];
        b[i] = ((b[i] << bits) | (b[i] >> (32 - bits))) ^ a[i];
      }
    }
    for (size_t i = 0; i < kLanes; ++i) {
      a[i] += schedule[group % 3];
      b[i] += schedule[(group + 1) % 3] + group;
    }
  }
  for (size_t i = 0; i < kLanes; ++i) out[i] = uint64_t{a[i]} << 32 | b[i];
}

}  // namespace

uint64_t CounterStream::word(uint64_t counter) const {
  uint64_t out;
  threefry<1>(key_, counter, &out);
  return out;
}

void CounterStream::words(uint64_t first, std::span<uint64_t> out) const {
  constexpr size_t kLanes = 16;
  size_t done = 0;
  for (; done + kLanes <= out.size(); done += kLanes)
    threefry<kLanes>(key_, first + done, out.data() + done);
  for (; done < out.size(); ++done) out[done] = word(first + done);
}

CounterStream CounterStream::child(uint64_t index) const {
  const uint64_t key = word(index | kChild);
  return {static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key)};
}

CounterStream stream_of(std::string_view op, const random::Key& key) {
  if (key.ndim() != 0)
    shape_error(op, "expected a single key, got an array of keys of shape {}; index it",
                key.shape());
  const Literal words = key.data.to_host();
  const uint32_t* w = words.data<uint32_t>();
  return CounterStream(w[0], w[1]).child(kDomain & ~kChild);
}

uint64_t BufferedWords::word(uint64_t counter) {
  const uint64_t block = counter / kWords;
  if (block != block_) {
    stream_.words(block * kWords, buffer_);
    block_ = block;
  }
  return buffer_[counter % kWords];
}

uint64_t BufferedWords::below(uint64_t n, uint64_t counter) {
  Wide product = Wide{word(counter)} * n;
  if (static_cast<uint64_t>(product) < n) {
    const uint64_t excess = -n % n;  // 2^64 mod n
    for (uint64_t retry = 0; static_cast<uint64_t>(product) < excess; ++retry)
      product = Wide{stream_.child(counter).word(retry)} * n;
  }
  return static_cast<uint64_t>(product >> 64);
}

}  // namespace tessera::privacy::batch_selection::internal
