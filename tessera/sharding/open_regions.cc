#include "tessera/sharding/open_regions.h"

#include "tessera/ir/control_flow.h"

namespace tessera::sharding {
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
  // Opens a region. `from` has the values that enter its inputs.
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

  std::vector<Level> open_op(const Op& op) {
    if (!is_control_flow(op)) return {};
    const ControlFlow flow = control_flow_of(op);
    const std::span<const ValueId> entering =
        std::span<const ValueId>(op.operands).subspan(flow.first_entering());
    std::vector<Level> regions;
    for (const FunctionRef& region : flow.regions)
      regions.push_back(open_region(*region, entering.first(region->inputs.size())));
    for (size_t k = 0; k < entering.size(); ++k) {
      std::vector<ValueId> same = {entering[k]};
      for (const Level& region : regions)
        if (k < region.function->inputs.size()) same.push_back(input(region, k));
      if (k >= flow.num_consts && !flow.is_scanned(k)) {
        same.push_back(output(regions.back(), k - flow.num_consts));
        same.push_back(op.results[k - flow.num_consts]);
      }
      out_.ties.push_back({std::move(same), flow.is_scanned(k)});
    }
    for (size_t r = flow.num_carry; r < op.results.size(); ++r) {
      std::vector<ValueId> same = {op.results[r]};
      for (size_t k = 0; k < regions.size(); ++k)
        if (!flow.decides(k)) same.push_back(output(regions[k], r));
      out_.ties.push_back({std::move(same), flow.is_stacked(r)});
    }
    return regions;
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

}  // namespace tessera::sharding
