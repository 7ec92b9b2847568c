#include "tessera/fusion/schedule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tessera/base/contains.h"
#include "tessera/base/error.h"
#include "tessera/base/overloaded.h"
#include "tessera/fusion/locality.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/linear/convolution_text.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::fusion {
namespace {

std::vector<int> each_once(std::vector<int> slots) {
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  std::erase(slots, -1);
  return slots;
}

// Returns the slots that a step reads and writes; -1 for a slot that it does not have.
StepSlots slots_of(const KernelStep& k) {
  StepSlots out;
  for (size_t i = 0; i < k.slots.size(); ++i) {
    if (k.kernel.buffers[i].kind == BufferKind::kInput) out.reads.push_back(k.slots[i]);
    if (k.kernel.buffers[i].kind == BufferKind::kOutput) out.writes.push_back(k.slots[i]);
  }
  return out;
}
StepSlots slots_of(const DotStep& d) { return {{d.lhs, d.rhs, d.bias}, {d.out}}; }
StepSlots slots_of(const ConvolutionStep& c) { return {{c.lhs, c.rhs}, {c.out}}; }
StepSlots slots_of(const CollectiveStep& c) {
  StepSlots out{{c.in}, {c.out}};
  out.reads.insert(out.reads.end(), c.sizes.begin(), c.sizes.end());
  return out;
}
StepSlots slots_of(const InstanceTableStep& t) { return {{}, {t.out}}; }
StepSlots slots_of(const ViewStep& v) { return {{v.in}, {v.out}}; }
StepSlots slots_of(const CallStep& c) { return {c.in, c.out}; }
StepSlots slots_of(const UpdateStep& u) {
  StepSlots out{{u.in, u.update}, {u.out}};
  out.reads.insert(out.reads.end(), u.starts.begin(), u.starts.end());
  return out;
}
StepSlots slots_of(const LoopStep& l) {
  StepSlots out{l.in, l.out};
  for (const auto* list : {&l.consts, &l.xs})
    out.reads.insert(out.reads.end(), list->begin(), list->end());
  out.writes.insert(out.writes.end(), l.ys.begin(), l.ys.end());
  return out;
}
StepSlots slots_of(const BranchStep& b) {
  StepSlots out{b.in, b.out};
  out.reads.push_back(b.index);
  return out;
}

std::string_view name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kPermute:
      return "collective_permute";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kRaggedAllToAll:
      return "ragged_all_to_all";
    case CollectiveKind::kAxisIndex:
      return "axis_index";
    case CollectiveKind::kCast:
      return "cast";
  }
  __builtin_unreachable();
}

std::string axes_text(const Mesh& mesh, const AxisList& axes) {
  std::vector<std::string> names;
  for (int a : axes) names.push_back(mesh.axis_names()[a]);
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

std::string slots_text(const std::vector<int>& slots) {
  std::string out;
  for (int s : slots)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", s < 0 ? "scratch" : fmt::format("%{}", s));
  return out;
}

std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += fmt::format("    {}\n", std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string step_text(const Schedule& s, const Step& step) {
  const Mesh& mesh = s.mesh;
  return std::visit(
      Overloaded{
          [&](const KernelStep& k) {
            return fmt::format("kernel({}) over {}\n{}", slots_text(k.slots),
                               axes_text(mesh, k.axes), indented(to_string(k.kernel)));
          },
          [&](const DotStep& d) {
            std::string out =
                fmt::format("%{} = dot(%{}, %{}) batch {}x{} contract {}x{} over {} accumulate {}",
                            d.out, d.lhs, d.rhs, d.lhs_batch, d.rhs_batch, d.lhs_contract,
                            d.rhs_contract, axes_text(mesh, d.axes), d.accumulate);
            if (!d.reduce_axes.empty()) out += " sum over " + axes_text(mesh, d.reduce_axes);
            if (d.bias >= 0) out += fmt::format(" bias %{}", d.bias);
            if (d.activation == DotStep::Activation::kRelu) out += " relu";
            if (d.symmetric) out += " symmetric";
            return out + "\n";
          },
          [&](const ConvolutionStep& c) {
            std::string out = fmt::format("%{} = convolution(%{}, %{}) {}", c.out, c.lhs, c.rhs,
                                          convolution_text(c.params));
            if (c.params.feature_group_count != 1)
              out += fmt::format(" feature groups {}", c.params.feature_group_count);
            if (c.params.batch_group_count != 1)
              out += fmt::format(" batch groups {}", c.params.batch_group_count);
            return out + fmt::format(" over {}\n", axes_text(mesh, c.axes));
          },
          [&](const CollectiveStep& c) {
            std::string out = fmt::format("%{} = {}(%{}) over {}", c.out, name(c.kind), c.in,
                                          axes_text(mesh, c.over));
            if (c.kind == CollectiveKind::kAllReduce || c.kind == CollectiveKind::kReduceScatter)
              out += fmt::format(" {}", enum_names(c.reduce)[static_cast<size_t>(c.reduce)]);
            if (c.kind == CollectiveKind::kAllGather || c.kind == CollectiveKind::kReduceScatter)
              out += fmt::format(" dim {}", c.dim);
            if (c.kind == CollectiveKind::kAllToAll)
              out += fmt::format(" split {} concat {}", c.dim, c.concat_dim);
            if (c.kind == CollectiveKind::kBroadcast) out += fmt::format(" root {}", c.root);
            if (!c.pairs.empty()) out += fmt::format(" pairs {}", fmt::join(c.pairs, " "));
            if (!c.groups.empty()) out += fmt::format(" groups {}", fmt::join(c.groups, " "));
            if (!c.sizes.empty()) out += fmt::format(" sizes {}", slots_text(c.sizes));
            return out + "\n";
          },
          [&](const InstanceTableStep& t) {
            return fmt::format("%{} = table of {} literals\n", t.out, t.values.size());
          },
          [&](const ViewStep& v) { return fmt::format("%{} = view(%{})\n", v.out, v.in); },
          [&](const CallStep& c) {
            return fmt::format("{} = call {}({}) over {}\n", slots_text(c.out), c.name,
                               slots_text(c.in), axes_text(mesh, c.axes));
          },
          [&](const UpdateStep& u) {
            return fmt::format("%{} = update(%{}, %{}) at ({}) over {}\n", u.out, u.in, u.update,
                               slots_text(u.starts), axes_text(mesh, u.axes));
          },
          [&](const LoopStep& l) {
            std::string out = fmt::format("{} = loop({})", slots_text(l.out), slots_text(l.in));
            if (!l.consts.empty()) out += fmt::format(" with {}", slots_text(l.consts));
            if (!l.xs.empty()) out += fmt::format(" over {}", slots_text(l.xs));
            if (!l.ys.empty()) out += fmt::format(" stacking {}", slots_text(l.ys));
            if (l.reverse) out += " reversed";
            out += l.cond ? fmt::format(" while\n{}", indented(to_string(*l.cond)))
                          : fmt::format(" times {}\n", l.trip_count);
            return out + fmt::format("  body\n{}", indented(to_string(*l.body)));
          },
          [&](const BranchStep& b) {
            std::string out =
                fmt::format("{} = branch %{}({})\n", slots_text(b.out), b.index, slots_text(b.in));
            for (size_t i = 0; i < b.branches.size(); ++i)
              out += fmt::format("  {}case {}\n{}", b.is_unlikely(i) ? "unlikely " : "", i,
                                 indented(to_string(*b.branches[i])));
            return out;
          },
      },
      step);
}

bool subset(const AxisList& inner, const AxisList& outer) {
  return std::ranges::all_of(inner, [&](int a) { return contains(outer, a); });
}

bool same_axes(const AxisList& a, const AxisList& b) { return subset(a, b) && subset(b, a); }

// Checks one schedule. Each error names the step.
struct Verifier {
  const Schedule& s;
  size_t at = 0;

  const Slot& slot(int i) const {
    TESSERA_CHECK(i >= 0 && static_cast<size_t>(i) < s.slots.size(), "step {}: slot {} of {}", at,
                  i, s.slots.size());
    return s.slots[i];
  }
  void axes(const AxisList& list) const {
    std::set<int> seen;
    for (int a : list)
      TESSERA_CHECK(a >= 0 && a < s.mesh.rank() && seen.insert(a).second, "step {}: axis {} of {}",
                    at, a, s.mesh);
  }

  void within(std::initializer_list<int> operands, const AxisList& step) const {
    for (int operand : operands)
      TESSERA_CHECK(subset(slot(operand).axes, step),
                    "step {}: %{} varies over more axes than the step", at, operand);
  }

  void check(const KernelStep& k) const {
    axes(k.axes);
    TESSERA_CHECK(k.slots.size() == k.kernel.buffers.size(), "step {}: {} slots for {} buffers", at,
                  k.slots.size(), k.kernel.buffers.size());
    for (size_t i = 0; i < k.slots.size(); ++i) {
      const KernelBuffer& buffer = k.kernel.buffers[i];
      TESSERA_CHECK((k.slots[i] == -1) == (buffer.kind == BufferKind::kScratch),
                    "step {}: buffer {}", at, i);
      if (k.slots[i] == -1) continue;
      const Slot& v = slot(k.slots[i]);
      TESSERA_CHECK(may_be_array_of(buffer, v.dtype) && v.shape.elements() == buffer.elements,
                    "step {}: buffer {} has {} elements of {}, slot %{} {} of {}", at, i,
                    buffer.elements, buffer.dtype, k.slots[i], v.shape.elements(), v.dtype);
      TESSERA_CHECK(subset(v.axes, k.axes), "step {}: slot %{} varies over more axes than the step",
                    at, k.slots[i]);
      if (buffer.kind == BufferKind::kOutput)
        TESSERA_CHECK(subset(k.axes, v.axes),
                      "step {}: output %{} varies over fewer axes than the step", at, k.slots[i]);
    }
  }
  void check(const DotStep& d) const {
    axes(d.axes);
    axes(d.reduce_axes);
    const Slot &lhs = slot(d.lhs), &rhs = slot(d.rhs), &out = slot(d.out);
    TESSERA_CHECK(
        d.lhs_batch.size() == d.rhs_batch.size() && d.lhs_contract.size() == d.rhs_contract.size(),
        "step {}", at);
    Shape expected;
    for (size_t i = 0; i < d.lhs_batch.size(); ++i) {
      TESSERA_CHECK(lhs.shape.at(d.lhs_batch[i]) == rhs.shape.at(d.rhs_batch[i]),
                    "step {}: batch dim {}", at, i);
      expected.push_back(lhs.shape[d.lhs_batch[i]]);
    }
    for (size_t i = 0; i < d.lhs_contract.size(); ++i)
      TESSERA_CHECK(lhs.shape.at(d.lhs_contract[i]) == rhs.shape.at(d.rhs_contract[i]),
                    "step {}: contracting dim {}", at, i);
    for (int64_t i : dot_free_dims(lhs.shape.rank(), d.lhs_batch, d.lhs_contract))
      expected.push_back(lhs.shape[i]);
    for (int64_t i : dot_free_dims(rhs.shape.rank(), d.rhs_batch, d.rhs_contract))
      expected.push_back(rhs.shape[i]);
    TESSERA_CHECK(out.shape == expected, "step {}: dot of {} and {} is {}, not {}", at, lhs.shape,
                  rhs.shape, expected, out.shape);
    within({d.lhs, d.rhs}, d.axes);
    TESSERA_CHECK(subset(d.reduce_axes, d.axes), "step {}: reduce_axes", at);
    for (int a : d.axes) {
      const bool summed = contains(d.reduce_axes, a), varies = contains(out.axes, a);
      TESSERA_CHECK(summed != varies, "step {}: axis {} of the result", at, a);
    }
    TESSERA_CHECK(subset(out.axes, d.axes), "step {}: axes of the result", at);
    if (d.bias >= 0)
      TESSERA_CHECK(!out.shape.empty() && slot(d.bias).shape.elements() == out.shape.back() &&
                        subset(slot(d.bias).axes, d.axes),
                    "step {}: bias %{}", at, d.bias);
    if (d.symmetric)
      TESSERA_CHECK(d.lhs == d.rhs && d.lhs_contract == d.rhs_contract, "step {}: symmetric", at);
  }
  void check(const ConvolutionStep& c) const {
    axes(c.axes);
    const Slot &lhs = slot(c.lhs), &rhs = slot(c.rhs), &out = slot(c.out);
    const Type operands[] = {{lhs.dtype, lhs.shape}, {rhs.dtype, rhs.shape}};
    const Type expected = convolution_op.infer(operands, c.params)[0];
    TESSERA_CHECK(out.dtype == expected.dtype && out.shape == expected.shape,
                  "step {}: convolution of {} and {} is {}, not {}", at, lhs.shape, rhs.shape,
                  expected.shape, out.shape);
    within({c.lhs, c.rhs}, c.axes);
    TESSERA_CHECK(same_axes(out.axes, c.axes), "step {}: axes of the result", at);
  }
  void check(const CollectiveStep& c) const {
    axes(c.over);
    if (c.kind != CollectiveKind::kAxisIndex) slot(c.in);
    slot(c.out);
    for (int i : c.sizes) slot(i);
    const int64_t ranks = axes_size(s.mesh, c.over);
    for (const Dims& pair : c.pairs)
      TESSERA_CHECK(
          pair.size() == 2 && pair[0] >= 0 && pair[0] < ranks && pair[1] >= 0 && pair[1] < ranks,
          "step {}: pair {} of {} ranks", at, pair, ranks);
    std::set<int64_t> seen;
    for (const Dims& group : c.groups) {
      TESSERA_CHECK(c.kind == CollectiveKind::kAllReduce || group.size() == c.groups.front().size(),
                    "step {}: groups of different sizes", at);
      for (int64_t rank : group)
        TESSERA_CHECK(rank >= 0 && rank < ranks && seen.insert(rank).second,
                      "step {}: rank {} in the groups", at, rank);
    }
    if (!c.groups.empty())
      TESSERA_CHECK(static_cast<int64_t>(seen.size()) == ranks, "step {}: groups", at);
  }
  void check(const InstanceTableStep& t) const {
    const Slot& v = slot(t.out);
    TESSERA_CHECK(static_cast<int64_t>(t.values.size()) == v.instances,
                  "step {}: {} literals for {} instances", at, t.values.size(), v.instances);
    for (const Literal& literal : t.values)
      TESSERA_CHECK(literal.dtype() == v.dtype && literal.elements() == v.shape.elements(),
                    "step {}: literal", at);
  }
  void check(const ViewStep& v) const {
    TESSERA_CHECK(slot(v.in).bytes() == slot(v.out).bytes(),
                  "step {}: a view of {} bytes of {} bytes", at, slot(v.out).bytes(),
                  slot(v.in).bytes());
  }
  void check(const CallStep& c) const {
    axes(c.axes);
    for (int i : c.in) TESSERA_CHECK(subset(slot(i).axes, c.axes), "step {}: %{}", at, i);
    for (int i : c.out) TESSERA_CHECK(same_axes(slot(i).axes, c.axes), "step {}: %{}", at, i);
    TESSERA_CHECK(static_cast<bool>(c.fn), "step {}: call {} without a function", at, c.name);
    for (size_t r = 0; c.updates && r < c.out.size(); ++r)
      TESSERA_CHECK(r < c.in.size() && slot(c.in[r]).dtype == slot(c.out[r]).dtype &&
                        slot(c.in[r]).bytes() == slot(c.out[r]).bytes(),
                    "step {}: call {} updates no operand", at, c.name);
  }
  void check(const UpdateStep& u) const {
    axes(u.axes);
    const Slot &in = slot(u.in), &update = slot(u.update), &out = slot(u.out);
    TESSERA_CHECK(in.dtype == out.dtype && update.dtype == out.dtype && in.shape == out.shape,
                  "step {}: an update of {}{} by {}{} is {}{}", at, in.dtype, in.shape,
                  update.dtype, update.shape, out.dtype, out.shape);
    TESSERA_CHECK(update.shape.size() == out.shape.size() && u.starts.size() == out.shape.size(),
                  "step {}: an update of rank {} with {} starts for rank {}", at,
                  update.shape.size(), u.starts.size(), out.shape.size());
    for (size_t d = 0; d < out.shape.size(); ++d) {
      TESSERA_CHECK(update.shape[d] <= out.shape[d], "step {}: an update larger than its operand",
                    at);
      const Slot& start = slot(u.starts[d]);
      TESSERA_CHECK(is_integer(start.dtype) && start.shape.elements() == 1, "step {}: start %{}",
                    at, u.starts[d]);
      within({u.starts[d]}, u.axes);
    }
    within({u.in, u.update}, u.axes);
    TESSERA_CHECK(same_axes(out.axes, u.axes), "step {}: axes of the result", at);
  }
  // Checks slots of this schedule against the inputs or outputs of a nested one, from number
  // `first` on. `slices`: the nested schedule has one row of each of so many.
  void match(const std::vector<int>& outer_slots, const Schedule& inner,
             const std::vector<int>& inner_slots, size_t first, bool outputs,
             int64_t slices = -1) const {
    TESSERA_CHECK(inner_slots.size() >= first + outer_slots.size(), "step {}: {} slots for {}", at,
                  outer_slots.size(), inner_slots.size());
    for (size_t i = 0; i < outer_slots.size(); ++i) {
      const int inside = inner_slots[first + i];
      const Slot &a = slot(outer_slots[i]), &b = inner.slots[inside];
      const bool rows = slices < 0 || (!a.shape.empty() && a.shape[0] == slices);
      TESSERA_CHECK(
          a.dtype == b.dtype && rows && a.bytes() == b.bytes() * (slices < 0 ? 1 : slices),
          "step {}: %{} and the nested schedule's %{}", at, outer_slots[i], inside);
      TESSERA_CHECK(subset(a.axes, b.axes),
                    "step {}: %{} varies over more axes than the nested schedule's %{}", at,
                    outer_slots[i], inside);
      TESSERA_CHECK(!outputs || a.instances == b.instances,
                    "step {}: %{} varies over fewer axes than the nested result", at,
                    outer_slots[i]);
    }
  }
  void nested(const Schedule& inner) const {
    TESSERA_CHECK(inner.mesh == s.mesh, "step {}: the nested schedule has another mesh", at);
    verify(inner);
  }
  void check(const LoopStep& l) const {
    TESSERA_CHECK(l.body != nullptr, "step {}: a loop without a body", at);
    nested(*l.body);
    const Schedule& body = *l.body;
    const size_t state = l.consts.size() + l.in.size();
    TESSERA_CHECK(l.in.size() == l.out.size() && body.inputs.size() == state + l.xs.size() &&
                      body.outputs.size() == l.out.size() + l.ys.size(),
                  "step {}: a body of {} inputs and {} outputs", at, body.inputs.size(),
                  body.outputs.size());
    match(l.consts, body, body.inputs, 0, false);
    match(l.in, body, body.inputs, l.consts.size(), false);
    match(l.xs, body, body.inputs, state, false, l.trip_count);
    match(l.out, body, body.outputs, 0, true);
    match(l.ys, body, body.outputs, l.out.size(), true, l.trip_count);
    for (size_t c = 0; c < l.in.size(); ++c) {
      const Slot &in = body.slots[body.inputs[l.consts.size() + c]],
                 &out = body.slots[body.outputs[c]];
      TESSERA_CHECK(in.axes == out.axes, "step {}: carry {} varies over other axes after a trip",
                    at, c);
    }
    if (!l.cond) {
      TESSERA_CHECK(l.trip_count >= 0, "step {}: {} trips", at, l.trip_count);
      return;
    }
    TESSERA_CHECK(l.xs.empty() && l.ys.empty(), "step {}: slices of an unknown number of trips",
                  at);
    nested(*l.cond);
    TESSERA_CHECK(l.cond->inputs.size() == state, "step {}: a condition of {} inputs", at,
                  l.cond->inputs.size());
    match(l.consts, *l.cond, l.cond->inputs, 0, false);
    match(l.out, *l.cond, l.cond->inputs, l.consts.size(), false);
    TESSERA_CHECK(l.cond->outputs.size() == 1, "step {}: a condition of {} results", at,
                  l.cond->outputs.size());
    const Slot& result = l.cond->slots[l.cond->outputs[0]];
    TESSERA_CHECK(result.dtype == bool_ && result.shape.elements() == 1 && result.instances == 1,
                  "step {}: the condition", at);
  }
  void check(const BranchStep& b) const {
    const Slot& index = slot(b.index);
    TESSERA_CHECK((index.dtype == int32 || index.dtype == bool_) && index.shape.elements() == 1 &&
                      index.instances == 1,
                  "step {}: index", at);
    TESSERA_CHECK(!b.branches.empty(), "step {}: no branches", at);
    TESSERA_CHECK(!b.expected || *b.expected < b.branches.size(), "step {}: the expected branch",
                  at);
    for (const auto& branch : b.branches) {
      nested(*branch);
      TESSERA_CHECK(branch->inputs.size() == b.in.size() && branch->outputs.size() == b.out.size(),
                    "step {}: a branch of {} inputs and {} outputs", at, branch->inputs.size(),
                    branch->outputs.size());
      match(b.in, *branch, branch->inputs, 0, false);
      match(b.out, *branch, branch->outputs, 0, true);
    }
  }
};

}  // namespace

StepSlots step_slots(const Step& step) {
  StepSlots out = std::visit([](const auto& s) { return slots_of(s); }, step);
  return {each_once(std::move(out.reads)), each_once(std::move(out.writes))};
}

int64_t axes_size(const Mesh& mesh, const AxisList& axes) {
  int64_t n = 1;
  for (int a : axes) n *= mesh.axis_sizes()[a];
  return n;
}

std::vector<int32_t> instance_map(const Mesh& mesh, const AxisList& from, const AxisList& to) {
  // For each axis, how much the instance number of `to` grows from one coordinate to the next.
  std::vector<int64_t> weight(mesh.rank(), 0);
  int64_t stride = 1;
  for (size_t i = to.size(); i-- > 0;) {
    weight[to[i]] = stride;
    stride *= mesh.axis_sizes()[to[i]];
  }
  std::vector<int32_t> map(axes_size(mesh, from));
  for (size_t n = 0; n < map.size(); ++n) {
    auto rest = static_cast<int64_t>(n);
    int64_t instance = 0;
    for (size_t i = from.size(); i-- > 0;) {
      const auto axis = static_cast<size_t>(from[i]);
      instance += rest % mesh.axis_sizes()[axis] * weight[axis];
      rest /= mesh.axis_sizes()[axis];
    }
    map[n] = static_cast<int32_t>(instance);
  }
  return map;
}

int64_t instance_count(const Schedule& s, const AxisList& axes) {
  return s.local ? static_cast<int64_t>(s.local->instances(axes).size()) : axes_size(s.mesh, axes);
}
std::vector<int32_t> instance_map(const Schedule& s, const AxisList& from, const AxisList& to) {
  return s.local ? s.local->map(from, to) : instance_map(s.mesh, from, to);
}

void verify(const Schedule& s) {
  Verifier v{s};
  for (size_t i = 0; i < s.slots.size(); ++i) {
    const Slot& slot = s.slots[i];
    v.axes(slot.axes);
    TESSERA_CHECK(slot.instances == instance_count(s, slot.axes), "slot %{}: {} instances", i,
                  slot.instances);
    if (slot.kind == Slot::Kind::kConstant)
      TESSERA_CHECK(
          slot.literal.dtype() == slot.dtype && slot.literal.elements() == slot.shape.elements(),
          "slot %{}: its literal", i);
  }
  std::vector<bool> written(s.slots.size(), false);
  for (int i : s.inputs) {
    TESSERA_CHECK(v.slot(i).kind == Slot::Kind::kInput, "input %{}", i);
    written[i] = true;
  }
  for (size_t i = 0; i < s.slots.size(); ++i)
    if (s.slots[i].kind == Slot::Kind::kConstant) written[i] = true;
  for (v.at = 0; v.at < s.steps.size(); ++v.at) {
    std::visit([&](const auto& step) { v.check(step); }, s.steps[v.at]);
    const StepSlots slots = step_slots(s.steps[v.at]);
    for (int i : slots.reads)
      TESSERA_CHECK(written[i], "step {} reads %{} before it is written", v.at, i);
    for (int i : slots.writes) {
      const Slot::Kind kind = v.slot(i).kind;
      TESSERA_CHECK(kind == Slot::Kind::kOutput || kind == Slot::Kind::kTemporary,
                    "step {} writes %{}, which is constant or an input", v.at, i);
      written[i] = true;
    }
  }
  for (int i : s.outputs) TESSERA_CHECK(written[(v.slot(i), i)], "output %{} is never written", i);
}

std::string to_string(const Schedule& s) {
  std::string out = fmt::format("schedule on {}\n", s.mesh);
  for (size_t i = 0; i < s.slots.size(); ++i) {
    const Slot& slot = s.slots[i];
    out +=
        fmt::format("  %{}: {}{} over {}", i, slot.dtype, slot.shape, axes_text(s.mesh, slot.axes));
    switch (slot.kind) {
      case Slot::Kind::kInput:
        out += fmt::format(" input {}", slot.index);
        break;
      case Slot::Kind::kOutput:
        out += fmt::format(" output {}", slot.index);
        break;
      case Slot::Kind::kConstant:
        out += " constant";
        break;
      case Slot::Kind::kTemporary:
        break;
    }
    out += "\n";
  }
  for (const Step& step : s.steps) out += "  " + step_text(s, step);
  return out + fmt::format("  return {}\n", slots_text(s.outputs));
}

}  // namespace tessera::fusion
