// field_name: what a field of a plain struct, or of a class that lists its fields (base/tree.h), is
// called, for messages and paths. g++ 12 and clang 14 tell it in the spelling of a template
// argument that is the field's address.
#pragma once

#include <boost/pfr.hpp>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace tessera {
namespace internal {

// Room for a T that is never made: its fields have addresses, which is all that is asked of it.
template <class T>
union Unmade {
  char none;
  T value;
  constexpr Unmade() : none() {}
  constexpr ~Unmade() {}
};
template <class T>
inline constinit const Unmade<T> unmade{};

// In a class: clang 14 takes no address of a part of an object as an argument by itself.
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

// The last name within the last {...}; empty where the compiler writes something else.
constexpr std::string_view last_name(std::string_view text) {
  size_t end = text.rfind('}');
  if (end == std::string_view::npos) return {};
  while (end > 0 && (text[end - 1] == ')' || text[end - 1] == '}')) --end;
  size_t begin = end;
  while (begin > 0 && is_name_char(text[begin - 1])) --begin;
  // A field's name follows the object it is of, and does not start with a digit.
  if (begin == end || begin == 0 || (text[begin - 1] != ':' && text[begin - 1] != '.') ||
      (text[begin] >= '0' && text[begin] <= '9'))
    return {};
  return text.substr(begin, end - begin);
}

}  // namespace internal

// The name of field I of the aggregate T; empty where the compiler does not tell.
template <class T, size_t I>
constexpr std::string_view field_name() {
  using Field = boost::pfr::tuple_element_t<I, T>;
  return internal::last_name(internal::spelled_field<internal::FieldAddress<Field>{
                                 &boost::pfr::get<I>(internal::unmade<T>.value)}>());
}

namespace internal {
// fields() is constexpr.
template <class T>
concept ListsFieldsAtCompileTime = requires {
  typename std::bool_constant<(T::fields(unmade<T>.value), true)>;
};
}  // namespace internal

// The name of the I-th of the fields that T lists; also empty where T::fields is not constexpr.
template <class T, size_t I>
constexpr std::string_view listed_field_name() {
  if constexpr (internal::ListsFieldsAtCompileTime<T>) {
    using List = decltype(T::fields(internal::unmade<T>.value));
    using Field = std::remove_cvref_t<std::tuple_element_t<I, List>>;
    return internal::last_name(internal::spelled_field<internal::FieldAddress<Field>{
                                   &std::get<I>(T::fields(internal::unmade<T>.value))}>());
  } else {
    return {};
  }
}

}  // namespace tessera
