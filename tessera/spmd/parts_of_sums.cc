#include "tessera/spmd/parts_of_sums.h"

#include <algorithm>
#include <optional>

#include "tessera/ir/array.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ir/scalar_op.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/spmd/late_sums.h"
#include "tessera/trace/trace.h"

namespace tessera::spmd {
namespace {

using Axes = std::vector<std::string>;

bool contains_all(const Axes& all, const Axes& some) {
  return std::all_of(some.begin(), some.end(), [&](const std::string& axis) {
    return std::find(all.begin(), all.end(), axis) != all.end();
  });
}

bool has_unreduced(const Function& f) {
  return std::any_of(f.ops.begin(), f.ops.end(), [](const Op& op) {
    if (ops::is_replicated_to_unreduced(op)) return true;
    const auto regions = control_regions(op);
    return std::any_of(regions.begin(), regions.end(),
                       [](const FunctionRef& region) { return has_unreduced(*region); });
  });
}

bool has_kind(const Op& op, CollectiveKind kind) {
  const auto* lowering = std::get_if<CollectiveLowering>(&op.def->lower);
  return lowering && lowering->kind == kind && op.operands.size() == 1;
}

class Rewriter {
 public:
  Rewriter(const Function& f, const Mesh& mesh)
      : f_(f),
        mesh_(mesh),
        producers_(f.producers()),
        users_(f.users()),
        arrays_(f.types.size()),
        trace_(f.name) {}

  Function run() {
    const AxisEnv::Scope scope(mesh_, mesh_.axis_names(), /*check_vma=*/false);
    for (ValueId v : f_.inputs) arrays_[v] = trace_.add_input(f_.type(v));
    for (const Op& op : f_.ops) {
      const SourceScope source(op.source);
      trace_.set_reason(op.reason);
      std::vector<Array> results;
      if (ops::is_replicated_to_unreduced(op)) {
        results = {parts(op)};
      } else {
        results =
            bind_op(*op.def,
                    map_control_regions(
                        op, [&](const Function& region) { return choose_parts(region, mesh_); }),
                    arrays(op));
      }
      for (size_t r = 0; r < results.size(); ++r) arrays_[op.results[r]] = results[r];
    }
    std::vector<Array> outputs;
    for (ValueId v : f_.outputs) outputs.push_back(arrays_[v]);
    return remove_dead_ops(trace_.finish(outputs));
  }

 private:
  std::vector<Array> arrays(const Op& op) const {
    std::vector<Array> out;
    for (ValueId v : op.operands) out.push_back(arrays_[v]);
    return out;
  }

  const Op* producer(ValueId v) const {
    return producers_[v] < 0 ? nullptr : &f_.ops[producers_[v]];
  }

  // Returns whether one op alone reads the value, so that what makes it is not needed otherwise.
  bool is_read_once(ValueId v) const {
    return users_[v].size() == 1 &&
           std::find(f_.outputs.begin(), f_.outputs.end(), v) == f_.outputs.end();
  }

  // Returns the operands of which the op adds or subtracts parts: those in which it is linear.
  // Empty if it is not.
  std::vector<size_t> summed_operands(const Op& op, const Axes& axes) const {
    if (has_kind(op, CollectiveKind::kCast)) return {0};
    const std::optional<ScalarOp> single = single_operation(op, f_);
    if (single == ScalarOp::kAdd || single == ScalarOp::kSub) return {0, 1};
    for (size_t k = 0; k < op.operands.size(); ++k)
      if (is_linear_in(op, op.operands[k], axes, f_, producers_) && producer(op.operands[k]))
        return {k};
    return {};
  }

  // Returns whether the value is made of sums and gathers over the axes that are not needed if the
  // value may be in parts.
  bool comes_in_parts(ValueId v, const Axes& axes) const {
    const Op* op = producer(v);
    if (!op || !is_read_once(v)) return false;
    if (has_kind(*op, CollectiveKind::kAllReduce)) {
      const auto& p = op->params.as<AllReduceParams>();
      return p.kind == ReduceKind::kSum && p.groups.empty() && contains_all(p.axes, axes);
    }
    if (has_kind(*op, CollectiveKind::kAllGather)) {
      const auto& p = op->params.as<AllGatherParams>();
      return p.groups.empty() && p.axes == axes;
    }
    const std::vector<size_t> summed = summed_operands(*op, axes);
    return !summed.empty() && std::all_of(summed.begin(), summed.end(), [&](size_t k) {
      return comes_in_parts(op->operands[k], axes);
    });
  }

  // Returns this device's part of a value that comes in parts.
  Array part_of(ValueId v, const Axes& axes) {
    const Op& op = *producer(v);
    if (has_kind(op, CollectiveKind::kAllReduce)) {
      auto p = op.params.as<AllReduceParams>();
      std::erase_if(p.axes, [&](const std::string& axis) { return contains_all(axes, {axis}); });
      const Array summand = arrays_[op.operands[0]];
      return p.axes.empty() ? summand : bind_op1(all_reduce_op, p, {summand});
    }
    if (has_kind(op, CollectiveKind::kAllGather)) return own_rows(op, axes);
    if (has_kind(op, CollectiveKind::kCast)) return part_of(op.operands[0], axes);
    std::vector<Array> operands = arrays(op);
    for (size_t k : summed_operands(op, axes)) operands[k] = part_of(op.operands[k], axes);
    return bind_op(*op.def, op.params, operands)[0];
  }

  Array index(const Axes& axes) const {
    return bind_op1(axis_index_op, AxisIndexParams{mesh_, axes}, {});
  }

  // Returns the result of an all_gather with zeros in place of the rows of other devices.
  Array own_rows(const Op& gather, const Axes& axes) {
    const auto dim = static_cast<int>(gather.params.as<AllGatherParams>().dim);
    const Array& rows = arrays_[gather.operands[0]];
    const Array start =
        lax::mul(index(axes), Array(Literal::scalar(static_cast<int32_t>(rows.shape()[dim]))));
    const Type& whole = f_.type(gather.results[0]);
    return lax::dynamic_update_slice_in_dim(lax::zeros_like(whole), rows, start, dim);
  }

  Array parts(const Op& op) {
    const auto& p = op.params.as<CollectivePermuteParams>();
    const ValueId v = op.operands[0];
    if (comes_in_parts(v, p.axes)) return part_of(v, p.axes);
    const Array& whole = arrays_[v];
    const Array first = lax::eq(index(p.axes), Array(Literal::scalar<int32_t>(0)));
    return lax::select(lax::broadcast_in_dim(first, whole.shape(), {}), whole,
                       lax::zeros_like(whole.type()));
  }

  const Function& f_;
  const Mesh& mesh_;
  const std::vector<int> producers_;
  const std::vector<std::vector<int>> users_;
  std::vector<Array> arrays_;
  FunctionTrace trace_;
};

}  // namespace

Function choose_parts(const Function& function, const Mesh& mesh) {
  return has_unreduced(function) ? Rewriter(function, mesh).run() : function;
}

}  // namespace tessera::spmd
