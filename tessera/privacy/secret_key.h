// Keys of 256 bits that the operating system gives (getrandom), and the random bytes that ChaCha20
// (Bernstein, 2008; RFC 8439 describes it) makes of them, by libsodium. For source files of
// privacy/.
//
// A key is in memory alone: it has no text, no tree of Arrays has it, and it is overwritten when its last
// copy ends. The memory is a page of its own (sodium_malloc) that the system neither swaps out nor dumps
// when a process dies. If the process may lock no more memory (ulimit -l, some kilobytes in containers), a
// key works all the same, and a warning says once that its memory is not locked. A process that forks
// gives its child unlocked copies.
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
  static constexpr size_t kBlock = 64;  // bytes of a stream that have one number

  // RuntimeError if there is no memory for it.
  explicit SecretKey(std::span<const std::byte, kBytes> bytes);

  // Returns a key that nobody else has. RuntimeError if the operating system gives no random
  // numbers, or no memory.
  static SecretKey of_system();
  // Returns such a key of process 0, which sends it to the other processes of a cluster. All of
  // them call this; `what` ("the key of step 3") is the same in all, else it is a UserError.
  static SecretKey of_cluster(const std::string& what);

  // Fills `out` with the key's stream of this nonce, from the block of this number on. Equal
  // arguments give equal bytes.
  void fill(uint64_t nonce, uint64_t block, std::span<std::byte> out) const;
  std::span<const std::byte, kBytes> bytes() const {
    return std::span<const std::byte, kBytes>(bytes_.get(), kBytes);
  }

 private:
  SecretKey();  // of memory that is not set

  std::shared_ptr<std::byte> bytes_;  // which all copies have
};

// Overwrites memory that a key was in.
void wipe(std::span<std::byte> memory);

}  // namespace tessera::privacy::internal
