// Where random numbers of private training come from.
#pragma once

#include <cstdint>

namespace tessera::privacy {

enum class RandomSource : uint8_t {
  // Threefry streams of a random::Key of 64 bits. A run can be repeated, but whoever tries all keys
  // finds the noise, and Threefry is not claimed to be a secure cipher.
  kKey,
  // SecureMode: ChaCha20 streams under keys of 256 bits from the operating system draw the noise
  // and, for a Trainer, the batches. The keys are in no state and no checkpoint. It is a UserError
  // together with a key or a seed.
  kSystem,
};

}  // namespace tessera::privacy
