#include "tessera/privacy/noise/random_words.h"

#include <cstring>
#include <map>
#include <mutex>

#include "tessera/base/fork.h"
#include "tessera/ir/format.h"
#include "tessera/mesh/device.h"
#include "tessera/ops/control/host_callback.h"
#include "tessera/privacy/noise/shared_noise.h"
#include "tessera/privacy/noise/system_random.h"
#include "tessera/privacy/secret_key.h"

namespace tessera::privacy::internal {

using random::internal::Words;

namespace {

// Writes random words to the two results, of `bytes` bytes each.
void fill_words(std::span<const void* const> arguments, std::span<void* const> results,
                size_t bytes) {
  const auto result = [&](size_t i) {
    return std::span(static_cast<std::byte*>(results[i]), bytes);
  };
  if (process_count() == 1) {
    for (size_t i = 0; i < results.size(); ++i) fill_from_system(result(i));
    return;
  }
  // The leaf's key, which distinguishes the draws of one run of a program. There are 2^64 keys: if
  // a run makes a million draws, two have the same key in one of about 4 * 10^7 runs.
  uint64_t nonce;
  std::memcpy(&nonce, arguments[0], sizeof nonce);
  const uint64_t blocks = (bytes + SecretKey::kBlock - 1) / SecretKey::kBlock;
  for (size_t i = 0; i < results.size(); ++i) fill_from_shared_noise(nonce, i * blocks, result(i));
}

// Returns the number of the host function that fills results of `bytes` bytes each. There is one
// function for each size. Functions are never removed, because traced programs keep their numbers.
int64_t filler(size_t bytes) {
  // This mutex is locked before the mutex of the host functions.
  static ForkSafeMutex& mutex = *new ForkSafeMutex(ForkParticipant::Level::kKernels);
  static std::map<size_t, int64_t>& numbers = *new std::map<size_t, int64_t>;
  const std::lock_guard lock(mutex);
  const auto known = numbers.find(bytes);
  if (known != numbers.end()) return known->second;
  const int64_t number = lax::add_host_function(
      [bytes](std::span<const void* const> arguments, std::span<void* const> results) {
        fill_words(arguments, results, bytes);
      });
  return numbers[bytes] = number;
}

Words system_words(const random::Key& key, const Shape& shape) {
  // The call has effects, so that equal calls are not merged. In one process the function does not
  // read the key. But inside shard_map it is called for each instance of its argument, and the key
  // of a leaf varies over the same axes as the leaf (leaf_keys.h).
  const std::vector<Array> words =
      lax::io_callback(filler(sizeof(uint32_t) * static_cast<size_t>(shape.elements())),
                       {ir::Type{uint32, shape}, ir::Type{uint32, shape}}, {key.data});
  return {words[0], words[1]};
}

}  // namespace

Words random_words(std::string_view op, RandomSource source, const random::Key& key,
                   const Shape& shape) {
  switch (source) {
    case RandomSource::kKey:
      return random::internal::hash_of_index(random::internal::key_words(op, key), shape);
    case RandomSource::kSystem:
      return system_words(key, shape);
  }
  TESSERA_CHECK(false, "a source of random numbers that is none");
}

}  // namespace tessera::privacy::internal
