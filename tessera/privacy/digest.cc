#include "tessera/privacy/digest.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/placement.h"

namespace tessera::privacy::internal {
namespace {

// Larger arrays are brought to the host in parts, so that no second copy of them is made.
constexpr int64_t kPartBytes = int64_t{64} << 20;

void expect_sodium() {
  static const int started = sodium_init();
  if (started < 0) throw RuntimeError("[privacy] libsodium could not be started");
}

}  // namespace

struct Digest::State {
  crypto_generichash_state hash;  // aligned as its type declares
};

Digest::Digest() : state_(std::make_unique<State>()) {
  expect_sodium();
  crypto_generichash_init(&state_->hash, nullptr, 0, crypto_generichash_BYTES);
}
Digest::~Digest() = default;

void Digest::bytes(const void* data, size_t size) {
  crypto_generichash_update(&state_->hash, static_cast<const unsigned char*>(data), size);
}

void Digest::add(int64_t number) {
  std::array<unsigned char, 8> little;
  for (size_t i = 0; i < little.size(); ++i)
    little[i] = static_cast<unsigned char>(static_cast<uint64_t>(number) >> (8 * i));
  bytes(little.data(), little.size());
}

void Digest::add(std::span<const std::byte> part) {
  add(static_cast<int64_t>(part.size()));
  bytes(part.data(), part.size());
}

void Digest::add(std::string_view part) { add(std::as_bytes(std::span(part.data(), part.size()))); }

void Digest::add(const Array& array) {
  add(fmt::format("{}", array.type()));
  if (!is_fully_addressable(array)) return;
  const int64_t size = array.type().bytes();
  if (size <= kPartBytes || array.ndim() == 0) {
    const Literal whole = array.to_host();
    bytes(whole.raw(), static_cast<size_t>(size));
    return;
  }
  const int64_t rows = array.shape(0);
  const int64_t part = std::max<int64_t>(1, kPartBytes / (size / rows));
  for (int64_t first = 0; first < rows; first += part) {
    const Literal some = dynamic_slice_in_dim(array, first, std::min(part, rows - first)).to_host();
    bytes(some.raw(), static_cast<size_t>(some.bytes()));
  }
}

std::string Digest::hex() {
  std::array<unsigned char, crypto_generichash_BYTES> out;
  crypto_generichash_final(&state_->hash, out.data(), out.size());
  std::string text;
  for (unsigned char byte : out) text += fmt::format("{:02x}", byte);
  return text;
}

std::string digest_of(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.hex();
}

}  // namespace tessera::privacy::internal
