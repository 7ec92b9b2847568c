#include "tessera/privacy/noise/system_random.h"

#include <sodium.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tessera/base/format.h"

namespace tessera::privacy::internal {

namespace {

constexpr const char* kOp = "privacy::RandomSource::kSystem";

using CipherKey = std::array<unsigned char, crypto_stream_chacha20_KEYBYTES>;
static_assert(sizeof(CipherKey) == 32);

CipherKey key_of_system() {
  CipherKey key;
  for (size_t have = 0; have < key.size();) {
    const ssize_t got = ::getrandom(key.data() + have, key.size() - have, 0);
    if (got > 0)
      have += static_cast<size_t>(got);
    else if (errno != EINTR)
      throw RuntimeError(fmt::format("[{}] the operating system gives no random numbers: {}", kOp,
                                     std::strerror(errno)));
  }
  return key;
}

}  // namespace

void fill_from_system(std::span<std::byte> out) {
  if (out.empty()) return;  // its pointer may be null, which the cipher must not be given
  static const bool ready = sodium_init() >= 0;  // chooses the code for this processor
  if (!ready) throw RuntimeError(fmt::format("[{}] libsodium cannot be initialised", kOp));
  // Every key has one stream, so that its nonce may be 0.
  constexpr std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> kNonce{};
  CipherKey key = key_of_system();
  crypto_stream_chacha20(reinterpret_cast<unsigned char*>(out.data()), out.size(), kNonce.data(),
                         key.data());
  sodium_memzero(key.data(), key.size());
}

}  // namespace tessera::privacy::internal
