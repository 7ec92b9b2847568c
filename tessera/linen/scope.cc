#include "tessera/linen/scope.h"

#include <boost/uuid/detail/sha1.hpp>
#include <type_traits>

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
  // It has as many big-endian bytes as the number needs.
  std::string number;
  for (unsigned left = static_cast<unsigned>(count); left != 0; left >>= 8)
    number.insert(number.begin(), static_cast<char>(left & 0xff));
  return random::fold_in(key, internal::sha1_word(bytes + number));
}

namespace internal {

// The digest is an array of five words or, from Boost 1.86 on, of twenty bytes, most significant
// first.
uint32_t sha1_word(const std::string& bytes) {
  boost::uuids::detail::sha1 sha1;
  sha1.process_bytes(bytes.data(), bytes.size());
  boost::uuids::detail::sha1::digest_type digest;
  sha1.get_digest(digest);
  using Unit = std::remove_cvref_t<decltype(digest[0])>;
  constexpr size_t kUnits = 4 / sizeof(Unit);
  uint32_t word = 0;
  for (size_t i = 0; i < kUnits; ++i)
    word = static_cast<uint32_t>(uint64_t{word} << 8 * sizeof(Unit)) | digest[i];
  return word;
}

}  // namespace internal

}  // namespace tessera::linen
