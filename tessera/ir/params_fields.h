// The fields of params structs: their hashes, their equality, and their conversion to and from
// attributes. Files that define ops and composites include it.
#pragma once

#include <boost/pfr/core.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tessera/base/hash.h"
#include "tessera/ir/params.h"

namespace tessera::ir {

inline size_t hash_field(bool v) { return v; }
inline size_t hash_field(int64_t v) { return std::hash<int64_t>()(v); }
inline size_t hash_field(double v) { return std::hash<double>()(v); }
inline size_t hash_field(const std::string& v) { return std::hash<std::string>()(v); }
inline size_t hash_field(const Dims& v) { return hash_value(v); }
inline size_t hash_field(const Literal& v) { return hash_value(v); }
inline size_t hash_field(const FunctionRef& v) { return hash_value(v); }
size_t hash_field(const Mesh& v);
size_t hash_field(const NamedSharding& v);
size_t hash_field(const PartitionSpec& v);
template <class T>
requires std::is_enum_v<T> size_t hash_field(T v) { return static_cast<size_t>(v); }
template <class T>
size_t hash_field(const std::vector<T>& v) {
  size_t seed = v.size();
  for (const T& x : v) seed = hash_combine(seed, hash_field(x));
  return seed;
}

template <class T>
bool equal_field(const T& a, const T& b) {
  return a == b;
}
inline bool equal_field(const FunctionRef& a, const FunctionRef& b) {
  return equal_functions(a, b);
}
inline bool equal_field(const std::vector<FunctionRef>& a, const std::vector<FunctionRef>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!equal_functions(a[i], b[i])) return false;
  return true;
}

// Appends a field as an attribute. params.cc defines it for each alternative of Attribute.
template <class T>
void append_attribute(const T& field, std::vector<Attribute>& out);
// Sets a field from an attribute. Throws UserError kParse if it is of another kind. params.cc
// defines it for each alternative.
template <class T>
void read_attribute(const Attribute& attribute, T& field);
// Returns the index of the enumerator that an attribute names. Throws UserError kParse if it names
// none.
size_t read_enumerator(const Attribute& attribute, std::span<const std::string_view> names);

template <class T>
void append_field(const T& field, std::vector<Attribute>& out) {
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>) {
    append_attribute(std::string(enum_names(T{})[static_cast<size_t>(field)]), out);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    append_attribute(static_cast<int64_t>(field), out);
  } else {
    append_attribute(field, out);
  }
}

template <class T>
void read_field(const Attribute& attribute, T& field) {
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>) {
    field = static_cast<T>(read_enumerator(attribute, enum_names(T{})));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    int64_t value = 0;
    read_attribute(attribute, value);
    field = static_cast<T>(value);
  } else {
    read_attribute(attribute, field);
  }
}

// Returns the ParamsClass of the struct P.
template <class P>
void define_params() {
  params_class<P> = {
      .equal =
          [](const void* a, const void* b) {
            bool same = true;
            const P& q = *static_cast<const P*>(b);
            boost::pfr::for_each_field(
                *static_cast<const P*>(a), [&](const auto& field, auto index) {
                  same = same && equal_field(field, boost::pfr::get<index>(q));
                });
            return same;
          },
      .hash =
          [](const void* a) {
            size_t seed = 0;
            boost::pfr::for_each_field(*static_cast<const P*>(a), [&](const auto& field) {
              seed = hash_combine(seed, hash_field(field));
            });
            return seed;
          },
      .fields =
          [](const void* a, std::vector<Attribute>& out) {
            boost::pfr::for_each_field(*static_cast<const P*>(a),
                                       [&](const auto& field) { append_field(field, out); });
          },
      .make = [](const std::vector<Attribute>& attributes) -> std::shared_ptr<const void> {
        auto p = std::make_shared<P>();
        boost::pfr::for_each_field(
            *p, [&](auto& field, size_t i) { read_field(attributes.at(i), field); });
        return p;
      },
      .move = [](void* params) -> std::shared_ptr<const void> {
        return std::make_shared<P>(std::move(*static_cast<P*>(params)));
      }};
}

}  // namespace tessera::ir
