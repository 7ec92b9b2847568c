// OpParams: the static parameters of one op instance, a plain struct behind a value-semantic
// handle.
//
// Equality, hashing, printing and parsing come from the struct's fields (Boost.PFR), so an op's
// author writes the struct and nothing else. A field is one of the alternatives of Attribute, an
// enum with an `enum_names(E)` overload, or a std::vector of those that Attribute lists.
#pragma once

#include <array>
#include <boost/pfr/core.hpp>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tessera/base/hash.h"
#include "tessera/base/literal.h"
#include "tessera/ir/format.h"
#include "tessera/ir/forward.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::ir {

size_t hash_value(const FunctionRef& function);                // structural
bool equal_functions(const FunctionRef&, const FunctionRef&);  // structural

// What a field of a OpParams struct may hold, and what stands between `<{` and `}>` in the printed
// form. Enums travel as strings (their StableHLO spelling).
using Attribute =
    std::variant<bool, int64_t, double, std::string, DType, Dims, std::vector<std::string>,
                 std::vector<Dims>, Literal, FunctionRef, std::vector<FunctionRef>, Mesh,
                 NamedSharding, PartitionSpec, std::vector<PartitionSpec>>;

template <class T>
Attribute to_attribute(const T& field) {
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>) {
    return std::string(enum_names(T{})[static_cast<size_t>(field)]);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<int64_t>(field);
  } else {
    return field;
  }
}

template <class T>
void from_attribute(const Attribute& attribute, T& field) {
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>) {
    const auto* name = std::get_if<std::string>(&attribute);
    const auto names = enum_names(T{});
    for (size_t i = 0; name && i < names.size(); ++i) {
      if (names[i] == *name) {
        field = static_cast<T>(i);
        return;
      }
    }
    fail(ErrorKind::kParse, "attribute", "expected one of the enumeration's names, got '{}'",
         name ? *name : "(not a name)");
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const auto* value = std::get_if<int64_t>(&attribute);
    if (!value) fail(ErrorKind::kParse, "attribute", "expected an integer");
    field = static_cast<T>(*value);
  } else {
    const auto* value = std::get_if<T>(&attribute);
    if (!value) fail(ErrorKind::kParse, "attribute", "got a value of another kind");
    field = *value;
  }
}

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

struct ParamsClass {
  bool (*equal)(const void*, const void*);
  size_t (*hash)(const void*);
  std::vector<Attribute> (*fields)(const void*);
  std::shared_ptr<const void> (*make)(const std::vector<Attribute>&);
};

template <class P>
const ParamsClass* params_class() {
  static const ParamsClass cls = {
      [](const void* a, const void* b) {
        bool same = true;
        const P& q = *static_cast<const P*>(b);
        boost::pfr::for_each_field(*static_cast<const P*>(a),
                                   [&]<class T>(const T& field, auto index) {
                                     same = same && equal_field(field, boost::pfr::get<index>(q));
                                   });
        return same;
      },
      [](const void* a) {
        size_t seed = 0;
        boost::pfr::for_each_field(*static_cast<const P*>(a), [&](const auto& field) {
          seed = hash_combine(seed, hash_field(field));
        });
        return seed;
      },
      [](const void* a) {
        std::vector<Attribute> out;
        boost::pfr::for_each_field(*static_cast<const P*>(a),
                                   [&](const auto& field) { out.push_back(to_attribute(field)); });
        return out;
      },
      [](const std::vector<Attribute>& attributes) -> std::shared_ptr<const void> {
        auto p = std::make_shared<P>();
        boost::pfr::for_each_field(
            *p, [&](auto& field, size_t i) { from_attribute(attributes.at(i), field); });
        return p;
      }};
  return &cls;
}

// The params of an op that has none.
struct NoParams {};

class OpParams {
 public:
  OpParams() : OpParams(NoParams{}) {}
  template <class P>
  requires(std::is_aggregate_v<P>) OpParams(P value)
      : class_(params_class<P>()), data_(share(std::move(value))) {}

  template <class P>
  const P& as() const {
    TESSERA_CHECK(class_ == params_class<P>(), "params of another op");
    return *static_cast<const P*>(data_.get());
  }
  // The fields in declaration order.
  std::vector<Attribute> fields() const { return class_->fields(data_.get()); }
  // Params of the same struct with these fields; UserError kParse where a kind does not fit.
  OpParams with_fields(const std::vector<Attribute>& fields) const {
    OpParams out = *this;
    out.data_ = class_->make(fields);
    return out;
  }
  size_t hash() const { return class_->hash(data_.get()); }
  friend bool operator==(const OpParams& a, const OpParams& b) {
    return a.class_ == b.class_ &&
           (a.data_ == b.data_ || a.class_->equal(a.data_.get(), b.data_.get()));
  }

 private:
  template <class P>
  static std::shared_ptr<const void> share(P value) {
    if constexpr (std::is_same_v<P, NoParams>) {
      static const std::shared_ptr<const void> none = std::make_shared<NoParams>();
      return none;
    } else {
      return std::make_shared<P>(std::move(value));
    }
  }
  const ParamsClass* class_;
  std::shared_ptr<const void> data_;
};

}  // namespace tessera::ir
