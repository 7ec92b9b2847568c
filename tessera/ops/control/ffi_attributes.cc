#include "tessera/ops/control/ffi_attributes.h"

#include <cstring>

#include "tessera/base/format.h"

namespace tessera::ops {
namespace {

using lax::FfiAttribute;
using lax::FfiAttributes;

constexpr std::string_view kString = "string", kOpen = "{", kClose = "}", kArray = "[]";

std::string hex_of(const Literal& literal) {
  std::string out;
  for (int64_t i = 0; i < literal.bytes(); ++i)
    out += fmt::format("{:02x}", static_cast<unsigned>(literal.raw()[i]));
  return out;
}

[[noreturn]] void bad_words(std::string_view word) {
  value_error("ffi_call",
              "expected attributes as a name, a kind and a value each, got '{}' among them; write "
              "them by lax::ffi_call",
              word);
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

Literal literal_of(std::string_view kind, const std::string& hex) {
  const bool array = kind.ends_with(kArray);
  const DType dtype = dtype_from_mlir_name(kind.substr(0, kind.size() - (array ? 2 : 0)));
  const size_t item = 2 * static_cast<size_t>(itemsize(dtype));
  if (hex.size() % item != 0 || (!array && hex.size() != item)) bad_words(hex);
  Literal out(dtype, array ? Shape{static_cast<int64_t>(hex.size() / item)} : Shape{});
  for (size_t i = 0; i < hex.size() / 2; ++i) {
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) bad_words(hex);
    out.mutable_raw()[i] = static_cast<std::byte>(16 * high + low);
  }
  return out;
}

void encode_into(const FfiAttributes& attributes, std::vector<std::string>& out) {
  for (const auto& [name, attribute] : attributes) {
    out.push_back("." + name);
    if (const auto* text = std::get_if<std::string>(&attribute.value)) {
      out.emplace_back(kString);
      out.push_back(*text);
    } else if (const auto* literal = std::get_if<Literal>(&attribute.value)) {
      out.push_back(fmt::format("{}{}", mlir_name(literal->dtype()),
                                literal->shape().rank() == 0 ? "" : kArray));
      out.push_back(hex_of(*literal));
    } else {
      out.emplace_back(kOpen);
      encode_into(*std::get<std::shared_ptr<const FfiAttributes>>(attribute.value), out);
      out.emplace_back(kClose);
    }
  }
}

// Reads attributes up to the end or, inside of a dictionary, up to and including the word that
// closes it.
FfiAttributes decode_from(const std::vector<std::string>& words, size_t& at, int depth) {
  constexpr int kDeepest = 100;
  if (depth > kDeepest) bad_words(kOpen);
  FfiAttributes out;
  while (at < words.size()) {
    const std::string& word = words[at++];
    if (depth > 0 && word == kClose) return out;
    if (at >= words.size() || word.empty() || word[0] != '.') bad_words(word);
    const std::string name = word.substr(1);
    const std::string& kind = words[at++];
    if (kind == kOpen) {
      out.emplace(name, decode_from(words, at, depth + 1));
      continue;
    }
    if (at >= words.size()) bad_words(name);
    const std::string& value = words[at++];
    out.emplace(name,
                kind == kString ? FfiAttribute(value) : FfiAttribute(literal_of(kind, value)));
  }
  if (depth > 0) bad_words("the end");
  return out;
}

}  // namespace

std::vector<std::string> encode(const FfiAttributes& attributes) {
  std::vector<std::string> out;
  encode_into(attributes, out);
  return out;
}

FfiAttributes decode(const std::vector<std::string>& words) {
  size_t at = 0;
  return decode_from(words, at, 0);
}

}  // namespace tessera::ops
