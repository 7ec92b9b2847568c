// field_name: the name of a field of a plain struct, or of a class that lists its fields
// (base/tree.h), for messages and paths. g++ 12 and clang 14 print the name when they print a
// template argument that is the address of the field.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tessera/base/fields.h"

namespace tessera {
namespace internal {

// Memory for a T that is never constructed. Only the addresses of its fields are used.
template <class T>
union Unmade {
  char none;
  T value;
  constexpr Unmade() : none() {}
  constexpr ~Unmade() {}
};
template <class T>
inline constinit const Unmade<T> unmade{};

// The address is wrapped in a class, since clang 14 does not accept the address of a part of an
// object as a template argument.
template <class F>
struct FieldAddress {
  const F* address;
};

// "... FieldAddress<const Array*>{(& unmade<Layer>.Unmade<Layer>::value.Layer::kernel)} ..." (gcc)
// "... [field = {&unmade.value.kernel}]" (clang)
template <auto field>
constexpr std::string_view spelled_field() {
#if defined(__GNUC__)
  return __PRETTY_FUNCTION__;
#else
  return {};
#endif
}

constexpr bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns the last name within the last {...}; empty if the compiler prints something else.
constexpr std::string_view last_name(std::string_view text) {
  size_t end = text.rfind('}');
  if (end == std::string_view::npos) return {};
  while (end > 0 && (text[end - 1] == ')' || text[end - 1] == '}')) --end;
  size_t begin = end;
  while (begin > 0 && is_name_char(text[begin - 1])) --begin;
  // The name of a field follows that of its object, and does not start with a digit.
  if (begin == end || begin == 0 || (text[begin - 1] != ':' && text[begin - 1] != '.') ||
      (text[begin] >= '0' && text[begin] <= '9'))
    return {};
  return text.substr(begin, end - begin);
}

}  // namespace internal

// Returns the name of field I of the aggregate T; empty if the compiler does not print it.
template <class T, size_t I>
constexpr std::string_view field_name() {
  using Fields = decltype(internal::tie_fields(internal::unmade<T>.value));
  using Field = std::remove_cvref_t<std::tuple_element_t<I, Fields>>;
  return internal::last_name(internal::spelled_field<internal::FieldAddress<Field>{
                                 &std::get<I>(internal::tie_fields(internal::unmade<T>.value))}>());
}

namespace internal {
// Whether T::fields() is constexpr.
template <class T>
concept ListsFieldsAtCompileTime = requires {
  typename std::bool_constant<(T::fields(unmade<T>.value), true)>;
};
}  // namespace internal

namespace internal {
template <class T>
using FieldsOf = decltype(T::fields(unmade<T>.value));

template <class T, size_t I>
constexpr std::string_view spelled_listed_field() {
  using Field = std::remove_cvref_t<std::tuple_element_t<I, FieldsOf<T>>>;
  return last_name(spelled_field<FieldAddress<Field>{&std::get<I>(T::fields(unmade<T>.value))}>());
}

// Returns how many of the fields that T lists have the name `name`. Several may, if they are parts
// of different fields.
template <class T>
constexpr int times_listed(std::string_view name) {
  return []<size_t... I>(std::string_view of, std::index_sequence<I...>) {
    return (0 + ... + (spelled_listed_field<T, I>() == of ? 1 : 0));
  }
  (name, std::make_index_sequence<std::tuple_size_v<FieldsOf<T>>>());
}
}  // namespace internal

// Returns the name of the I-th field that T lists. It is empty if the compiler does not print it,
// if T::fields is not constexpr, or if another field has the same name (std::tie(self.a.kernel,
// self.b.kernel)).
template <class T, size_t I>
constexpr std::string_view listed_field_name() {
  if constexpr (internal::ListsFieldsAtCompileTime<T>) {
    constexpr std::string_view name = internal::spelled_listed_field<T, I>();
    return internal::times_listed<T>(name) == 1 ? name : std::string_view();
  } else {
    return {};
  }
}

}  // namespace tessera
