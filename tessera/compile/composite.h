// Composites: a function of the numpy layer, written with several ops, that runs eagerly as one
// compiled program.
//
//   Array clipped(const Array& x, double limit) {
//     struct ClipParams {
//       double limit;
//     };
//     return composite("clipped", ClipParams{limit}, {x},
//                      [](const ClipParams& p, std::span<const Array> a) {
//                        return minimum(a[0], p.limit);
//                      });
//   }
//
// Under a trace the body is called and its ops are recorded, as if composite did not exist.
// Outside, the program of (body, params, types and shardings of the arguments) is traced and
// compiled once and then looked up, so x + 1 costs one dispatch, not three.
//
// A body captures nothing, so that its result depends only on what the look-up compares.
#pragma once

#include <bit>
#include <concepts>
#include <optional>
#include <type_traits>

#include "tessera/ir/array.h"
#include "tessera/ir/params_fields.h"

namespace tessera {

using ir::NoParams;

namespace internal {

// A field of a composite's params is a number, an enumerator, a function, a class with
// tree_static_key() or with hash_value(x) and ==, an allowed field of an op's params, an optional
// or a vector of these, or a struct of these. Names are std::strings: a pointer to characters would
// be compared by its address, so it is rejected.
template <class T>
size_t hash_of_static(const T& x);
template <class T>
size_t hash_of_static(const std::optional<T>& x);
template <class T>
size_t hash_of_static(const std::vector<T>& x);
template <class T>
bool equal_static(const T& a, const T& b);
template <class T>
bool equal_static(const std::optional<T>& a, const std::optional<T>& b);
template <class T>
bool equal_static(const std::vector<T>& a, const std::vector<T>& b);

// Floating-point numbers are hashed and compared by their bits: -0 is not 0, and NaN equals itself.
inline uint64_t bits_of(double x) { return std::bit_cast<uint64_t>(x); }

template <class T>
concept HasHashField = requires(const T& x) {
  ir::hash_field(x);
};
template <class T>
concept HasHashValue = requires(const T& x) {
  hash_value(x);
};
template <class T>
concept HasStaticKey = requires(const T& x) {
  { x.tree_static_key() } -> std::convertible_to<const std::string&>;
};
template <class T>
concept FunctionPointer = std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>;

template <class T>
size_t hash_of_static(const std::optional<T>& x) {
  return x ? hash_combine(1, hash_of_static(*x)) : 0;
}
template <class T>
size_t hash_of_static(const std::vector<T>& x) {
  size_t seed = x.size();
  for (const T& element : x) seed = hash_combine(seed, hash_of_static(element));
  return seed;
}
template <class T>
size_t hash_of_static(const T& x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::hash<uint64_t>()(bits_of(x));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return static_cast<size_t>(x);
  } else if constexpr (FunctionPointer<T>) {
    return std::hash<T>()(x);
  } else if constexpr (HasStaticKey<T>) {
    return std::hash<std::string>()(x.tree_static_key());
  } else if constexpr (HasHashField<T>) {
    return ir::hash_field(x);
  } else if constexpr (HasHashValue<T>) {
    return hash_value(x);
  } else {
    static_assert(std::is_aggregate_v<T>,
                  "a composite's params are plain structs of values that can be compared");
    size_t seed = 0;
    boost::pfr::for_each_field(
        x, [&](const auto& field) { seed = hash_combine(seed, hash_of_static(field)); });
    return seed;
  }
}

template <class T>
bool equal_static(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || equal_static(*a, *b));
}
template <class T>
bool equal_static(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!equal_static(a[i], b[i])) return false;
  return true;
}
template <class T>
bool equal_static(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    return bits_of(a) == bits_of(b);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || FunctionPointer<T>) {
    return a == b;
  } else if constexpr (HasStaticKey<T>) {
    return a.tree_static_key() == b.tree_static_key();
  } else if constexpr (HasHashField<T>) {
    return ir::equal_field(a, b);
  } else if constexpr (HasHashValue<T>) {
    return a == b;
  } else {
    bool same = true;
    boost::pfr::for_each_field(a, [&](const auto& field, auto index) {
      same = same && equal_static(field, boost::pfr::get<index>(b));
    });
    return same;
  }
}

// The functions that hash, compare and copy params of one struct.
struct StaticClass {
  size_t (*hash)(const void*);
  bool (*equal)(const void*, const void*);
  std::shared_ptr<const void> (*copy)(const void*);
};
template <class P>
const StaticClass* static_class() {
  static constexpr StaticClass cls = {
      [](const void* p) { return hash_of_static(*static_cast<const P*>(p)); },
      [](const void* a, const void* b) {
        return equal_static(*static_cast<const P*>(a), *static_cast<const P*>(b));
      },
      [](const void* p) -> std::shared_ptr<const void> {
        return std::make_shared<P>(*static_cast<const P*>(p));
      }};
  return &cls;
}

// A call of a composite's body with params of one struct. Only `run` knows their types.
struct CompositeCall {
  using AnyBody = void (*)();
  const char* name;
  AnyBody body;
  const StaticClass* params_class;
  const void* params;
  std::vector<Array> (*run)(AnyBody body, const void* params, std::span<const Array> args);
};
std::vector<Array> run_composite(const CompositeCall& call, std::span<const Array> args);

}  // namespace internal

// Returns body(params, args): an Array or a std::vector<Array>. Messages and dumps call the program
// `name`.
template <class P = NoParams, class Body>
auto composite(const char* name, const P& params, std::span<const Array> args, const Body& body) {
  using Result = std::invoke_result_t<const Body&, const P&, std::span<const Array>>;
  using Function = Result (*)(const P&, std::span<const Array>);
  constexpr bool kCaptureless = std::is_convertible_v<const Body&, Function>;
  static_assert(kCaptureless,
                "the body of a composite captures nothing; what it needs is in its params");
  if constexpr (!kCaptureless) {
    return body(params, args);  // for its type: the assertion above is then the only error
  } else {
    const Function function = body;
    if (ir::Trace::current()) return function(params, args);
    const auto run = [](internal::CompositeCall::AnyBody any, const void* p,
                        std::span<const Array> x) -> std::vector<Array> {
      const auto typed = reinterpret_cast<Function>(any);
      if constexpr (std::is_same_v<Result, Array>) {
        return {typed(*static_cast<const P*>(p), x)};
      } else {
        return typed(*static_cast<const P*>(p), x);
      }
    };
    std::vector<Array> results =
        internal::run_composite({name, reinterpret_cast<internal::CompositeCall::AnyBody>(function),
                                 internal::static_class<P>(), &params, run},
                                args);
    if constexpr (std::is_same_v<Result, Array>) {
      return std::move(results[0]);
    } else {
      return results;
    }
  }
}
template <class P = NoParams, class Body>
auto composite(const char* name, const P& params, std::initializer_list<Array> args,
               const Body& body) {
  return composite(name, params, std::span<const Array>(args.begin(), args.size()), body);
}

}  // namespace tessera
