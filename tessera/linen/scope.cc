#include "tessera/linen/scope.h"

#include <array>
#include <bit>

#include "tessera/ir/format.h"

namespace tessera::linen {

Scope Scope::child(const std::string& name) const {
  Scope out(params_, dropout_);
  out.path_ = path_;
  out.path_.push_back(name);
  return out;
}

random::Key Scope::make_param_key() {
  if (!params_)
    value_error("linen", "expected a key of the parameters; they are made by init(key, x)");
  return folded(*params_, ++param_count_);
}

random::Key Scope::make_dropout_key() {
  if (!dropout_)
    value_error("linen::Dropout",
                "expected a key in training, got none; apply(variables, x, {{.dropout = key}})");
  return folded(*dropout_, ++dropout_count_);
}

random::Key Scope::folded(const random::Key& key, int count) const {
  std::string bytes;
  for (const std::string& name : path_) bytes += name;
  // As many big-endian bytes as the number needs.
  std::string number;
  for (unsigned left = static_cast<unsigned>(count); left != 0; left >>= 8)
    number.insert(number.begin(), static_cast<char>(left & 0xff));
  return random::fold_in(key, internal::sha1_word(bytes + number));
}

namespace internal {

// FIPS 180-4, 6.1.
uint32_t sha1_word(const std::string& bytes) {
  std::string message = bytes;
  message += static_cast<char>(0x80);
  while (message.size() % 64 != 56) message += '\0';
  const uint64_t bits = 8 * static_cast<uint64_t>(bytes.size());
  for (int shift = 56; shift >= 0; shift -= 8) message += static_cast<char>(bits >> shift & 0xff);

  std::array<uint32_t, 5> hash{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (size_t block = 0; block < message.size(); block += 64) {
    std::array<uint32_t, 80> w{};
    for (size_t t = 0; t < 80; ++t) {
      if (t < 16) {
        for (size_t i = 0; i < 4; ++i)
          w[t] = w[t] << 8 | static_cast<uint8_t>(message[block + 4 * t + i]);
      } else {
        w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
      }
    }
    auto [a, b, c, d, e] = hash;
    for (size_t t = 0; t < 80; ++t) {
      uint32_t f = 0, k = 0;
      if (t < 20) {
        f = (b & c) | (~b & d), k = 0x5a827999;
      } else if (t < 40) {
        f = b ^ c ^ d, k = 0x6ed9eba1;
      } else if (t < 60) {
        f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
      } else {
        f = b ^ c ^ d, k = 0xca62c1d6;
      }
      const uint32_t next = std::rotl(a, 5) + f + e + k + w[t];
      e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
    }
    hash = {hash[0] + a, hash[1] + b, hash[2] + c, hash[3] + d, hash[4] + e};
  }
  return hash[0];
}

}  // namespace internal

}  // namespace tessera::linen
