// Keys of 256 bits from the operating system (getrandom), and the random bytes that ChaCha20
// (Bernstein, 2008; RFC 8439 describes it) derives from them, by libsodium. For source files of
// privacy/.
//
// A key exists in memory alone: it has no text, no tree of Arrays contains it, and it is
// overwritten when its last copy is destroyed. Its memory is a page of its own (sodium_malloc) that
// the system neither swaps out nor dumps when a process crashes. If the process may not lock more
// memory (ulimit -l, some kilobytes in containers), keys still work, and a warning says once that
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
  static constexpr size_t kBlock = 64;  // bytes of a stream that share one number

  // Throws RuntimeError if there is no memory for it.
  explicit SecretKey(std::span<const std::byte, kBytes> bytes);

  // Returns a key that nobody else has. Throws RuntimeError if the operating system returns no
  // random numbers, or no memory.
  static SecretKey of_system();
  // Returns such a key of process 0, which sends it to the other processes of a cluster. All of
  // them must call this with the same `what` ("the key of step 3"); otherwise it throws UserError.
  static SecretKey of_cluster(const std::string& what);

  // Fills `out` with the key's stream of this nonce, from the block of this number on. Equal
  // arguments produce equal bytes.
  void fill(uint64_t nonce, uint64_t block, std::span<std::byte> out) const;
  std::span<const std::byte, kBytes> bytes() const {
    return std::span<const std::byte, kBytes>(bytes_.get(), kBytes);
  }

 private:
  SecretKey();  // with memory that is not set

  std::shared_ptr<std::byte> bytes_;  // which all copies share
};

// Overwrites memory that contained a key.
void wipe(std::span<std::byte> memory);

}  // namespace tessera::privacy::internal
