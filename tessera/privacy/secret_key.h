// Keys of 256 bits from the operating system (getrandom), and the random bytes that ChaCha20
// (Bernstein, 2008; RFC 8439 describes it) derives from them, by libsodium. Internal to privacy/.
//
// A key exists only in memory: it cannot be printed, no tree of Arrays contains it, and it is
// overwritten when its last copy is destroyed. It has a memory page of its own (sodium_malloc),
// which the system neither swaps out nor writes to core dumps. If the process may not lock more
// memory (ulimit -l, some kilobytes in containers), keys still work, and there is one warning that
// their memory is not locked. The child of a fork gets unlocked copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tessera::privacy::internal {

class SecretKey {
 public:
  static constexpr size_t kBytes = 32;
  static constexpr size_t kBlock = 64;  // bytes of a stream that have one block number

  // Copies the bytes of a key. Throws RuntimeError if there is no memory for it.
  explicit SecretKey(std::span<const std::byte, kBytes> bytes);

  // Returns a new random key from the operating system. Throws RuntimeError if that returns no
  // random numbers or no memory.
  static SecretKey of_system();
  // Returns a new random key that process 0 makes and sends to the other processes of a cluster.
  // All of them must call this with the same `what` ("the key of step 3"); otherwise it throws
  // UserError.
  static SecretKey of_cluster(const std::string& what);

  // Fills `out` with the key's stream of this nonce, from block number `block` on. Equal arguments
  // produce equal bytes.
  void fill(uint64_t nonce, uint64_t block, std::span<std::byte> out) const;
  std::span<const std::byte, kBytes> bytes() const {
    return std::span<const std::byte, kBytes>(bytes_.get(), kBytes);
  }

 private:
  SecretKey();  // makes memory that is not set

  std::shared_ptr<std::byte> bytes_;  // shared by all copies
};

// Overwrites memory that contained a key.
void wipe(std::span<std::byte> memory);

}  // namespace tessera::privacy::internal
