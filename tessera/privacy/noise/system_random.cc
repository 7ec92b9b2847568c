#include "tessera/privacy/noise/system_random.h"

#include "tessera/privacy/secret_key.h"

namespace tessera::privacy::internal {

// Every key is used for one stream, so the nonce may be 0.
void fill_from_system(std::span<std::byte> out) { SecretKey::of_system().fill(0, 0, out); }

}  // namespace tessera::privacy::internal
