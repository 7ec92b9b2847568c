// Trees (pytrees): values whose leaves are Arrays. A function may take and return:
//   - Array;
//   - std::tuple, pair, array, vector, map, unordered_map (its leaves in the order of the keys) and
//     optional of trees;
//   - a plain struct of trees (its fields are found by base/fields.h);
//   - a class that lists its fields once:
//       template <class Self>
//       static constexpr auto fields(Self& self) { return std::tie(self.a, self.b); }
// Every other field (numbers, strings, enums, shapes, dtypes, empty types) is static: it is part of
// the program, not of its data, and so of the cache key of jit.
//
//   struct Layer { Array kernel, bias; bool use_bias; };       // leaves kernel, bias
//   tree::map([](const Array& g) { return g / 2; }, layer);    // a Layer of halves
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/base/field_name.h"
#include "tessera/base/fields.h"
#include "tessera/base/shape.h"

namespace tessera {

class Array;

namespace tree {

template <class T>
concept Leaf = std::is_same_v<std::remove_cvref_t<T>, Array>;

namespace internal {

template <class T>
struct IsVector : std::false_type {};
template <class T, class A>
struct IsVector<std::vector<T, A>> : std::true_type {};
template <class T>
struct IsStdArray : std::false_type {};
template <class T, size_t N>
struct IsStdArray<std::array<T, N>> : std::true_type {};
// Matches std::map and std::unordered_map by the member types that they declare. Their headers take
// longer to compile than this one, and programs without maps need not include them.
template <class T>
concept AnyMap = requires {
  typename T::key_type;
  typename T::mapped_type;
  typename T::node_type;
};
template <class T>
concept OrderedMap = AnyMap<T> && requires {
  typename T::key_compare;
};
// The type of a map with the same keys and values of another type.
template <class T>
struct MapOf;
template <template <class, class, class, class> class Map, class K, class V, class C, class A>
struct MapOf<Map<K, V, C, A>> {
  template <class W>
  using With =
      Map<K, W, C, typename std::allocator_traits<A>::template rebind_alloc<std::pair<const K, W>>>;
};
template <template <class, class, class, class, class> class Map, class K, class V, class H,
          class E, class A>
struct MapOf<Map<K, V, H, E, A>> {
  template <class W>
  using With = Map<K, W, H, E,
                   typename std::allocator_traits<A>::template rebind_alloc<std::pair<const K, W>>>;
};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

template <class T>
concept ListsFields = requires(T& x) {
  T::fields(x);
};
template <class T>
concept StaticValue = std::is_arithmetic_v<T> || std::is_enum_v<T> ||
    std::is_same_v<T, std::string> || std::is_same_v<T, Dims> || std::is_empty_v<T> ||
    requires(const T& x) {
  { x.tree_static_key() } -> std::convertible_to<std::string>;
};

// Types may contain themselves, in a vector or a map, so every walk over a tree counts its depth.
inline constexpr int kMaxDepth = 1000;
class DepthGuard {
 public:
  DepthGuard();
  ~DepthGuard();
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
};

// Returns the step to a child in a path: `.name` or `.2` for a field, `[2]` for an element.
std::string field_step(std::string_view name, size_t index);
std::string element_step(size_t index);
// Returns the step to the value of a key in a path: `[key]`.
std::string key_step(std::string_view key);
std::string key_step(bool key);
std::string key_step(char key);
std::string key_step(int64_t key);
std::string key_step(uint64_t key);
std::string key_step(float key);
std::string key_step(double key);
template <class K>
std::string step_of_key(const K& key) {
  if constexpr (std::is_same_v<K, bool> || std::is_same_v<K, char> || std::is_same_v<K, float> ||
                std::is_same_v<K, double>) {
    return key_step(key);
  } else if constexpr (std::signed_integral<K>) {
    return key_step(static_cast<int64_t>(key));
  } else if constexpr (std::unsigned_integral<K>) {
    return key_step(static_cast<uint64_t>(key));
  } else {
    return key_step(std::string_view(key));
  }
}
void sort_pointers(std::vector<const void*>& pointers, bool (*less)(const void*, const void*));
// Throws the UserError for trees of tree::map that have different structures.
[[noreturn]] void throw_structures_differ();
// Throws the InternalError for a wrong number of arrays in unflatten().
[[noreturn]] void throw_leaves_differ(size_t leaves, size_t arrays);

// Calls visit(entry) for every entry of a map in the order of the keys, since two equal
// unordered_maps may differ in their own order.
template <class T, class F>
void for_each_entry(T& map, F&& visit) {
  if constexpr (OrderedMap<std::remove_const_t<T>>) {
    for (auto& entry : map) visit(entry);
  } else {
    using Entry = std::remove_reference_t<decltype(*map.begin())>;
    std::vector<const void*> entries;
    for (auto& entry : map) entries.push_back(&entry);
    sort_pointers(entries, [](const void* a, const void* b) {
      return static_cast<const Entry*>(a)->first < static_cast<const Entry*>(b)->first;
    });
    for (const void* entry : entries) visit(*static_cast<Entry*>(const_cast<void*>(entry)));
  }
}

// A class and not a function, so that the compiler prints the error once for each type.
template <class T>
struct ExpectTree {
  static constexpr bool value = std::is_aggregate_v<T>;
  static_assert(value,
                "not a tree: make it a plain struct, or list its fields once: template <class "
                "Self> static constexpr auto "
                "fields(Self& self) { return std::tie(self.a, self.b); }");
};

// Calls visit(child, name) for every child of an inner node, in order.
template <class T, class F>
void for_each_child(T& node, F&& visit) {
  using U = std::remove_const_t<T>;
  if constexpr (ListsFields<U>) {
    auto list = U::fields(node);
    [&]<size_t... I>(std::index_sequence<I...>) {
      (visit(std::get<I>(list), field_step(listed_field_name<U, I>(), I)), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<decltype(list)>>());
  } else if constexpr (IsTuple<U>::value) {
    std::apply(
        [&](auto&... field) {
          size_t i = 0;
          (visit(field, element_step(i++)), ...);
        },
        node);
  } else if constexpr (IsVector<U>::value || IsStdArray<U>::value) {
    const DepthGuard guard;
    size_t i = 0;
    for (auto& child : node) visit(child, element_step(i++));
  } else if constexpr (AnyMap<U>) {
    const DepthGuard guard;
    for_each_entry(node, [&](auto& entry) { visit(entry.second, step_of_key(entry.first)); });
  } else if constexpr (IsOptional<U>::value) {
    if (node) visit(*node, std::string());
  } else {
    if constexpr (ExpectTree<U>::value) {
      const auto list = tessera::internal::tie_fields(node);
      [&]<size_t... I>(std::index_sequence<I...>) {
        (visit(std::get<I>(list), field_step(field_name<U, I>(), I)), ...);
      }
      (std::make_index_sequence<std::tuple_size_v<decltype(list)>>());
    }
  }
}
// Does the same without names, which would cost time in every call of a jitted function.
template <class T, class F>
void for_each_unnamed_child(T& node, F&& visit) {
  using U = std::remove_const_t<T>;
  if constexpr (ListsFields<U>) {
    std::apply([&](auto&... field) { (visit(field), ...); }, U::fields(node));
  } else if constexpr (IsTuple<U>::value) {
    std::apply([&](auto&... field) { (visit(field), ...); }, node);
  } else if constexpr (IsVector<U>::value || IsStdArray<U>::value) {
    const DepthGuard guard;
    for (auto& child : node) visit(child);
  } else if constexpr (AnyMap<U>) {
    const DepthGuard guard;
    for_each_entry(node, [&](auto& entry) { visit(entry.second); });
  } else if constexpr (IsOptional<U>::value) {
    if (node) visit(*node);
  } else {
    if constexpr (ExpectTree<U>::value)
      std::apply([&](auto&... field) { (visit(field), ...); }, tessera::internal::tie_fields(node));
  }
}

}  // namespace internal

// Calls visit(leaf) for every leaf, in order.
template <class T, class F>
void for_each_leaf(T& node, F&& visit) {
  if constexpr (Leaf<T>) {
    visit(node);
  } else if constexpr (!internal::StaticValue<std::remove_const_t<T>>) {
    internal::for_each_unnamed_child(node, [&](auto& child) { for_each_leaf(child, visit); });
  }
}

// Calls visit(leaf, path): ".layers[2]" is the third element of the field `layers`. If the compiler
// does not print the name of a field, its index is used: ".0[2]".
template <class T, class F>
void for_each_leaf_with_path(T& node, F&& visit, const std::string& path = {}) {
  if constexpr (Leaf<T>) {
    visit(node, path);
  } else if constexpr (!internal::StaticValue<std::remove_const_t<T>>) {
    internal::for_each_child(node, [&](auto& child, const std::string& name) {
      for_each_leaf_with_path(child, visit, path + name);
    });
  }
}

// Appends everything static about the tree: sizes, keys, presence, static fields. Trees of one type
// with equal keys have equal structures.
template <class T>
void append_static_key(const T& node, std::string& key) {
  if constexpr (Leaf<T>) {
    key += 'a';
  } else if constexpr (std::is_empty_v<T>) {
    key += 'e';
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    key.append(reinterpret_cast<const char*>(&node), sizeof node);
  } else if constexpr (std::is_same_v<T, std::string>) {
    key += std::to_string(node.size()) + ':' + node;
  } else if constexpr (std::is_same_v<T, Dims>) {
    key += std::to_string(node.size()) + ':';
    key.append(reinterpret_cast<const char*>(node.data()), node.size() * sizeof(int64_t));
  } else if constexpr (internal::StaticValue<T>) {
    key += std::string(node.tree_static_key()) + ';';
  } else {
    if constexpr (internal::IsVector<T>::value || internal::AnyMap<T>)
      key += std::to_string(node.size()) + ',';
    if constexpr (internal::AnyMap<T>)
      internal::for_each_entry(node,
                               [&](const auto& entry) { append_static_key(entry.first, key); });
    if constexpr (internal::IsOptional<T>::value) key += node ? '1' : '0';
    internal::for_each_unnamed_child(node,
                                     [&](const auto& child) { append_static_key(child, key); });
  }
}

// The outline of a tree, without its types. Messages and options name parts of trees with it.
struct Outline {
  enum class Kind : uint8_t { kLeaf, kStatic, kNode };
  Outline(Kind kind, std::string step);
  Outline(const Outline&);
  Outline(Outline&&) noexcept;
  Outline& operator=(const Outline&);
  Outline& operator=(Outline&&) noexcept;
  ~Outline();
  void append(Outline child);

  Kind kind;
  std::string step;  // the step from its parent: ".layers", "[2]"
  std::vector<Outline> children;
};
template <class T>
Outline outline(const T& node, std::string step = {}) {
  if constexpr (Leaf<T>) {
    return Outline(Outline::Kind::kLeaf, std::move(step));
  } else if constexpr (internal::StaticValue<T>) {
    return Outline(Outline::Kind::kStatic, std::move(step));
  } else {
    Outline out(Outline::Kind::kNode, std::move(step));
    internal::for_each_child(node, [&](const auto& child, std::string name) {
      out.append(outline(child, std::move(name)));
    });
    return out;
  }
}
size_t num_leaves(const Outline& outline);
// Appends the path of every leaf, each after `prefix`.
void append_leaf_paths(const Outline& outline, const std::string& prefix,
                       std::vector<std::string>& out);

template <class T>
size_t num_leaves(const T& node) {
  size_t n = 0;
  for_each_leaf(node, [&](const auto&) { ++n; });
  return n;
}

// Returns the leaves in order. (The result type depends on A, so that Array need not be complete
// before the call.)
template <class T, class A = Array>
std::vector<A> leaves(const T& node) {
  std::vector<A> out;
  for_each_leaf(node, [&](const Array& leaf) { out.push_back(leaf); });
  return out;
}

// Returns a copy of `like` whose leaves are `arrays`, in order.
template <class T, class Arrays>
T unflatten(const T& like, const Arrays& arrays) {
  T out = like;
  size_t i = 0;
  for_each_leaf(out, [&](Array& leaf) { leaf = arrays[i++]; });
  if (i != arrays.size()) internal::throw_leaves_differ(i, arrays.size());
  return out;
}

// Applies f to the leaves of one tree, or to corresponding leaves of several, and returns the tree
// of the results. Throws UserError if their structures differ.
template <class F, class T, class... Rest>
T map(F&& f, const T& first, const Rest&... rest) {
  std::string key, other;
  append_static_key(first, key);
  [[maybe_unused]] auto check = [&](const auto& r) {
    other.clear();
    append_static_key(r, other);
    if (key != other) internal::throw_structures_differ();
  };
  (check(rest), ...);
  std::array<std::vector<Array>, sizeof...(Rest)> others{leaves(rest)...};
  T out = first;
  size_t i = 0;
  for_each_leaf(out, [&](Array& leaf) {
    leaf = [&]<size_t... K>(std::index_sequence<K...>) {
      return f(std::as_const(leaf), others[K][i]...);
    }
    (std::index_sequence_for<Rest...>());
    ++i;
  });
  return out;
}

}  // namespace tree
}  // namespace tessera
