// Lets several processes draw the same noise from the operating system. Internal to privacy/.
//
// A program that adds noise with RandomSource::kSystem asks the host for random words
// (random_words.h), and each process of a cluster asks its own host. They compute one array, so the
// words must be the same in all processes. Before such a program runs, process 0 sends the others a
// key of 256 bits, from which all make their words. The key is overwritten when the program has
// run. Each run of a program has another key, so that a state that is used twice gets other noise,
// as in one process.
//
// A single process needs none of this: each call of the host draws its own key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/privacy/noise/random_source.h"

namespace tessera::privacy::internal {

// While a SharedNoise exists, programs that this thread runs may draw the words of kSystem in
// several processes. All processes must construct one and run the same programs, each once. It does
// nothing for kKey, in a single process, or while the thread has another one. At most one thread
// has one at a time; other threads wait.
class SharedNoise {
 public:
  // Throws UserError naming `op` inside a trace: there this object would end before the traced
  // program runs.
  SharedNoise(std::string_view op, RandomSource source);
  ~SharedNoise();
  SharedNoise(const SharedNoise&) = delete;
  SharedNoise& operator=(const SharedNoise&) = delete;

 private:
  bool owns_ = false;
};

// Fills `out` with the stream of the process's current key for this nonce, from block number
// `block` (of 64 bytes) on. Throws RuntimeError if there is no SharedNoise.
void fill_from_shared_noise(uint64_t nonce, uint64_t block, std::span<std::byte> out);

}  // namespace tessera::privacy::internal
