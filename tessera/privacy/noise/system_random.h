// Random bytes that nobody can predict: ChaCha20 (Bernstein, 2008; described in RFC 8439) from
// libsodium, under a key of 256 bits that the operating system provides (getrandom) for each call
// and that is overwritten after it. There is no state: threads, and processes after a fork, share
// no stream.
#pragma once

#include <cstddef>
#include <span>

namespace tessera::privacy::internal {

// Fills `out` with random bytes. Throws RuntimeError if the operating system provides no random
// numbers.
void fill_from_system(std::span<std::byte> out);

}  // namespace tessera::privacy::internal
