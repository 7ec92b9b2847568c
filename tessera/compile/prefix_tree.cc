#include "tessera/compile/prefix_tree.h"

#include "tessera/base/format.h"
#include "tessera/compile/mapped_axis.h"
#include "tessera/ir/format.h"

namespace tessera {

template <class T>
PrefixTree<T>::PrefixTree() = default;
template <class T>
PrefixTree<T>::PrefixTree(T value) : value_(std::move(value)) {}
template <class T>
PrefixTree<T>::PrefixTree(std::initializer_list<PrefixTree> children) : children_(children) {}
template <class T>
PrefixTree<T>::PrefixTree(std::vector<PrefixTree> children) : children_(std::move(children)) {}
template <class T>
PrefixTree<T>::PrefixTree(const PrefixTree&) = default;
template <class T>
PrefixTree<T>::PrefixTree(PrefixTree&&) noexcept = default;
template <class T>
PrefixTree<T>& PrefixTree<T>::operator=(const PrefixTree&) = default;
template <class T>
PrefixTree<T>& PrefixTree<T>::operator=(PrefixTree&&) noexcept = default;
template <class T>
PrefixTree<T>::~PrefixTree() = default;

template <class T>
PrefixList<T>::PrefixList() = default;
template <class T>
PrefixList<T>::PrefixList(std::initializer_list<PrefixTree<T>> entries) : entries_(entries) {}
template <class T>
PrefixList<T>::PrefixList(std::vector<PrefixTree<T>> entries) : entries_(std::move(entries)) {}
template <class T>
PrefixList<T>::PrefixList(const PrefixList&) = default;
template <class T>
PrefixList<T>::PrefixList(PrefixList&&) noexcept = default;
template <class T>
PrefixList<T>& PrefixList<T>::operator=(const PrefixList&) = default;
template <class T>
PrefixList<T>& PrefixList<T>::operator=(PrefixList&&) noexcept = default;
template <class T>
PrefixList<T>::~PrefixList() = default;

template <class T>
PrefixList<T> PrefixList<T>::for_all(T value) {
  PrefixList out;
  out.entries_.emplace_back(std::move(value));
  out.for_all_ = true;
  return out;
}

template <class T>
bool PrefixList<T>::empty() const {
  return entries_.empty();
}

template <class T>
void PrefixTree<T>::flatten(const tree::Outline& outline, std::string_view op,
                            const std::string& what, std::vector<T>& out) const {
  if (value_) {
    out.insert(out.end(), tree::num_leaves(outline), *value_);
    return;
  }
  switch (outline.kind) {
    case tree::Outline::Kind::kLeaf:
      value_error(op, "expected one value for {}, an array, got a list of {}", what,
                  children_.size());
    case tree::Outline::Kind::kStatic:
      return;
    case tree::Outline::Kind::kNode:
      break;
  }
  const size_t count = outline.children.size();
  if (count != children_.size())
    value_error(op,
                "expected {} values for {}, one a child, got {}; give one for the whole or one "
                "for each",
                count, what, children_.size());
  for (size_t i = 0; i < count; ++i)
    children_[i].flatten(outline.children[i], op, what + outline.children[i].step, out);
}

template <class T>
std::vector<T> PrefixList<T>::of_arguments(std::string_view op, const char* what,
                                           std::span<const tree::Outline> arguments) const {
  std::vector<T> out;
  if (for_all_) {
    for (const tree::Outline& argument : arguments) entries_[0].flatten(argument, op, what, out);
    return out;
  }
  if (entries_.size() != arguments.size())
    value_error(op, "expected {} entries in {}, one {}, got {}", arguments.size(), what,
                arguments.size() == 1 ? "value" : "for each value", entries_.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    entries_[i].flatten(arguments[i], op, fmt::format("{}[{}]", what, i), out);
  return out;
}

template <class T>
std::vector<T> PrefixList<T>::of_result(std::string_view op, const char* what,
                                        const tree::Outline& result) const {
  if (entries_.size() == 1) return of_arguments(op, what, std::span(&result, 1));
  std::vector<T> out;
  PrefixTree<T>(entries_).flatten(result, op, what, out);
  return out;
}

template class PrefixTree<NamedSharding>;
template class PrefixList<NamedSharding>;
template class PrefixTree<PartitionSpec>;
template class PrefixList<PartitionSpec>;
template class PrefixTree<MappedAxis>;
template class PrefixList<MappedAxis>;

}  // namespace tessera
