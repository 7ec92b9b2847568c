// tie_fields: the fields of a plain struct, as a tuple of references.
//
// Boost.PFR finds the fields of most structs. If a field has no default constructor (as modules
// that are made from random keys), the struct cannot be initialized by {}. Then PFR would try every
// number of fields up to the struct's size in bits, for which compilers need gigabytes. So the
// fields of such a struct are counted here, from one upwards.
#pragma once

#include <boost/pfr/core.hpp>
#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tessera::internal {

// A value that converts to a field of any type, for initializers that are never evaluated. Clang
// asks for the functions' bodies if T is of an unnamed namespace.
struct AnyField {
  template <class T>
  operator T&() const& {
    std::abort();
  }
  template <class T>
  operator T&() const&& {
    std::abort();
  }
};
template <size_t>
using AnyFieldAt = AnyField;

template <class T>
concept HasDefault = requires {
  T{};
};

template <class T, size_t... I>
constexpr bool takes_fields(std::index_sequence<I...>) {
  return requires { T{AnyFieldAt<I>{}...}; };
}

// Fields are counted up to this number; PFR counts those of larger structs.
inline constexpr size_t kMaxCountedFields = 16;

// Returns the number of fields of T, which cannot be initialized by {}; 0 if it has more than
// kMaxCountedFields. An initializer of the first n fields is valid if the other fields have
// defaults, so the number of fields is the last n of the first sequence of valid initializers.
template <class T, size_t n = 1>
constexpr size_t count_fields() {
  if constexpr (n > kMaxCountedFields) {
    return 0;
  } else if constexpr (takes_fields<T>(std::make_index_sequence<n>()) &&
                       !takes_fields<T>(std::make_index_sequence<n + 1>())) {
    return n;
  } else {
    return count_fields<T, n + 1>();
  }
}

// Returns count_fields() if T cannot be initialized by {} and can be copied, which AnyField needs.
// Otherwise returns 0: PFR finds the fields.
template <class T>
constexpr size_t fields_counted() {
  if constexpr (!HasDefault<T> && std::is_copy_constructible_v<T>) {
    return count_fields<T>();
  } else {
    return 0;
  }
}

template <class T>
constexpr auto tie_fields(T& node) {
  constexpr size_t n = fields_counted<std::remove_const_t<T>>();
  if constexpr (n == 0) {
    return boost::pfr::structure_tie(node);
  } else if constexpr (n == 1) {
    auto& [a] = node;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = node;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = node;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = node;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = node;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = node;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = node;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = node;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = node;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = node;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = node;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = node;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (n == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = node;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (n == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o] = node;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o);
  } else if constexpr (n == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = node;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p);
  } else {
    static_assert(n == kMaxCountedFields);
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = node;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q);
  }
}

}  // namespace tessera::internal
