// Tuples of ModuleBuilder. No op has them: a tuple is only a name for its parts.
#include <algorithm>

#include "tessera/interchange/module_builder.h"

namespace tessera::interchange {

void append_types(const TypeTree& tree, std::vector<Type>& out) {
  if (!tree.is_tuple) out.push_back(tree.type);
  for (const TypeTree& part : tree.parts) append_types(part, out);
}

ValueId ModuleBuilder::new_tuple(std::vector<ValueId> parts, size_t offset) {
  if (tuples_.size() > (1 << 20)) error_at(offset, "expected at most 2^20 tuples");
  tuples_.push_back(std::move(parts));
  return kFirstTuple - static_cast<ValueId>(tuples_.size() - 1);
}

ValueId ModuleBuilder::tuple_part(ValueId tuple, int64_t index, size_t offset) const {
  if (!is_tuple(tuple)) error_at(offset, "expected a tuple, got another value");
  const std::vector<ValueId>& parts = tuples_[static_cast<size_t>(kFirstTuple - tuple)];
  if (index < 0 || index >= static_cast<int64_t>(parts.size()))
    error_at(offset,
             fmt::format("expected the number of one of the {} parts of the tuple", parts.size()));
  return parts[static_cast<size_t>(index)];
}

void ModuleBuilder::append_leaves(ValueId value, std::vector<ValueId>& out) const {
  if (!is_tuple(value)) return out.push_back(value);
  for (ValueId part : tuples_[static_cast<size_t>(kFirstTuple - value)]) append_leaves(part, out);
}

ValueId ModuleBuilder::import_tree(Scope& scope, ValueId outer, const std::string& name,
                                   size_t offset) {
  if (!is_tuple(outer)) return import_value(scope, outer, name, offset);
  std::vector<ValueId> parts;
  for (ValueId part : std::vector(tuples_[static_cast<size_t>(kFirstTuple - outer)]))
    parts.push_back(import_tree(scope, part, name, offset));
  return new_tuple(std::move(parts), offset);
}

ValueId ModuleBuilder::grouped(const TypeTree& tree, std::vector<ValueId>::const_iterator& next,
                               size_t offset) {
  if (!tree.is_tuple) return *next++;
  std::vector<ValueId> parts;
  for (const TypeTree& part : tree.parts) parts.push_back(grouped(part, next, offset));
  return new_tuple(std::move(parts), offset);
}

std::vector<ValueId> ModuleBuilder::grouped(const std::vector<TypeTree>& trees,
                                            std::vector<ValueId> leaves, size_t offset) {
  if (std::none_of(trees.begin(), trees.end(), [](const TypeTree& tree) { return tree.is_tuple; }))
    return leaves;
  std::vector<ValueId> out;
  auto next = leaves.cbegin();
  for (const TypeTree& tree : trees) out.push_back(grouped(tree, next, offset));
  return out;
}

bool ModuleBuilder::matches(const Scope& scope, ValueId value, const TypeTree& tree) const {
  std::vector<ValueId> leaves;
  std::vector<Type> types;
  append_leaves(value, leaves);
  append_types(tree, types);
  bool same = leaves.size() == types.size() && is_tuple(value) == tree.is_tuple;
  for (size_t i = 0; same && i < leaves.size(); ++i)
    same = fits(types[i], scope.function.type(leaves[i]));
  return same;
}

ValueId ModuleBuilder::add_argument(Scope& scope, FunctionEntry& entry, const TypeTree& tree,
                                    const std::string& name, const TextAttr::Entries& attributes,
                                    size_t offset) {
  if (tree.is_tuple) {
    std::vector<ValueId> parts;
    for (const TypeTree& part : tree.parts)
      parts.push_back(add_argument(scope, entry, part, fmt::format("{}.{}", name, parts.size()),
                                   attributes, offset));
    return new_tuple(std::move(parts), offset);
  }
  const size_t argument = entry.names.size();
  Type type = argument_type(tree.type, name, offset, entry);
  entry.names.push_back(name);
  const ValueId input = scope.function.add_input(
      with_argument_attributes(std::move(type), attributes, offset, scope, entry));
  return argument_value(scope, input, argument, offset);
}

}  // namespace tessera::interchange
