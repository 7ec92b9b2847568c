// How several processes draw the same noise from the operating system. For source files of
// privacy/.
//
// A program that adds noise by RandomSource::kSystem asks the host for random words
// (random_words.h), and each process of a cluster asks its own. What they compute is one array, so
// the words must be the same in all: before such a program runs, process 0 gives a key of 256 bits
// to the others, of which all make their words, and which is overwritten when the program has run.
// It is another key for each run of a program, so that a state that is used twice gives other
// noise, as in one process.
//
// A process that is alone needs none of this: every call of the host draws a key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/privacy/noise/random_source.h"

namespace tessera::privacy::internal {

// While one lives, programs that this thread runs may draw the words of kSystem in several
// processes: all of them make one, and run the same programs, each once. It does nothing for kKey,
// in one process and inside another one. Of several threads one at a time has one.
class SharedNoise {
 public:
  // UserError naming `op` inside a trace, where it would end before the program runs: the program
  // of a function that the user jits.
  SharedNoise(std::string_view op, RandomSource source);
  ~SharedNoise();
  SharedNoise(const SharedNoise&) = delete;
  SharedNoise& operator=(const SharedNoise&) = delete;

 private:
  bool owns_ = false;
};

// Fills `out` with the words of the key that the process has now: those of a nonce, from a block of
// 64 bytes on. RuntimeError if there is no SharedNoise.
void fill_from_shared_noise(uint64_t nonce, uint64_t block, std::span<std::byte> out);

}  // namespace tessera::privacy::internal
