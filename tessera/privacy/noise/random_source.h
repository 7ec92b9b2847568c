// The sources of random numbers for private training.
#pragma once

#include <cstdint>

namespace tessera::privacy {

enum class RandomSource : uint8_t {
  // Threefry streams of a random::Key of 64 bits. A run can be repeated. But an attacker who tries
  // all keys finds the noise, and nobody claims that Threefry is a secure cipher.
  kKey,
  // SecureMode: ChaCha20 streams under keys of 256 bits from the operating system draw the noise
  // and, for a Trainer, the batches. The keys are in no state and no checkpoint. A key or a seed
  // given together with it is a UserError.
  kSystem,
};

}  // namespace tessera::privacy
