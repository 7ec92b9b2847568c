// Where random numbers of private training come from.
#pragma once

#include <cstdint>

namespace tessera::privacy {

enum class RandomSource : uint8_t {
  // Threefry streams of a random::Key of 64 bits: a run can be repeated, and whoever tries all keys
  // finds the noise. No cipher is promised to be secure by it.
  kKey,
  // SecureMode: ChaCha20 streams under keys of 256 bits from the operating system draw the noise
  // and, of a Trainer, the batches. The keys exist in no state and no checkpoint. Together with a
  // key or a seed it is a UserError.
  kSystem,
};

}  // namespace tessera::privacy
