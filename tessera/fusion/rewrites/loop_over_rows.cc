#include "tessera/fusion/rewrites/loop_over_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/control/control_flow_ops.h"
#include "tessera/fusion/rewrites/row_part.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/sharding/propagate.h"
#include "tessera/spmd/partition.h"

namespace tessera::fusion {
namespace {

// Returns whether the op depends on the position of the tile, or on other tiles.
bool depends_on_position(const Op& op) {
  return holds_within(op, [](const Op& inner) {
    const auto* collective = std::get_if<CollectiveLowering>(&inner.def->lower);
    return collective && collective->kind != CollectiveKind::kCast;
  });
}

// Returns the function of a tile without the axis that the tiles are numbered by.
Function without_axis(const Function& f) {
  Function out;
  out.name = f.name;
  ValueIds inputs;
  for (ValueId v : f.inputs)
    inputs.push_back(out.add_input({.dtype = f.type(v).dtype, .shape = f.type(v).shape}));
  const ValueIds outputs = append_ops(f, inputs, [&](const Op& op, ValueIds operands) -> ValueIds {
    if (std::holds_alternative<CollectiveLowering>(op.def->lower)) return operands;
    const OpParams params = map_control_regions(op, without_axis);
    const std::vector<Type> types = infer_types(*op.def, out.types_of(operands), params);
    return out.add_op(*op.def, params, std::move(operands), types, op.source);
  });
  out.outputs.assign(outputs.begin(), outputs.end());
  return out;
}

class RowLoop {
 public:
  RowLoop(const Function& f, const RowPart& part) : f_(f), part_(part), map_(f.types.size(), -1) {}

  // Returns the function with the loop; nullopt if the part cannot be computed in tiles.
  std::optional<Function> make() {
    std::optional<Function> body = tile();
    if (!body) return std::nullopt;
    out_.name = f_.name;
    for (ValueId v : f_.inputs) map_[static_cast<size_t>(v)] = out_.add_input(f_.type(v));
    const std::vector<bool> first = needed_by_part();
    append([&](size_t i) { return first[i]; });
    append_loop(std::move(*body));
    append([&](size_t i) { return !first[i] && !part_.inside[i]; });
    for (ValueId v : f_.outputs) out_.outputs.push_back(map_[static_cast<size_t>(v)]);
    return remove_dead_ops(out_);
  }

 private:
  bool is_divided(ValueId v) const { return part_.row_dim[static_cast<size_t>(v)] == 0; }

  // Returns the part as a function of all rows, with shardings over the tiles.
  Function part_function(ShardingRequest& request) const {
    Function g;
    std::vector<ValueId> map(f_.types.size(), -1);
    const NamedSharding whole(part_.mesh, P()), tiles(part_.mesh, P("rows"));
    for (ValueId v : part_.inputs) {
      map[static_cast<size_t>(v)] = g.add_input(f_.type(v));
      request.inputs.emplace_back(is_divided(v) ? tiles : whole);
    }
    for (size_t i = 0; i < f_.ops.size(); ++i) {
      const Op& op = f_.ops[i];
      if (!part_.inside[i] && !is_repeated(f_, op)) continue;
      ValueIds operands;
      for (ValueId v : op.operands) operands.push_back(map[static_cast<size_t>(v)]);
      if (std::find(operands.begin(), operands.end(), -1) != operands.end()) continue;
      const ValueIds& results =
          g.add_op(*op.def, op.params, std::move(operands), f_.types_of(op.results), op.source);
      for (size_t r = 0; r < results.size(); ++r)
        map[static_cast<size_t>(op.results[r])] = results[r];
    }
    for (ValueId v : part_.outputs) {
      g.outputs.push_back(map[static_cast<size_t>(v)]);
      request.outputs.emplace_back(tiles);
    }
    return remove_dead_ops(g);
  }

  // Returns the function that computes one tile.
  std::optional<Function> tile() const {
    ShardingRequest request;
    const Function g = part_function(request);
    const spmd::Partitioned local = spmd::partition(
        sharding::propagate(sharding::pin_shardings(g, part_.mesh, request), part_.mesh, request),
        part_.mesh);
    if (!local.collectives.empty() ||
        std::any_of(local.function.ops.begin(), local.function.ops.end(), depends_on_position))
      return std::nullopt;
    Function body = without_axis(local.function);
    for (size_t k = 0; k < part_.outputs.size(); ++k)
      if (body.type(body.outputs[k]).shape != tile_shape(part_.outputs[k])) return std::nullopt;
    return body;
  }

  Shape tile_shape(ValueId v) const {
    Shape shape = f_.type(v).shape;
    shape[0] /= part_.tiles;
    return shape;
  }

  std::vector<bool> needed_by_part() const {
    const std::vector<int> producers = f_.producers();
    std::vector<bool> needed(f_.ops.size(), false);
    const auto need = [&](ValueId v) {
      const int from = producers[static_cast<size_t>(v)];
      if (from >= 0) needed[static_cast<size_t>(from)] = true;
    };
    for (ValueId v : part_.inputs) need(v);
    for (size_t i = f_.ops.size(); i-- > 0;)
      if (needed[i])
        for (ValueId v : f_.ops[i].operands) need(v);
    return needed;
  }

  template <class Chosen>
  void append(const Chosen& chosen) {
    for (size_t i = 0; i < f_.ops.size(); ++i) {
      if (!chosen(i)) continue;
      const Op& op = f_.ops[i];
      ValueIds operands;
      for (ValueId v : op.operands) operands.push_back(map_[static_cast<size_t>(v)]);
      const ValueIds& results =
          out_.add_op(*op.def, op.params, std::move(operands), f_.types_of(op.results), op.source);
      for (size_t r = 0; r < results.size(); ++r)
        map_[static_cast<size_t>(op.results[r])] = results[r];
    }
  }

  ValueId reshaped(ValueId v, const Shape& shape) {
    const Type type{.dtype = out_.type(v).dtype, .shape = shape};
    return out_.add_op(ops::reshape_op, ops::ReshapeParams{shape}, {v}, std::span(&type, 1))[0];
  }

  void append_loop(Function body) {
    const auto tiled = [&](ValueId v) {
      Shape shape = tile_shape(v);
      shape.insert(shape.begin(), part_.tiles);
      return shape;
    };
    // A scan takes constants before scanned operands.
    ops::ScanParams params{.length = part_.tiles};
    ValueIds operands, scanned;
    std::vector<ValueId> inputs, rows;
    for (size_t k = 0; k < part_.inputs.size(); ++k) {
      const ValueId v = part_.inputs[k], value = map_[static_cast<size_t>(v)];
      if (is_divided(v)) {
        scanned.push_back(reshaped(value, tiled(v)));
        rows.push_back(body.inputs[k]);
      } else {
        operands.push_back(value);
        inputs.push_back(body.inputs[k]);
      }
    }
    params.num_consts = static_cast<int64_t>(operands.size());
    operands.insert(operands.end(), scanned.begin(), scanned.end());
    inputs.insert(inputs.end(), rows.begin(), rows.end());
    body.inputs = std::move(inputs);
    std::vector<Type> types;
    for (ValueId v : part_.outputs) types.push_back({.dtype = f_.type(v).dtype, .shape = tiled(v)});
    params.body = std::make_shared<const Function>(std::move(body));
    const ValueIds results = out_.add_op(ops::scan_op, params, std::move(operands), types);
    for (size_t k = 0; k < results.size(); ++k)
      map_[static_cast<size_t>(part_.outputs[k])] =
          reshaped(results[k], f_.type(part_.outputs[k]).shape);
  }

  const Function& f_;
  const RowPart& part_;
  std::vector<ValueId> map_;  // from values of f_ to those of out_
  Function out_;
};

}  // namespace

Function loop_over_rows(const Function& function) {
  if (const std::optional<RowPart> part = find_row_part(function))
    if (std::optional<Function> out = RowLoop(function, *part).make()) return std::move(*out);
  return function;
}

}  // namespace tessera::fusion
