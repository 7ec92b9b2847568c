#include "tessera/privacy/secret_key.h"

#include <sodium.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tessera/base/format.h"
#include "tessera/base/warning.h"
#include "tessera/cluster/broadcast.h"

namespace tessera::privacy::internal {

namespace {

constexpr const char* kSecretKeyOp = "privacy::RandomSource::kSystem";

static_assert(SecretKey::kBytes == crypto_stream_chacha20_KEYBYTES);
static_assert(sizeof(uint64_t) == crypto_stream_chacha20_NONCEBYTES);

void expect_sodium() {
  static const bool ready = sodium_init() >= 0;  // selects the implementation for this processor
  if (!ready) throw RuntimeError(fmt::format("[{}] libsodium cannot be initialised", kSecretKeyOp));
}

void fill_by_system(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    if (got > 0)
      out = out.subspan(static_cast<size_t>(got));
    else if (errno != EINTR)
      throw RuntimeError(fmt::format("[{}] the operating system gives no random numbers: {}",
                                     kSecretKeyOp, std::strerror(errno)));
  }
}

}  // namespace

SecretKey::SecretKey() {
  expect_sodium();
  auto* memory = static_cast<std::byte*>(sodium_malloc(kBytes));
  if (!memory)
    throw RuntimeError(fmt::format("[{}] the operating system gives no memory for a key: {}",
                                   kSecretKeyOp, std::strerror(errno)));
  bytes_ = std::shared_ptr<std::byte>(memory, sodium_free);  // sodium_free overwrites it
  // sodium_malloc tries to lock the memory, but does not report whether it succeeded.
  if (sodium_mlock(memory, kBytes) != 0)
    warn(
        fmt::format("{}: the memory of a key cannot be locked ({}), so that the system may write "
                    "it to a disk; raise the limit of locked memory (ulimit -l), or turn swap off",
                    kSecretKeyOp, std::strerror(errno)));
}

SecretKey::SecretKey(std::span<const std::byte, kBytes> bytes) : SecretKey() {
  std::copy(bytes.begin(), bytes.end(), bytes_.get());
}

SecretKey SecretKey::of_system() {
  SecretKey out;
  fill_by_system({out.bytes_.get(), kBytes});
  return out;
}

SecretKey SecretKey::of_cluster(const std::string& what) {
  SecretKey out = of_system();
  cluster::broadcast({out.bytes_.get(), kBytes}, [&] { return what; });
  return out;
}

void SecretKey::fill(uint64_t nonce, uint64_t block, std::span<std::byte> out) const {
  if (out.empty()) return;  // its pointer may be null, which the cipher does not accept
  std::array<unsigned char, sizeof nonce> nonce_bytes;
  std::memcpy(nonce_bytes.data(), &nonce, sizeof nonce);
  const auto* key = reinterpret_cast<const unsigned char*>(bytes_.get());
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  if (block == 0) {
    crypto_stream_chacha20(bytes, out.size(), nonce_bytes.data(), key);
    return;
  }
  // Only the encrypting function can begin at a later block. The encryption of zeros is the stream.
  std::memset(bytes, 0, out.size());
  crypto_stream_chacha20_xor_ic(bytes, bytes, out.size(), nonce_bytes.data(), block, key);
}

void wipe(std::span<std::byte> memory) { sodium_memzero(memory.data(), memory.size()); }

}  // namespace tessera::privacy::internal
