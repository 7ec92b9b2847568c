// Attributes of a call of a native function (ffi_call.h): what its code reads in addition to its
// arrays.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "tessera/base/literal.h"

namespace tessera::lax {

struct FfiAttribute;
// The attributes are sorted by name, as handlers expect them.
using FfiAttributes = std::map<std::string, FfiAttribute>;

// A scalar (a Literal of rank 0), an array (a Literal of any other rank, which handlers see as
// flat), a string or a dictionary.
struct FfiAttribute {
  std::variant<Literal, std::string, std::shared_ptr<const FfiAttributes>> value;

  FfiAttribute(Literal literal) : value(std::move(literal)) {}  // NOLINT: converts
  FfiAttribute(std::string text) : value(std::move(text)) {}    // NOLINT: converts
  FfiAttribute(const char* text) : value(std::string(text)) {}  // NOLINT: converts
  FfiAttribute(FfiAttributes dictionary)                        // NOLINT: converts
      : value(std::make_shared<const FfiAttributes>(std::move(dictionary))) {}
  template <class T>
  requires std::is_arithmetic_v<T> FfiAttribute(T scalar)  // NOLINT: converts
      : value(Literal::scalar(scalar)) {}
  template <class T>
  requires std::is_arithmetic_v<T> FfiAttribute(const std::vector<T>& array)  // NOLINT: converts
      : value(Literal::from(std::span<const T>(array), Shape{static_cast<int64_t>(array.size())})) {
  }
};

}  // namespace tessera::lax

namespace tessera::ops {

// Converts attributes to a list of words and back, which can be fields of params. An attribute is
// three words: a dot and the name, the kind, the value. The kind is a dtype, a dtype with [],
// "string", or "{", after which "}" ends the dictionary; numbers are their bytes in hexadecimal.
// For example {axis = 1 : i32} is .axis, i32, 01000000.
std::vector<std::string> encode(const lax::FfiAttributes& attributes);
lax::FfiAttributes decode(const std::vector<std::string>& words);

}  // namespace tessera::ops
