// The path of a module in a model, and the keys that follow from it. As in flax, the key of a
// parameter is init()'s key with the SHA-1 hash of the module's path and the parameter's number
// folded in. So the initial value of a parameter depends on its path, not on what was made before
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/random/key.h"

namespace tessera::linen {

class Scope {
 public:
  // A key may be absent if no module asks for it.
  Scope(std::optional<random::Key> params, std::optional<random::Key> dropout)
      : params_(std::move(params)), dropout_(std::move(dropout)) {}

  // Returns the scope of a module inside this one.
  Scope child(const std::string& name) const;
  // Return the key of the next parameter, or of the next dropout. Throw UserError if there is no
  // such key.
  random::Key make_param_key();
  random::Key make_dropout_key();
  bool has_dropout() const { return dropout_.has_value(); }

 private:
  random::Key folded(const random::Key& key, int count) const;

  std::optional<random::Key> params_, dropout_;
  std::vector<std::string> path_;
  int param_count_ = 0, dropout_count_ = 0;
};

namespace internal {
// Returns the first four bytes of the SHA-1 of the bytes, big endian.
uint32_t sha1_word(const std::string& bytes);
}  // namespace internal

}  // namespace tessera::linen
