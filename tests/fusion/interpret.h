// A plain interpreter of kernels and schedules, written only from the rules of kernel.h and
// schedule.h. It is the oracle of what a fused schedule means. Every node is evaluated at every
// index; nothing is vectorised, hoisted or shared.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "tessera/fusion/schedule.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/structural/slice.h"
#include "tests/ops/apply_scalar.h"

namespace tessera {

using namespace runtime;

class KernelInterpreter {
 public:
  // Runs the whole parallel range of a kernel. `buffers` are those that the machine code gets;
  // scratch entries are ignored.
  static void run(const Kernel& kernel, std::vector<std::byte*> buffers) {
    std::vector<std::vector<std::byte>> scratch;
    for (size_t b = 0; b < buffers.size(); ++b) {
      if (kernel.buffers[b].kind != BufferKind::kScratch) continue;
      scratch.emplace_back(kernel.buffers[b].elements * itemsize(kernel.buffers[b].dtype));
      buffers[b] = scratch.back().data();
    }
    KernelInterpreter interpreter{kernel, buffers};
    for_each(kernel.parallel, [&](const Dims& p) { interpreter.run_at(p); });
  }

 private:
  KernelInterpreter(const Kernel& kernel, std::vector<std::byte*> buffers)
      : k_(kernel), buffers_(std::move(buffers)) {}

  template <class F>
  static void for_each(const Dims& extents, F f) {
    if (extents.elements() == 0) return;
    Dims at(extents.size(), 0);
    while (true) {
      f(at);
      size_t d = extents.size();
      while (d > 0 && ++at[d - 1] == extents[d - 1]) at[--d] = 0;
      if (d == 0) return;
    }
  }

  int64_t resolve(const Affine& address) const {
    int64_t out = address.offset;
    for (size_t d = 0; d < parallel_.size(); ++d) out += address.parallel.at(d) * parallel_[d];
    for (size_t d = 0; d < inner_.size(); ++d) out += address.inner.at(d) * inner_[d];
    return out;
  }

  static int64_t integer(const Scalar& x) {
    return x.dtype == int32 ? scalar_as<int32_t>(x) : scalar_as<int64_t>(x);
  }

  std::byte* element(int buffer, int64_t index) const {
    const KernelBuffer& b = k_.buffers.at(buffer);
    TESSERA_CHECK(index >= 0 && index < b.elements, "element {} of buffer {} of {}", index, buffer,
                  b.elements);
    return buffers_[buffer] + index * itemsize(b.dtype);
  }

  bool depends_on_loop(int id) {
    const KernelNode& n = k_.nodes[id];
    if (n.kind == NodeKind::kLoad || n.kind == NodeKind::kIndex)
      for (int64_t c : n.address.inner)
        if (c) return true;
    for (int arg : n.args)
      if (depends_on_loop(arg)) return true;
    return false;
  }

  Scalar value(int id) {
    const auto known = values_.find(id);
    if (known != values_.end()) return known->second;
    const KernelNode& n = k_.nodes.at(id);
    Scalar out{.dtype = n.dtype};
    auto address = [&] {
      // A node of another loop may be used if it does not depend on that loop's indices.
      Affine a = n.address;
      if (n.loop != loop_) {
        for (int64_t c : a.inner)
          TESSERA_CHECK(c == 0, "node {} of loop {} used in loop {}", id, n.loop, loop_);
        a.inner.assign(inner_.size(), 0);
      }
      return resolve(a);
    };
    switch (n.kind) {
      case NodeKind::kConstant:
        out.bytes = n.immediate;
        break;
      case NodeKind::kIndex: {
        const int64_t index = address();
        std::memcpy(out.bytes.data(), &index, sizeof index);
        break;
      }
      case NodeKind::kLoad: {
        if (n.guard >= 0 && !scalar_as<bool>(value(n.guard))) break;
        int64_t at = address();
        for (const auto& [node, stride] : n.dynamic) at += stride * integer(value(node));
        TESSERA_CHECK(k_.buffers.at(n.buffer).dtype == n.dtype, "load of another dtype");
        std::memcpy(out.bytes.data(), element(n.buffer, at),
                    static_cast<size_t>(itemsize(n.dtype)));
        break;
      }
      case NodeKind::kScalarOp: {
        std::vector<Scalar> args;
        for (int arg : n.args) {
          TESSERA_CHECK(arg < id, "node {} before its argument", id);
          args.push_back(value(arg));
        }
        out = apply_scalar(n.op, n.dtype, args);
        break;
      }
      case NodeKind::kReduced:
        TESSERA_CHECK(n.loop < loop_, "a result of loop {} in loop {}", n.loop, loop_);
        out = reduced_.at({n.loop, n.reduction});
        break;
    }
    TESSERA_CHECK(out.dtype == n.dtype, "node {} of {} gives {}", id, n.dtype, out.dtype);
    values_[id] = out;
    return out;
  }

  std::vector<Scalar> combine(const KernelReduction& r, const std::vector<Scalar>& acc,
                              const std::vector<Scalar>& x) {
    const std::vector<Scalar> both = {acc[0], x[0]};
    auto scalar_op = [&](ScalarOp op) { return std::vector{apply_scalar(op, r.accumulate, both)}; };
    const bool logical = r.accumulate == bool_;
    switch (r.kind) {
      case ReduceKind::kSum:
        return scalar_op(logical ? ScalarOp::kOr : ScalarOp::kAdd);
      case ReduceKind::kProduct:
        return scalar_op(logical ? ScalarOp::kAnd : ScalarOp::kMul);
      case ReduceKind::kMin:
        return scalar_op(logical ? ScalarOp::kAnd : ScalarOp::kMin);
      case ReduceKind::kMax:
        return scalar_op(logical ? ScalarOp::kOr : ScalarOp::kMax);
      case ReduceKind::kAnd:
        return scalar_op(ScalarOp::kAnd);
      case ReduceKind::kOr:
        return scalar_op(ScalarOp::kOr);
      default:
        break;
    }
    std::vector<Literal> args;
    for (const auto* list : {&acc, &x}) {
      for (const Scalar& s : *list) {
        Literal literal(s.dtype, {});
        std::memcpy(literal.mutable_raw(), s.bytes.data(), static_cast<size_t>(itemsize(s.dtype)));
        args.push_back(literal);
      }
    }
    std::vector<Scalar> out;
    for (const Literal& literal : evaluate_function(*r.body, args)) {
      Scalar s{.dtype = literal.dtype()};
      std::memcpy(s.bytes.data(), literal.raw(), static_cast<size_t>(itemsize(s.dtype)));
      out.push_back(s);
    }
    return out;
  }

  void run_at(const Dims& p) {
    parallel_ = p;
    reduced_.clear();
    for (loop_ = 0; loop_ < static_cast<int>(k_.loops.size()); ++loop_) {
      const KernelLoop& loop = k_.loops[loop_];
      std::vector<std::vector<Scalar>> acc;
      inner_.assign(loop.extents.size(), 0);
      values_.clear();
      for (const KernelReduction& r : loop.reductions) {
        auto& a = acc.emplace_back();
        for (size_t k = 0; k < r.init.size(); ++k) {
          TESSERA_CHECK(!depends_on_loop(r.init[k]), "an initial value that depends on the loop");
          const Scalar init = value(r.init[k]);
          const bool widen = r.init.size() == 1 && init.dtype != r.accumulate;
          a.push_back(widen ? apply_scalar(ScalarOp::kConvert, r.accumulate, std::array{init})
                            : init);
        }
      }
      for_each(loop.extents, [&](const Dims& i) {
        inner_ = i;
        values_.clear();
        for (size_t r = 0; r < loop.reductions.size(); ++r) {
          std::vector<Scalar> x;
          for (int node : loop.reductions[r].nodes) {
            const Scalar s = value(node);
            const bool widen =
                loop.reductions[r].nodes.size() == 1 && s.dtype != loop.reductions[r].accumulate;
            x.push_back(widen ? apply_scalar(ScalarOp::kConvert, loop.reductions[r].accumulate,
                                             std::array{s})
                              : s);
          }
          acc[r] = combine(loop.reductions[r], acc[r], x);
        }
        for (const KernelStore& store : loop.stores) {
          if (store.guard >= 0 && !scalar_as<bool>(value(store.guard))) continue;
          const Scalar x = value(store.node);
          const KernelBuffer& b = k_.buffers.at(store.buffer);
          TESSERA_CHECK(b.kind != BufferKind::kInput && b.dtype == x.dtype,
                        "store of {} to buffer {}", x.dtype, store.buffer);
          std::memcpy(element(store.buffer, resolve(store.address)), x.bytes.data(),
                      static_cast<size_t>(itemsize(x.dtype)));
        }
      });
      int next = 0;
      for (size_t r = 0; r < acc.size(); ++r) {
        for (size_t k = 0; k < acc[r].size(); ++k) {
          const DType dtype = k_.nodes[loop.reductions[r].nodes[k]].dtype;
          const Scalar& a = acc[r][k];
          reduced_[{loop_, next++}] =
              a.dtype == dtype ? a : apply_scalar(ScalarOp::kConvert, dtype, std::array{a});
        }
      }
    }
  }

  const Kernel& k_;
  std::vector<std::byte*> buffers_;
  Dims parallel_, inner_;
  int loop_ = 0;
  std::map<int, Scalar> values_;
  std::map<std::pair<int, int>, Scalar> reduced_;
};

class ScheduleInterpreter {
 public:
  explicit ScheduleInterpreter(const Schedule& schedule) : s_(schedule), mesh_(schedule.mesh) {}

  // Runs the schedule on inputs[i][instance of the slot]. Results are indexed in the same way.
  std::vector<std::vector<Literal>> run(const std::vector<std::vector<Literal>>& inputs) {
    verify(s_);
    for (const Slot& slot : s_.slots) {
      auto& instances = slots_.emplace_back();
      for (int64_t i = 0; i < slot.instances; ++i)
        instances.push_back(slot.kind == Slot::Kind::kConstant ? slot.literal
                                                               : Literal(slot.dtype, slot.shape));
    }
    TESSERA_CHECK(inputs.size() == s_.inputs.size(), "{} inputs", inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      TESSERA_CHECK(inputs[i].size() == slots_[s_.inputs[i]].size(), "instances of input {}", i);
      slots_[s_.inputs[i]] = inputs[i];
    }
    for (const Step& step : s_.steps) std::visit([&](const auto& x) { run_step(x); }, step);
    std::vector<std::vector<Literal>> out;
    for (int slot : s_.outputs) out.push_back(slots_[slot]);
    return out;
  }

 private:
  void run_step(const KernelStep& step) {
    verify(step.kernel);
    const int64_t runs = axes_size(mesh_, step.axes);
    for (int64_t run = 0; run < runs; ++run) {
      std::vector<std::byte*> buffers;
      for (size_t b = 0; b < step.slots.size(); ++b) {
        const int slot = step.slots[b];
        if (slot < 0) {
          buffers.push_back(nullptr);
          continue;
        }
        Literal& literal = slots_[slot][instance_map(mesh_, step.axes, s_.slots[slot].axes)[run]];
        const KernelBuffer& buffer = step.kernel.buffers[b];
        TESSERA_CHECK(
            may_be_array_of(buffer, literal.dtype()) && buffer.elements == literal.elements(),
            "buffer {} of slot {}", b, slot);
        buffers.push_back(buffer.kind == BufferKind::kInput ? const_cast<std::byte*>(literal.raw())
                                                            : literal.mutable_raw());
      }
      KernelInterpreter::run(step.kernel, buffers);
    }
  }

  void run_step(const DotStep& step) {
    AxisList axes;
    for (int a : step.axes)
      if (std::find(step.reduce_axes.begin(), step.reduce_axes.end(), a) == step.reduce_axes.end())
        axes.push_back(a);
    axes.insert(axes.end(), step.reduce_axes.begin(), step.reduce_axes.end());
    const int64_t runs = axes_size(mesh_, axes);
    const DotParams params{step.lhs_batch, step.rhs_batch, step.lhs_contract, step.rhs_contract,
                           s_.slots[step.out].dtype};
    std::map<int32_t, Literal> sums;
    auto at = [&](int slot, int64_t run) {
      return slots_[slot][instance_map(mesh_, axes, s_.slots[slot].axes)[run]];
    };
    const OpDef& add = *find_op("stablehlo", "add");
    for (int64_t run = 0; run < runs; ++run) {
      const std::vector<Literal> args = {at(step.lhs, run), at(step.rhs, run)};
      Literal product = dot_general_op.evaluate(args, params)[0];
      const int32_t out = instance_map(mesh_, axes, s_.slots[step.out].axes)[run];
      const auto it = sums.find(out);
      if (it == sums.end() || step.reduce_axes.empty()) {
        sums.insert_or_assign(out, product);
      } else {
        it->second = add.evaluate(std::vector{it->second, product}, NoParams{})[0];
      }
    }
    for (auto& [out, sum] : sums) {
      if (step.bias >= 0) {
        // The instances of the bias are those of the result.
        const Literal bias = slots_[step.bias][instance_map(mesh_, s_.slots[step.out].axes,
                                                            s_.slots[step.bias].axes)[out]];
        sum = add_bias(sum, bias, add);
      }
      if (step.activation == DotStep::Activation::kRelu)
        sum = find_op("stablehlo", "maximum")
                  ->evaluate(std::vector{sum, Literal(sum.dtype(), sum.shape())}, NoParams{})[0];
      slots_[step.out][out] = sum;
    }
  }

  void run_step(const ConvolutionStep& step) {
    const auto at = [&](int slot, int64_t run) -> Literal& {
      return slots_[slot][instance_map(mesh_, step.axes, s_.slots[slot].axes)[run]];
    };
    for (int64_t run = 0; run < axes_size(mesh_, step.axes); ++run) {
      const std::vector<Literal> args = {at(step.lhs, run), at(step.rhs, run)};
      at(step.out, run) = convolution_op.evaluate(args, step.params)[0];
    }
  }

  static Literal add_bias(const Literal& x, const Literal& bias, const OpDef& add) {
    Literal wide(x.dtype(), x.shape());
    const int64_t item = itemsize(x.dtype());
    TESSERA_CHECK(bias.elements() == x.shape().back(), "a bias of {}", bias.shape());
    for (int64_t i = 0; i < x.elements(); ++i)
      std::memcpy(wide.mutable_raw() + i * item, bias.raw() + i % bias.elements() * item,
                  static_cast<size_t>(item));
    return add.evaluate(std::vector{x, wide}, NoParams{})[0];
  }

  void run_step(const CollectiveStep& step) {
    std::vector<std::string> axes;
    AxisList all;
    for (int a : step.over) axes.push_back(mesh_.axis_names()[a]);
    for (int a = 0; a < static_cast<int>(mesh_.rank()); ++a) all.push_back(a);
    auto on_devices = [&](int slot) {
      std::vector<Literal> out;
      for (int32_t i : instance_map(mesh_, all, s_.slots[slot].axes))
        out.push_back(slots_[slot][i]);
      return out;
    };
    std::vector<std::vector<Literal>> operands = {on_devices(step.in)};
    auto run = [&](const OpDef& def, OpParams params) {
      return def.evaluate_spmd(operands, params, mesh_)[0];
    };
    std::vector<Literal> result;
    switch (step.kind) {
      case CollectiveKind::kAllReduce:
        result = run(all_reduce_op, AllReduceParams{mesh_, axes, step.groups, step.reduce});
        break;
      case CollectiveKind::kAllGather:
        result = run(all_gather_op, AllGatherParams{mesh_, axes, step.groups, step.dim});
        break;
      case CollectiveKind::kReduceScatter:
        result = run(reduce_scatter_op,
                     ReduceScatterParams{mesh_, axes, step.groups, step.reduce, step.dim});
        break;
      case CollectiveKind::kAllToAll:
        result =
            run(all_to_all_op, AllToAllParams{mesh_, axes, step.groups, step.dim, step.concat_dim});
        break;
      case CollectiveKind::kPermute:
        result = run(collective_permute_op, CollectivePermuteParams{mesh_, axes, step.pairs});
        break;
      case CollectiveKind::kBroadcast:
        result = run(collective_broadcast_op,
                     CollectiveBroadcastParams{mesh_, axes, step.groups, step.root});
        break;
      case CollectiveKind::kRaggedAllToAll:
        TESSERA_CHECK(step.sizes.size() == 5, "slots of a ragged_all_to_all");
        operands.push_back(on_devices(step.sizes[4]));
        for (size_t k = 0; k < 4; ++k) operands.push_back(on_devices(step.sizes[k]));
        result = run(ragged_all_to_all_op, RaggedAllToAllParams{mesh_, axes, step.groups});
        break;
      case CollectiveKind::kAxisIndex:
      case CollectiveKind::kCast:
        TESSERA_CHECK(false, "no communication");
    }
    store_on_devices(step.out, result);
  }

  // Stores the values of all devices. Devices that share an instance must have equal values.
  void store_on_devices(int slot, const std::vector<Literal>& values) {
    AxisList all;
    for (int a = 0; a < static_cast<int>(mesh_.rank()); ++a) all.push_back(a);
    const std::vector<int32_t> instances = instance_map(mesh_, all, s_.slots[slot].axes);
    std::vector<char> known(slots_[slot].size(), 0);
    for (size_t device = 0; device < instances.size(); ++device) {
      Literal& instance = slots_[slot][instances[device]];
      TESSERA_CHECK(!known[instances[device]] || instance == values[device],
                    "slot {} varies over more axes", slot);
      instance = values[device];
      known[instances[device]] = 1;
    }
  }

  void run_step(const InstanceTableStep& step) {
    TESSERA_CHECK(step.values.size() == slots_[step.out].size(), "a table of {} values",
                  step.values.size());
    slots_[step.out] = step.values;
  }

  void run_step(const ViewStep& step) {
    const std::vector<int32_t> from =
        instance_map(mesh_, s_.slots[step.out].axes, s_.slots[step.in].axes);
    for (size_t i = 0; i < from.size(); ++i)
      slots_[step.out][i] = slots_[step.in][from[i]].reshaped(s_.slots[step.out].shape);
  }

  void run_step(const UpdateStep& step) {
    const auto at = [&](int slot, int64_t run) -> Literal& {
      return slots_[slot][instance_map(mesh_, step.axes, s_.slots[slot].axes)[run]];
    };
    for (int64_t run = 0; run < axes_size(mesh_, step.axes); ++run) {
      std::vector<Literal> args = {at(step.in, run), at(step.update, run)};
      for (int start : step.starts) args.push_back(at(start, run).reshaped({}));
      at(step.out, run) = dynamic_update_slice_op.evaluate(args, NoParams{})[0];
    }
  }

  void run_step(const CallStep&) { TESSERA_CHECK(false, "fusion makes no calls"); }
  // Returns the instances of a slot as those of a slot of a nested schedule.
  std::vector<Literal> passed(int slot, const Slot& inside) const {
    std::vector<Literal> out;
    for (int32_t i : instance_map(mesh_, inside.axes, s_.slots[slot].axes))
      out.push_back(slots_[slot][i]);
    return out;
  }
  static std::vector<Literal> rows(const std::vector<Literal>& x, const Slot& inside, int64_t row) {
    std::vector<Literal> out;
    for (const Literal& all : x) {
      Literal& slice = out.emplace_back(inside.dtype, inside.shape);
      std::memcpy(slice.mutable_raw(), all.raw() + row * inside.bytes(),
                  static_cast<size_t>(inside.bytes()));
    }
    return out;
  }
  // Stores a result of a nested schedule in a slot of this one: all of it, or as row `row`.
  void store(int slot, const Slot& inside, const std::vector<Literal>& values, int64_t row = -1) {
    const std::vector<int32_t> map = instance_map(mesh_, inside.axes, s_.slots[slot].axes);
    for (size_t i = 0; i < values.size(); ++i) {
      Literal& target = slots_[slot][map[i]];
      if (row < 0) {
        target = values[i].reshaped(s_.slots[slot].shape);
      } else {
        std::memcpy(target.mutable_raw() + row * inside.bytes(), values[i].raw(),
                    static_cast<size_t>(inside.bytes()));
      }
    }
  }

  void run_step(const LoopStep& step) {
    const Schedule& body = *step.body;
    auto input = [&](size_t k) -> const Slot& { return body.slots[body.inputs[k]]; };
    std::vector<std::vector<Literal>> consts, carry;
    for (size_t k = 0; k < step.consts.size(); ++k)
      consts.push_back(passed(step.consts[k], input(k)));
    for (size_t k = 0; k < step.in.size(); ++k)
      carry.push_back(passed(step.in[k], input(consts.size() + k)));
    auto holds = [&](int64_t trip) {
      if (!step.cond) return trip < step.trip_count;
      std::vector<std::vector<Literal>> args = consts;
      args.insert(args.end(), carry.begin(), carry.end());
      return *ScheduleInterpreter(*step.cond).run(args)[0][0].data<bool>();
    };
    for (int64_t trip = 0; holds(trip); ++trip) {
      const int64_t row = step.reverse ? step.trip_count - 1 - trip : trip;
      std::vector<std::vector<Literal>> args = consts;
      args.insert(args.end(), carry.begin(), carry.end());
      for (int x : step.xs) {
        const Slot& inside = input(args.size());
        args.push_back(rows(passed(x, inside), inside, row));
      }
      std::vector<std::vector<Literal>> out = ScheduleInterpreter(body).run(args);
      for (size_t k = 0; k < step.ys.size(); ++k)
        store(step.ys[k], body.slots[body.outputs[carry.size() + k]], out[carry.size() + k], row);
      out.resize(carry.size());
      carry = std::move(out);
    }
    for (size_t k = 0; k < carry.size(); ++k)
      store(step.out[k], body.slots[body.outputs[k]], carry[k]);
  }

  void run_step(const BranchStep& step) {
    const Literal& index = slots_[step.index][0];
    int64_t chosen =
        index.dtype() == bool_ ? static_cast<int64_t>(*index.data<bool>()) : *index.data<int32_t>();
    const auto last = static_cast<int64_t>(step.branches.size()) - 1;
    if (chosen < 0 || chosen > last) chosen = last;
    const Schedule& branch = *step.branches[chosen];
    std::vector<std::vector<Literal>> args;
    for (size_t k = 0; k < step.in.size(); ++k)
      args.push_back(passed(step.in[k], branch.slots[branch.inputs[k]]));
    const std::vector<std::vector<Literal>> out = ScheduleInterpreter(branch).run(args);
    for (size_t k = 0; k < out.size(); ++k)
      store(step.out[k], branch.slots[branch.outputs[k]], out[k]);
  }

  const Schedule& s_;
  const Mesh mesh_;
  std::vector<std::vector<Literal>> slots_;
};

}  // namespace tessera
