// PrefixTree: one value for a whole argument, or a list of them for its children: in_specs,
// out_specs, in_shardings.
//
//   {P(), P("data", None)}                 one spec for each of two arguments, whatever trees these
//   are
//   {{P("x"), P("y")}, P()}                the first argument is a pair, each with its own
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <vector>

#include "tessera/base/tree.h"

namespace tessera {

template <class T>
class PrefixTree {
 public:
  PrefixTree() = default;
  PrefixTree(T value) : value_(std::move(value)) {}
  // What makes a T: 0 and None for vmap's axes.
  template <class U>
  requires(std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, T> &&
           !std::same_as<std::remove_cvref_t<U>, PrefixTree>) PrefixTree(U&& value)
      : value_(T(std::forward<U>(value))) {}
  PrefixTree(std::initializer_list<PrefixTree> children) : children_(children) {}
  PrefixTree(std::vector<PrefixTree> children) : children_(std::move(children)) {}

  const std::optional<T>& value() const { return value_; }
  const std::vector<PrefixTree>& children() const { return children_; }

  // Appends one value a leaf of `node`. UserError naming `op` and `what` where the trees do not
  // fit.
  template <class Node>
  void flatten(const Node& node, std::string_view op, const std::string& what,
               std::vector<T>& out) const {
    if (value_) {
      out.insert(out.end(), tree::num_leaves(node), *value_);
      return;
    }
    if constexpr (tree::Leaf<Node>) {
      value_error(op, "expected one value for {}, an array, got a list of {}", what,
                  children_.size());
    } else if constexpr (tree::internal::StaticValue<Node>) {
      return;
    } else {
      size_t count = 0;
      tree::internal::for_each_unnamed_child(node, [&](const auto&) { ++count; });
      if (count != children_.size())
        value_error(op,
                    "expected {} values for {}, one a child, got {}; give one for the whole or one "
                    "for each",
                    count, what, children_.size());
      size_t i = 0;
      tree::internal::for_each_child(node, [&](const auto& child, const std::string& name) {
        children_[i++].flatten(child, op, what + name, out);
      });
    }
  }

 private:
  std::optional<T> value_;
  std::vector<PrefixTree> children_;
};

// The values of a list of arguments, or of results.
template <class T, class... Nodes>
std::vector<T> flatten_prefix(const std::vector<PrefixTree<T>>& prefix, std::string_view op,
                              const char* what, const Nodes&... nodes) {
  if (prefix.size() != sizeof...(Nodes))
    value_error(op, "expected {} entries in {}, one {}, got {}", sizeof...(Nodes), what,
                sizeof...(Nodes) == 1 ? "value" : "for each value", prefix.size());
  std::vector<T> out;
  [[maybe_unused]] size_t i = 0;
  ((prefix[i].flatten(nodes, op, fmt::format("{}[{}]", what, i), out), ++i), ...);
  return out;
}

}  // namespace tessera
