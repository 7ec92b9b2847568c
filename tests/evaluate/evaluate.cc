#include "tests/evaluate/evaluate.h"

#include <algorithm>
#include <cstring>

#include "tessera/control/control.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"

namespace tessera {

using namespace ops;

namespace {

// Copies the block of `shape` between two row-major arrays: element `from_start` + i of `from` to
// `to_start` + i of `to`.
void copy_block(const Literal& from, const Dims& from_start, Literal& to, const Dims& to_start,
                const Shape& shape) {
  if (shape.elements() == 0) return;
  const int64_t rank = shape.rank(), item = itemsize(from.dtype());
  const Dims from_strides = row_major_strides(from.shape()),
             to_strides = row_major_strides(to.shape());
  std::byte* out = to.mutable_raw();
  const int64_t row = rank == 0 ? 1 : shape[rank - 1];
  Dims index(rank, 0);
  while (true) {
    int64_t source = 0, target = 0;
    for (int64_t d = 0; d < rank; ++d) {
      source += (from_start[d] + index[d]) * from_strides[d];
      target += (to_start[d] + index[d]) * to_strides[d];
    }
    std::memcpy(out + target * item, from.raw() + source * item, static_cast<size_t>(row * item));
    int64_t d = rank - 2;
    while (d >= 0 && ++index[d] == shape[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

Dims block_start(const Dims& coordinates, const Shape& shape) {
  Dims start = coordinates;
  for (size_t d = 0; d < shape.size(); ++d) start[d] *= shape[d];
  return start;
}

class Evaluator {
 public:
  explicit Evaluator(Mesh mesh) : mesh_(std::move(mesh)), devices_(mesh_.size()) {}

  std::vector<DeviceLiterals> run(const Function& f, const std::vector<DeviceLiterals>& inputs) {
    TESSERA_CHECK(inputs.size() == f.inputs.size(), "{}: {} inputs for {}", f.name, inputs.size(),
                  f.inputs.size());
    std::vector<DeviceLiterals> values(f.types.size());
    for (size_t k = 0; k < inputs.size(); ++k) {
      TESSERA_CHECK(static_cast<int64_t>(inputs[k].size()) == devices_,
                    "{}: input {} on {} of {} devices", f.name, k, inputs[k].size(), devices_);
      check_type(f, f.inputs[k], inputs[k]);
      values[f.inputs[k]] = inputs[k];
    }
    std::vector<DeviceLiterals> operands;
    for (const Op& op : f.ops) {
      operands.clear();
      for (ValueId v : op.operands) operands.push_back(values[v]);
      std::vector<DeviceLiterals> results = run_op(op, operands);
      TESSERA_CHECK(results.size() == op.results.size(), "{}: {} results", op.def->name,
                    results.size());
      for (size_t r = 0; r < results.size(); ++r) {
        check_type(f, op.results[r], results[r]);
        values[op.results[r]] = std::move(results[r]);
      }
    }
    std::vector<DeviceLiterals> out;
    for (ValueId v : f.outputs) out.push_back(values[v]);
    return out;
  }

 private:
  void check_type(const Function& f, ValueId v, const DeviceLiterals& value) {
    for (const Literal& x : value)
      TESSERA_CHECK(x.dtype() == f.type(v).dtype && x.shape() == f.type(v).shape,
                    "{}: value {} of type {} is {}{}", f.name, v, describe(f.type(v)),
                    dtype_name(x.dtype()), x.shape());
  }

  std::vector<DeviceLiterals> run_op(const Op& op, const std::vector<DeviceLiterals>& operands) {
    if (is_control_flow(op)) return run_control_flow(op, operands);
    if (const FunctionRef callee = callee_of(op)) return run(*callee, operands);
    if (std::holds_alternative<ManualRegion>(op.def->lower))
      return run_manual(op.params.as<ManualComputationParams>(), operands);
    if (op.def->evaluate_spmd) return op.def->evaluate_spmd(operands, op.params, mesh_);
    TESSERA_CHECK(op.def->evaluate, "{}.{} has no evaluation", op.def->dialect, op.def->name);
    return run_each(op, operands);
  }

  // All devices run loops and branches together, because a region may contain collectives.
  std::vector<DeviceLiterals> run_control_flow(const Op& op,
                                               const std::vector<DeviceLiterals>& operands) {
    const ControlFlow flow = control_flow_of(op);
    if (flow.is_loop()) return run_loop(op, flow, operands);
    const Literal index = agreed(op, operands[0]);
    int64_t chosen =
        index.dtype() == bool_ ? static_cast<int64_t>(*index.data<bool>()) : *index.data<int32_t>();
    const auto last = static_cast<int64_t>(flow.regions.size()) - 1;
    if (chosen < 0 || chosen > last) chosen = last;
    return run(*flow.regions[static_cast<size_t>(chosen)], {operands.begin() + 1, operands.end()});
  }

  // Returns the value of a condition or index, which must be the same on every device.
  static const Literal& agreed(const Op& op, const DeviceLiterals& value) {
    for (const Literal& x : value)
      if (!(x == value[0]))
        sharding_error(op.def->name,
                       "expected a condition that is the same on all devices, got one that varies; "
                       "combine it by a collective first");
    return value[0];
  }

  std::vector<DeviceLiterals> run_loop(const Op& op, const ControlFlow& flow,
                                       const std::vector<DeviceLiterals>& operands) {
    const Function& body = flow.body();
    const size_t fixed = flow.num_consts + flow.num_carry;
    // An iteration gets the constants, the carry and the rows of this iteration.
    std::vector<DeviceLiterals> state(operands.begin(), operands.begin() + fixed);
    std::vector<DeviceLiterals> stacked;
    for (size_t r = flow.num_carry; r < body.outputs.size(); ++r) {
      Type type = body.type(body.outputs[r]);
      type.shape.insert(type.shape.begin(), flow.trip_count.value());
      DeviceLiterals& rows = stacked.emplace_back();
      for (int64_t d = 0; d < devices_; ++d) rows.emplace_back(type.dtype, type.shape);
    }
    for (int64_t trip = 0; !flow.trip_count || trip < *flow.trip_count; ++trip) {
      if (flow.has_condition() && !*agreed(op, run(*flow.regions[0], state)[0]).data<bool>()) break;
      const int64_t at = flow.reverse ? *flow.trip_count - 1 - trip : trip;
      std::vector<DeviceLiterals> inputs = state;
      for (size_t k = fixed; k < operands.size(); ++k) inputs.push_back(rows(operands[k], at));
      std::vector<DeviceLiterals> out = run(body, inputs);
      for (size_t c = 0; c < flow.num_carry; ++c) state[flow.num_consts + c] = std::move(out[c]);
      for (size_t y = 0; y < stacked.size(); ++y) set_rows(stacked[y], at, out[flow.num_carry + y]);
    }
    state.erase(state.begin(), state.begin() + flow.num_consts);
    state.insert(state.end(), stacked.begin(), stacked.end());
    return state;
  }

  void set_rows(DeviceLiterals& x, int64_t at, const DeviceLiterals& rows) const {
    for (int64_t d = 0; d < devices_; ++d) {
      const int64_t bytes = rows[d].elements() * itemsize(rows[d].dtype());
      std::memcpy(x[d].mutable_raw() + at * bytes, rows[d].raw(), static_cast<size_t>(bytes));
    }
  }

  // Returns row `at` of every device's array. Devices that share an array share its rows.
  DeviceLiterals rows(const DeviceLiterals& x, int64_t at) const {
    DeviceLiterals out;
    for (int64_t d = 0; d < devices_; ++d) {
      int64_t twin = 0;
      while (twin < d && x[twin].raw() != x[d].raw()) ++twin;
      if (twin < d) {
        out.push_back(out[twin]);
        continue;
      }
      Shape shape = x[d].shape();
      shape.erase(shape.begin());
      Literal& row = out.emplace_back(x[d].dtype(), shape);
      const int64_t bytes = row.elements() * itemsize(row.dtype());
      std::memcpy(row.mutable_raw(), x[d].raw() + at * bytes, static_cast<size_t>(bytes));
    }
    return out;
  }

  // Evaluates the op once for all devices that share the same operands.
  std::vector<DeviceLiterals> run_each(const Op& op, const std::vector<DeviceLiterals>& operands) {
    std::vector<DeviceLiterals> results(op.results.size(), DeviceLiterals(devices_));
    std::vector<Literal> mine(operands.size());
    for (int64_t d = 0; d < devices_; ++d) {
      const int64_t twin = find_twin(operands, d);
      if (twin < d) {
        for (DeviceLiterals& r : results) r[d] = r[twin];
        continue;
      }
      for (size_t k = 0; k < operands.size(); ++k) mine[k] = operands[k][d];
      std::vector<Literal> out = op.def->evaluate(mine, op.params);
      TESSERA_CHECK(out.size() == results.size(), "{}: {} results", op.def->name, out.size());
      for (size_t r = 0; r < out.size(); ++r) results[r][d] = std::move(out[r]);
    }
    return results;
  }

  static int64_t find_twin(const std::vector<DeviceLiterals>& operands, int64_t device) {
    for (int64_t d = 0; d < device; ++d) {
      bool same = true;
      for (const DeviceLiterals& x : operands) same = same && x[d].raw() == x[device].raw();
      if (same) return d;
    }
    return device;
  }

  std::vector<DeviceLiterals> run_manual(const ManualComputationParams& p,
                                         std::vector<DeviceLiterals> operands) {
    if (mesh_.rank() == 0 && p.mesh.rank() > 0) {
      // Outside of any mesh, every device of this mesh gets the global operands, and all have the
      // same global results.
      for (DeviceLiterals& x : operands) x.resize(p.mesh.size(), x[0]);
      std::vector<DeviceLiterals> results = Evaluator(p.mesh).run_manual(p, std::move(operands));
      for (DeviceLiterals& r : results) r.resize(1);
      return results;
    }
    TESSERA_CHECK(p.mesh == mesh_, "a manual computation over {} inside {}", p.mesh, mesh_);
    for (size_t k = 0; k < operands.size(); ++k) operands[k] = shards(operands[k], p.in_specs[k]);
    std::vector<DeviceLiterals> results = run(*p.body, operands);
    for (size_t r = 0; r < results.size(); ++r)
      results[r] = joined(results[r], p.out_specs[r], p.manual_axes);
    return results;
  }

  // Returns each device's part of its operand. Devices with the same part of the same operand share
  // it.
  DeviceLiterals shards(const DeviceLiterals& x, const PartitionSpec& spec) {
    const NamedSharding sharding(mesh_, spec);
    if (sharding.is_fully_replicated()) return x;
    DeviceLiterals out;
    std::vector<Dims> coordinates;
    const int64_t rank = x[0].shape().rank();
    const Shape local = sharding.shard_shape(x[0].shape());
    for (int64_t d = 0; d < devices_; ++d) {
      coordinates.push_back(sharding.shard_coordinates(d, rank));
      int64_t twin = 0;
      while (twin < d && (x[twin].raw() != x[d].raw() || coordinates[twin] != coordinates[d]))
        ++twin;
      if (twin < d) {
        out.push_back(out[twin]);
        continue;
      }
      out.emplace_back(x[d].dtype(), local);
      copy_block(x[d], block_start(coordinates[d], local), out.back(), Dims(rank, 0), local);
    }
    return out;
  }

  // Returns the inverse of shards(), for each coordinate along the axes that are not manual here.
  // Along a manual axis that the spec does not name, the devices agree, or the first one is taken
  // (check_vma = false).
  DeviceLiterals joined(const DeviceLiterals& x, const PartitionSpec& spec,
                        const std::vector<std::string>& manual) {
    const NamedSharding sharding(mesh_, spec);
    const AxisNames named = axes_of(spec);
    const Shape& local = x[0].shape();
    Shape shape = local;
    for (int64_t d = 0; d < shape.rank(); ++d) shape[d] *= sharding.num_shards(d);
    DeviceLiterals out(devices_);
    std::vector<bool> done(devices_, false);
    for (int64_t d = 0; d < devices_; ++d) {
      if (done[d]) continue;
      const Dims home = mesh_.coordinates(d);
      Literal whole(x[0].dtype(), shape);
      std::vector<int64_t> group;
      for (int64_t e = 0; e < devices_; ++e) {
        const Dims at = mesh_.coordinates(e);
        bool mine = true, first = true;
        for (int64_t a = 0; a < mesh_.rank(); ++a) {
          const std::string& axis = mesh_.axis_names()[a];
          const bool is_manual = std::find(manual.begin(), manual.end(), axis) != manual.end();
          mine = mine && (is_manual || at[a] == home[a]);
          first = first && (!is_manual || at[a] == 0 ||
                            std::binary_search(named.begin(), named.end(), axis));
        }
        if (!mine) continue;
        group.push_back(e);
        if (first)
          copy_block(x[e], Dims(local.rank(), 0), whole,
                     block_start(sharding.shard_coordinates(e, local.rank()), local), local);
      }
      for (int64_t e : group) {
        out[e] = whole;
        done[e] = true;
      }
    }
    return out;
  }

  const Mesh mesh_;
  const int64_t devices_;
};

}  // namespace

std::vector<Literal> evaluate(const Function& function, std::span<const Literal> inputs) {
  std::vector<DeviceLiterals> one;
  for (const Literal& x : inputs) one.push_back({x});
  std::vector<Literal> out;
  for (DeviceLiterals& r : Evaluator(Mesh()).run(function, one)) out.push_back(std::move(r[0]));
  return out;
}

std::vector<DeviceLiterals> evaluate_spmd(const Function& function,
                                          const std::vector<DeviceLiterals>& inputs,
                                          const Mesh& mesh) {
  return Evaluator(mesh).run(function, inputs);
}

}  // namespace tessera
