// PrefixTree: one value for a whole argument, or a list of them for its children. PrefixList: those
// of all arguments, or results: in_specs, out_specs, in_shardings.
//
//   {P(), P("data", None)}     one spec for each of two arguments, whatever trees these are
//   {{P("x"), P("y")}, P()}    the first argument is a pair, each with its own
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

// The values of arguments or of results: one for all of them, or a list of one each.
//
//   .in_specs = P("x")              of every argument
//   .in_specs = {P("x"), P()}       of two arguments
template <class T>
class PrefixList {
 public:
  PrefixList() = default;
  template <class U>
  requires(std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, PrefixList>)
      PrefixList(U&& value)
      : entries_{PrefixTree<T>(T(std::forward<U>(value)))}, for_all_(true) {}
  PrefixList(std::initializer_list<PrefixTree<T>> entries) : entries_(entries) {}
  PrefixList(std::vector<PrefixTree<T>> entries) : entries_(std::move(entries)) {}

  bool empty() const { return entries_.empty(); }
  const std::vector<PrefixTree<T>>& entries() const { return entries_; }
  // One value a leaf of the arguments. UserError naming `op` and `what` where the list does not
  // fit.
  template <class... Nodes>
  std::vector<T> of_arguments(std::string_view op, const char* what, const Nodes&... nodes) const {
    std::vector<T> out;
    if (for_all_) {
      (entries_[0].flatten(nodes, op, what, out), ...);
      return out;
    }
    if (entries_.size() != sizeof...(Nodes))
      value_error(op, "expected {} entries in {}, one {}, got {}", sizeof...(Nodes), what,
                  sizeof...(Nodes) == 1 ? "value" : "for each value", entries_.size());
    [[maybe_unused]] size_t i = 0;
    ((entries_[i].flatten(nodes, op, fmt::format("{}[{}]", what, i), out), ++i), ...);
    return out;
  }

  // One value a leaf of the result, of which a list of one entry is that of the whole.
  template <class Node>
  std::vector<T> of_result(std::string_view op, const char* what, const Node& node) const {
    if (entries_.size() == 1) return of_arguments(op, what, node);
    std::vector<T> out;
    PrefixTree<T>(entries_).flatten(node, op, what, out);
    return out;
  }

 private:
  std::vector<PrefixTree<T>> entries_;
  bool for_all_ = false;
};

}  // namespace tessera
