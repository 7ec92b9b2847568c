// The key with which the batches of a run are drawn. All functions of samplers (strategies.h) that
// draw take one.
//
//   sampler.batches(random::key(0))            // the same batches each time
//   sampler.batches(SamplingKey::of_system())  // batches that nobody can predict or repeat
#pragma once

#include <utility>
#include <variant>

#include "tessera/privacy/secret_key.h"
#include "tessera/random/key.h"

namespace tessera::privacy::batch_selection {

class SamplingKey {
 public:
  // Constructs a key of 64 bits. An attacker who tries all of them finds the batches.
  SamplingKey(random::Key key) : key_(std::move(key)) {}
  // Returns a key of 256 bits from the operating system, whose batches are drawn by ChaCha20
  // (libsodium). The key exists only in memory, as long as this object or a range made from it:
  // after that its batches cannot be drawn again. All processes of a cluster must call this
  // function, and get the key of process 0. Throws RuntimeError if the system provides no random
  // numbers.
  static SamplingKey of_system();

  // The rest is internal to privacy/. One of the two keys is null.
  explicit SamplingKey(const privacy::internal::SecretKey& secret) : key_(secret) {}
  const random::Key* key() const { return std::get_if<random::Key>(&key_); }
  const privacy::internal::SecretKey* secret() const {
    return std::get_if<privacy::internal::SecretKey>(&key_);
  }

 private:
  std::variant<random::Key, privacy::internal::SecretKey> key_;
};

}  // namespace tessera::privacy::batch_selection
