// Digests of what a run of private training consists of: BLAKE2b with 256 bits (RFC 7693), computed
// by libsodium. Nobody can find two texts of one digest, so two plans, programs or sets of data
// with equal digests are the same. For run_identity.h and plan.cc.
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

  // Each part is digested with its length before it, so that no two lists of parts are alike.
  void add(std::string_view part);
  void add(std::span<const std::byte> part);
  void add(int64_t number);
  // The dtype, the shape and the elements; of an array that does not lie in this process as a whole
  // (is_fully_addressable) the dtype and the shape alone. UserError for an array without data.
  void add(const Array& array);

  // 64 hexadecimal digits. The digest is finished then: add() must not be called any more.
  std::string hex();

 private:
  struct State;
  void bytes(const void* data, size_t size);
  std::unique_ptr<State> state_;
};

// The digest of one text, 64 hexadecimal digits.
std::string digest_of(std::string_view text);

}  // namespace tessera::privacy::internal
