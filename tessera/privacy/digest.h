// Digests of the parts of a run of private training: BLAKE2b with 256 bits (RFC 7693), computed by
// libsodium. Nobody can find two texts with the same digest, so two plans, programs or sets of data
// with equal digests are the same. run_identity.h and plan.cc use it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/ir/array.h"

namespace tessera::privacy::internal {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  // Adds a part, preceded by its length, so that no two lists of parts have the same bytes.
  void add(std::string_view part);
  void add(std::span<const std::byte> part);
  void add(int64_t number);
  // Adds the dtype, the shape and the elements. The elements are left out if this process does not
  // have all of them (is_fully_addressable). Throws UserError if the array has no data.
  void add(const Array& array);

  // Returns 64 hexadecimal digits. This finishes the digest: add() must not be called any more.
  std::string hex();

 private:
  struct State;
  void bytes(const void* data, size_t size);
  std::unique_ptr<State> state_;
};

// Returns the digest of one text, 64 hexadecimal digits.
std::string digest_of(std::string_view text);

}  // namespace tessera::privacy::internal
