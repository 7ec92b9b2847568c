#include "tessera/sharding/open_regions.h"

#include "tessera/ops/control_flow.h"

namespace tessera {
namespace {

using Level = OpenedRegions::Level;

class Opener {
 public:
  explicit Opener(OpenedRegions& out) : out_(out) {}

  Level open(const Function& f, std::vector<ValueId> values) {
    Level level{&f, std::move(values), {}};
    for (const Op& op : f.ops) {
      Op copy = op;
      for (ValueId& v : copy.operands) v = level.values[v];
      for (ValueId& v : copy.results) v = level.values[v];
      level.regions.push_back(open_op(copy));
      out_.flat.ops.push_back(std::move(copy));
    }
    return level;
  }

 private:
  std::vector<Level> open_op(const Op& op) {
    if (op.def == &scan_op) return open_scan(op);
    if (op.def == &while_op) return open_while(op);
    if (op.def == &case_op) return open_case(op);
    return {};
  }

  // A region whose inputs are entered by `from`.
  Level open_region(const Function& f, std::span<const ValueId> from) {
    std::vector<ValueId> values;
    for (const Type& type : f.types) {
      values.push_back(out_.flat.add_value(type));
      out_.source.push_back(-1);
    }
    for (size_t k = 0; k < from.size(); ++k) out_.source[values[f.inputs[k]]] = from[k];
    return open(f, std::move(values));
  }
  static ValueId input(const Level& level, size_t k) {
    return level.values[level.function->inputs[k]];
  }
  static ValueId output(const Level& level, size_t k) {
    return level.values[level.function->outputs[k]];
  }
  void tie(std::vector<ValueId> values, bool first_is_stacked = false) {
    std::vector<char> stacked(values.size(), false);
    stacked[0] = first_is_stacked;
    out_.ties.push_back({std::move(values), std::move(stacked)});
  }

  std::vector<Level> open_scan(const Op& op) {
    const auto& p = op.params.as<ScanParams>();
    const auto consts = static_cast<size_t>(p.num_consts),
               carries = static_cast<size_t>(p.num_carry);
    Level body = open_region(*p.body, op.operands);
    for (size_t k = 0; k < consts; ++k) tie({op.operands[k], input(body, k)});
    for (size_t c = 0; c < carries; ++c)
      tie({op.operands[consts + c], input(body, consts + c), output(body, c), op.results[c]});
    for (size_t k = consts + carries; k < op.operands.size(); ++k)
      tie({op.operands[k], input(body, k)}, true);
    for (size_t r = carries; r < op.results.size(); ++r)
      tie({op.results[r], output(body, r)}, true);
    std::vector<Level> out;
    out.push_back(std::move(body));
    return out;
  }

  std::vector<Level> open_while(const Op& op) {
    const auto& p = op.params.as<WhileParams>();
    std::vector<Level> out;
    out.push_back(open_region(*p.cond, op.operands));
    out.push_back(open_region(*p.body, op.operands));
    for (size_t c = 0; c < op.operands.size(); ++c)
      tie({op.operands[c], input(out[0], c), input(out[1], c), output(out[1], c), op.results[c]});
    return out;
  }

  std::vector<Level> open_case(const Op& op) {
    const std::span<const ValueId> from(op.operands.begin() + 1, op.operands.end());
    std::vector<Level> out;
    for (const FunctionRef& branch : op.params.as<CaseParams>().branches)
      out.push_back(open_region(*branch, from));
    for (size_t k = 0; k < from.size(); ++k) {
      std::vector<ValueId> values = {from[k]};
      for (const Level& branch : out) values.push_back(input(branch, k));
      tie(std::move(values));
    }
    for (size_t r = 0; r < op.results.size(); ++r) {
      std::vector<ValueId> values = {op.results[r]};
      for (const Level& branch : out) values.push_back(output(branch, r));
      tie(std::move(values));
    }
    return out;
  }

  OpenedRegions& out_;
};

Function close(const Level& level, const Function& flat) {
  Function out = *level.function;
  for (size_t v = 0; v < out.types.size(); ++v)
    out.types[v].sharding = flat.types[level.values[v]].sharding;
  for (size_t i = 0; i < out.ops.size(); ++i) {
    if (level.regions[i].empty()) continue;
    std::vector<FunctionRef> regions;
    for (const Level& region : level.regions[i])
      regions.push_back(std::make_shared<const Function>(close(region, flat)));
    out.ops[i].params = with_control_regions(out.ops[i], std::move(regions));
  }
  return out;
}

}  // namespace

OpenedRegions open_regions(const Function& f) {
  OpenedRegions out;
  out.flat.name = f.name;
  out.flat.types = f.types;
  out.flat.inputs = f.inputs;
  out.flat.outputs = f.outputs;
  out.source.assign(f.types.size(), -1);
  std::vector<ValueId> own(f.types.size());
  for (size_t v = 0; v < own.size(); ++v) own[v] = static_cast<ValueId>(v);
  out.top = Opener(out).open(f, std::move(own));
  return out;
}

Function close_regions(const OpenedRegions& opened) { return close(opened.top, opened.flat); }

}  // namespace tessera
