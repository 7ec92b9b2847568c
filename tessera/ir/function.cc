#include "tessera/ir/function.h"

#include "tessera/base/hash.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"

namespace tessera::ir {

Function::Function() = default;
Function::Function(const Function& other) = default;
Function::Function(Function&& other) noexcept = default;
Function& Function::operator=(const Function& other) = default;
Function& Function::operator=(Function&& other) noexcept = default;
Function::~Function() = default;

ValueId Function::add_value(Type type) {
  types.push_back(std::move(type));
  return static_cast<ValueId>(types.size()) - 1;
}

ValueId Function::add_input(Type type) {
  inputs.push_back(add_value(std::move(type)));
  return inputs.back();
}

const ValueIds& Function::add_op(const OpDef& def, OpParams params, ValueIds operands,
                                 std::span<const Type> results, std::string source) {
  return add_op(Op{.def = &def,
                   .params = std::move(params),
                   .operands = std::move(operands),
                   .source = std::move(source)},
                results);
}

const ValueIds& Function::add_op(Op op, std::span<const Type> results) {
  op.results.clear();
  for (const Type& type : results) op.results.push_back(add_value(type));
  ops.push_back(std::move(op));
  return ops.back().results;
}

std::vector<Type> Function::types_of(std::span<const ValueId> ids) const {
  std::vector<Type> out;
  out.reserve(ids.size());
  for (ValueId id : ids) out.push_back(types[id]);
  return out;
}

std::vector<std::vector<int>> Function::users() const {
  std::vector<std::vector<int>> out(types.size());
  for (int i = 0; i < static_cast<int>(ops.size()); ++i)
    for (ValueId v : ops[i].operands)
      if (out[v].empty() || out[v].back() != i) out[v].push_back(i);
  return out;
}

std::vector<int> Function::producers() const {
  std::vector<int> out(types.size(), -1);
  for (int i = 0; i < static_cast<int>(ops.size()); ++i)
    for (ValueId v : ops[i].results) out[v] = i;
  return out;
}

namespace {

// Returns numbers for all values, in the order of their definition, so that equal functions have
// equal numbers.
std::vector<int> canonical_numbers(const Function& f) {
  std::vector<int> number(f.types.size(), -1);
  int next = 0;
  for (ValueId v : f.inputs) number[v] = next++;
  for (const Op& op : f.ops)
    for (ValueId v : op.results) number[v] = next++;
  return number;
}

}  // namespace

bool operator==(const Function& a, const Function& b) {
  if (a.inputs.size() != b.inputs.size() || a.ops.size() != b.ops.size() ||
      a.outputs.size() != b.outputs.size())
    return false;
  const std::vector<int> na = canonical_numbers(a), nb = canonical_numbers(b);
  auto same_ids = [&](const auto& x, const auto& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (na[x[i]] != nb[y[i]]) return false;
    return true;
  };
  auto same_types = [&](const auto& x, const auto& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!(a.types[x[i]] == b.types[y[i]])) return false;
    return true;
  };
  if (!same_types(a.inputs, b.inputs)) return false;
  for (size_t i = 0; i < a.ops.size(); ++i) {
    const Op &p = a.ops[i], &q = b.ops[i];
    if (p.def != q.def || !same_ids(p.operands, q.operands) || !same_types(p.results, q.results) ||
        !(p.params == q.params))
      return false;
  }
  return same_ids(a.outputs, b.outputs);
}

size_t hash_value(const Function& f) {
  const std::vector<int> number = canonical_numbers(f);
  size_t seed = f.ops.size();
  for (ValueId v : f.inputs) seed = hash_combine(seed, hash_value(f.types[v]));
  for (const Op& op : f.ops) {
    seed = hash_combine(seed, std::hash<const void*>()(op.def));
    seed = hash_combine(seed, op.params.hash());
    for (ValueId v : op.operands) seed = hash_combine(seed, number[v]);
    for (ValueId v : op.results) seed = hash_combine(seed, hash_value(f.types[v]));
  }
  for (ValueId v : f.outputs) seed = hash_combine(seed, number[v]);
  return seed;
}

size_t hash_value(const FunctionRef& function) { return function ? hash_value(*function) : 0; }
bool equal_functions(const FunctionRef& a, const FunctionRef& b) {
  return a == b || (a && b && *a == *b);
}

Function remove_dead_ops(const Function& f) {
  std::vector<char> live(f.types.size(), 0), keep(f.ops.size(), 0);
  for (ValueId v : f.outputs) live[v] = 1;
  for (size_t i = f.ops.size(); i-- > 0;) {
    const Op& op = f.ops[i];
    bool needed = false;
    for (ValueId v : op.results) needed = needed || live[v];
    if (!needed && !has_effect(op)) continue;
    keep[i] = 1;
    for (ValueId v : op.operands) live[v] = 1;
  }
  Function out;
  out.name = f.name;
  std::vector<ValueId> renumbered(f.types.size(), -1);
  for (ValueId v : f.inputs) renumbered[v] = out.add_input(f.types[v]);
  for (size_t i = 0; i < f.ops.size(); ++i) {
    if (!keep[i]) continue;
    Op op = f.ops[i];
    for (ValueId& v : op.operands) v = renumbered[v];
    for (ValueId& v : op.results) v = renumbered[v] = out.add_value(f.types[v]);
    out.ops.push_back(std::move(op));
  }
  for (ValueId v : f.outputs) out.outputs.push_back(renumbered[v]);
  return out;
}

}  // namespace tessera::ir
