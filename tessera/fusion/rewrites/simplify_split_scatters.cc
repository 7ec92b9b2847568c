#include "tessera/fusion/rewrites/simplify_split_scatters.h"

#include <algorithm>

#include "tessera/ops/indexing/scatter.h"

namespace tessera::fusion {

using namespace ops;

namespace {

// The ops of a body that some of its results need, and the arrays whose elements these ops read.
struct Needs {
  std::vector<char> ops, arrays;
};

Needs needs_of(const Function& body, const std::vector<size_t>& results) {
  const size_t n = body.outputs.size();
  Needs out{.ops = std::vector<char>(body.ops.size(), 0), .arrays = std::vector<char>(n, 0)};
  std::vector<char> values(body.types.size(), 0);
  for (size_t r : results) {
    values[static_cast<size_t>(body.outputs[r])] = 1;
    out.arrays[r] = 1;
  }
  for (size_t i = body.ops.size(); i-- > 0;) {
    const Op& op = body.ops[i];
    out.ops[i] = std::any_of(op.results.begin(), op.results.end(),
                             [&](ValueId v) { return values[static_cast<size_t>(v)] != 0; });
    if (!out.ops[i]) continue;
    for (ValueId v : op.operands) values[static_cast<size_t>(v)] = 1;
  }
  for (size_t k = 0; k < body.inputs.size(); ++k)
    if (values[static_cast<size_t>(body.inputs[k])]) out.arrays[k % n] = 1;
  return out;
}

// Returns groups of arrays such that the body mixes only arrays of one group, each in ascending
// order.
std::vector<std::vector<size_t>> groups_of(const Function& body) {
  const size_t n = body.outputs.size();
  std::vector<size_t> group(n);
  for (size_t r = 0; r < n; ++r) group[r] = r;
  for (size_t r = 0; r < n; ++r) {
    const Needs needs = needs_of(body, {r});
    for (size_t k = 0; k < n; ++k)
      if (needs.arrays[k]) std::replace(group.begin(), group.end(), group[k], group[r]);
  }
  std::vector<std::vector<size_t>> out;
  for (size_t g = 0; g < n; ++g) {
    std::vector<size_t> members;
    for (size_t k = 0; k < n; ++k)
      if (group[k] == g) members.push_back(k);
    if (!members.empty()) out.push_back(std::move(members));
  }
  return out;
}

FunctionRef body_of(const Function& body, const std::vector<size_t>& group) {
  const size_t n = body.outputs.size();
  Function out;
  out.name = body.name;
  std::vector<ValueId> number(body.types.size(), -1);
  const auto renumbered = [&](ValueId v) { return number[static_cast<size_t>(v)]; };
  for (const size_t first : {size_t{0}, n})
    for (size_t k : group) {
      const ValueId v = body.inputs[first + k];
      number[static_cast<size_t>(v)] = out.add_input(body.type(v));
    }
  const Needs needs = needs_of(body, group);
  for (size_t i = 0; i < body.ops.size(); ++i) {
    if (!needs.ops[i]) continue;
    Op op = body.ops[i];
    for (ValueId& v : op.operands) v = renumbered(v);
    const ValueIds results = out.add_op(op, body.types_of(op.results));
    for (size_t r = 0; r < results.size(); ++r)
      number[static_cast<size_t>(body.ops[i].results[r])] = results[r];
  }
  for (size_t k : group) out.outputs.push_back(renumbered(body.outputs[k]));
  return std::make_shared<const Function>(std::move(out));
}

}  // namespace

std::vector<ScatterPart> split_scatter(const Op& op) {
  if (op.def != &scatter_op) return {};
  const size_t n = scatter_arrays(op.operands.size());
  if (n == 1) return {};
  const auto& params = op.params.as<ScatterParams>();
  const std::vector<std::vector<size_t>> groups = groups_of(*params.body);
  if (groups.size() == 1) return {};
  std::vector<ScatterPart> out;
  for (const std::vector<size_t>& group : groups) {
    ScatterParams p = params;
    p.body = body_of(*params.body, group);
    if (group.size() == 1) p.kind = classify_scatter_body(*p.body);
    if (p.kind != ScatterKind::kCustom) p.body = nullptr;
    ScatterPart part{.op = {.def = op.def, .params = std::move(p), .source = op.source},
                     .results = group};
    for (size_t k : group) part.op.operands.push_back(op.operands[k]);
    part.op.operands.push_back(op.operands[n]);
    for (size_t k : group) part.op.operands.push_back(op.operands[n + 1 + k]);
    part.op.reason = op.reason;
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace tessera::fusion
