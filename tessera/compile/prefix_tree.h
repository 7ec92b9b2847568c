// PrefixTree: one value for a whole argument, or a list of values for its children. PrefixList: the
// PrefixTrees of all arguments, or results: in_specs, out_specs, in_shardings.
//
//   {P(), P("data", None)}     one spec for each of two arguments, whatever trees these are
//   {{P("x"), P("y")}, P()}    the first argument is a pair, each with its own
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera {

template <class T>
class PrefixTree {
 public:
  PrefixTree();
  PrefixTree(T value);
  // True for other types from which a T can be made: for vmap's axes, 0 and None.
  template <class U>
  requires(std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, T> &&
           !std::same_as<std::remove_cvref_t<U>, PrefixTree>) PrefixTree(U&& value)
      : PrefixTree(T(std::forward<U>(value))) {}
  PrefixTree(std::initializer_list<PrefixTree> children);
  PrefixTree(std::vector<PrefixTree> children);
  PrefixTree(const PrefixTree&);
  PrefixTree(PrefixTree&&) noexcept;
  PrefixTree& operator=(const PrefixTree&);
  PrefixTree& operator=(PrefixTree&&) noexcept;
  ~PrefixTree();

  const std::optional<T>& value() const { return value_; }
  const std::vector<PrefixTree>& children() const { return children_; }

  // Appends one value for each leaf of the tree. Throws a UserError that names `op` and `what` if
  // this prefix does not fit the tree.
  void flatten(const tree::Outline& outline, std::string_view op, const std::string& what,
               std::vector<T>& out) const;

 private:
  std::optional<T> value_;
  std::vector<PrefixTree> children_;
};

// The values for all arguments, or for all results: one value for all, or a list with an entry for
// each.
//
//   .in_specs = P("x")              for every argument
//   .in_specs = {P("x"), P()}       for two arguments
template <class T>
class PrefixList {
 public:
  PrefixList();
  template <class U>
  requires(std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, PrefixList>)
      PrefixList(U&& value)
      : PrefixList(for_all(T(std::forward<U>(value)))) {}
  PrefixList(std::initializer_list<PrefixTree<T>> entries);
  PrefixList(std::vector<PrefixTree<T>> entries);
  PrefixList(const PrefixList&);
  PrefixList(PrefixList&&) noexcept;
  PrefixList& operator=(const PrefixList&);
  PrefixList& operator=(PrefixList&&) noexcept;
  ~PrefixList();

  bool empty() const;
  const std::vector<PrefixTree<T>>& entries() const { return entries_; }
  // Returns one value for each leaf of the arguments. Throws a UserError that names `op` and `what`
  // if the list does not fit.
  std::vector<T> of_arguments(std::string_view op, const char* what,
                              std::span<const tree::Outline> arguments) const;
  // Returns one value for each leaf of the result. A list with one entry is for the whole result.
  std::vector<T> of_result(std::string_view op, const char* what,
                           const tree::Outline& result) const;

 private:
  static PrefixList for_all(T value);

  std::vector<PrefixTree<T>> entries_;
  bool for_all_ = false;
};

// This template is compiled once, in prefix_tree.cc.
extern template class PrefixTree<NamedSharding>;
extern template class PrefixList<NamedSharding>;
extern template class PrefixTree<PartitionSpec>;
extern template class PrefixList<PartitionSpec>;

}  // namespace tessera
