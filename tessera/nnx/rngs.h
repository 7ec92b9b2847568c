// Streams of random keys that count the keys that they have returned, as in flax.nnx: the n-th key
// of a stream is fold_in(its key, n). A stream is a value and a tree; calling it advances it.
//
//   nnx::Rngs one(0);                                   // one stream, used for every name
//   nnx::Rngs rngs({{"params", 0}, {"dropout", 1}});
//   nnx::Linear layer(4, 2, rngs);                      // takes rngs.params() twice
#pragma once

#include <concepts>
#include <map>
#include <string>

#include "tessera/random/key.h"

namespace tessera::nnx {

// A seed or a key.
struct RngSeed {
  random::Key key;
  template <std::integral T>
  RngSeed(T seed) : key(random::key(seed)) {}
  RngSeed(random::Key key) : key(std::move(key)) {}
};

// A stream of keys. It is state, not a parameter (state.h).
struct RngStream {
  static constexpr bool kIsState = true;
  random::Key key;
  Array count;  // uint32

  RngStream() = default;
  explicit RngStream(const RngSeed& seed);

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.key, self.count);
  }
  // Returns the next key.
  random::Key operator()();
  // Returns a new stream from the next key, which then counts on its own.
  RngStream fork();
};

class Rngs {
 public:
  Rngs();
  Rngs(const Rngs&);
  Rngs(Rngs&&) noexcept;
  Rngs& operator=(const Rngs&);
  Rngs& operator=(Rngs&&) noexcept;
  ~Rngs();
  // Makes the default stream, which is used for every name that has no stream of its own.
  template <std::integral T>
  explicit Rngs(T seed) : Rngs(RngSeed(seed)) {}
  explicit Rngs(const random::Key& key) : Rngs(RngSeed(key)) {}
  // Makes named streams, with or without "default".
  explicit Rngs(const std::map<std::string, RngSeed>& streams);

  // Returns the stream of a name. Throws UserError if there is neither that stream nor a default
  // one.
  RngStream& operator[](const std::string& name);
  random::Key params() { return (*this)["params"](); }
  random::Key dropout() { return (*this)["dropout"](); }
  random::Key operator()() { return (*this)["default"](); }

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.streams_);
  }

 private:
  explicit Rngs(const RngSeed& seed);
  std::map<std::string, RngStream> streams_;
};

}  // namespace tessera::nnx
