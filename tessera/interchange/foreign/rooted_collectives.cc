// StableHLO's collectives with a root in each group: collective_broadcast, whose groups may leave
// devices out (which get zeros), and collective_reduce, whose result only the root gets (the others
// get zeros). The roots are the first device of each group, or an operand.
#include <algorithm>
#include <numeric>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/foreign/insert_traced.h"
#include "tessera/interchange/formats/collective_text.h"
#include "tessera/interchange/op_table.h"
#include "tessera/ir/narrow_ops.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/collectives/collectives_rules.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/neutral.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::interchange::foreign {
namespace {

using namespace formats;

// Groups that contain each device. Devices that the text leaves out are groups of one.
struct RootedGroups {
  Mesh mesh;
  AxesAndGroups at;
  std::vector<int32_t> positions;  // in the group, by rank; -1: the text leaves the device out

  bool leaves_out() const { return std::count(positions.begin(), positions.end(), -1) > 0; }
};

RootedGroups read_rooted(OpReader& reader) {
  const WrittenGroups written = read_groups("replica_groups", reader);
  const Mesh& mesh = written.mesh;
  std::vector<int32_t> position(static_cast<size_t>(mesh.size()), -1);
  DeviceGroups groups;
  for (const auto& group : written.groups) {
    for (size_t i = 0; i < group.size(); ++i) {
      if (position[group[i]] >= 0)
        reader.error(fmt::format("expected each of the {} devices of {} in one group at most",
                                 mesh.size(), mesh));
      position[group[i]] = static_cast<int32_t>(i);
    }
    if (!group.empty()) groups.push_back(group);
  }
  for (int64_t device = 0; device < mesh.size(); ++device)
    if (position[device] < 0) groups.push_back({device});
  const auto positions = [&](const std::vector<int64_t>& line) {
    std::vector<int32_t> out;
    for (int64_t device : line) out.push_back(position[device]);
    return out;
  };
  RootedGroups out{.mesh = mesh, .at = find_axes(mesh, groups)};
  const DeviceGroups lines = device_groups(mesh, out.at.axes, {});
  out.positions = positions(lines[0]);
  // Lines along some axes may have the same groups although the text leaves out different devices
  // of them.
  for (const auto& line : lines) {
    if (positions(line) == out.positions) continue;
    out.at.axes = mesh.axis_names();
    out.at.groups = rank_groups(mesh, out.at.axes, groups).value_or(std::vector<Dims>());
    out.positions = positions(device_groups(mesh, out.at.axes, {})[0]);
    break;
  }
  return out;
}

// Returns whether the last operand has the roots: positions in the groups, one for each other
// operand.
bool has_roots(OpReader& reader) {
  const TextAttr* written = reader.text.take("has_dynamic_root");
  const bool* value = written ? written->get<bool>() : nullptr;
  const bool out = written && (!value || *value);
  const size_t count = reader.operands.size(), least = out ? 2 : 1;
  if (count < least)
    reader.error(fmt::format("expected {} operands or more, got {}", least, count));
  if (!out) return false;
  const Type& roots = reader.type(reader.operands.back());
  const Shape shape{static_cast<int64_t>(count) - 1};
  if (roots.dtype != int32 || roots.shape != shape)
    reader.error(fmt::format("expected the roots as the last operand, {}, got {}",
                             Type{.dtype = int32, .shape = shape}, roots));
  return true;
}

// Returns the position of this device in its group.
Array own_position(const RootedGroups& groups) {
  const std::vector<int32_t>& positions = groups.positions;
  if (positions.size() == 1) return Array(Literal::scalar(positions[0]));
  const Array rank = bind_op1(axis_index_op, AxisIndexParams{groups.mesh, groups.at.axes}, {});
  std::vector<int32_t> ranks(positions.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  if (positions == ranks) return rank;
  const Array table(Literal::from<int32_t>(positions, {static_cast<int64_t>(positions.size())}));
  return lax::reshape(lax::dynamic_slice_in_dim(table, rank, 1), {});
}

// Applies `one(operand, its root)` to each operand except the roots.
template <class One>
Values insert_each(OpReader& reader, bool roots, const char* name, const One& one) {
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) {
        std::vector<Array> out;
        for (size_t k = 0; k < x.size() - (roots ? 1 : 0); ++k) {
          const auto at = static_cast<int64_t>(k);
          out.push_back(one(x[k], roots ? lax::reshape(lax::slice(x.back(), {at}, {at + 1}), {})
                                        : Array(Literal::scalar(int32_t{0}))));
        }
        return out;
      },
      name);
}

Array all_reduce(const Array& x, const RootedGroups& groups, ReduceKind kind) {
  const auto& [axes, ranks] = groups.at;
  const Array sum = bind_op1(all_reduce_op, AllReduceParams{groups.mesh, axes, ranks, kind},
                             {varying(x, groups.mesh, axes)});
  return varying(sum, groups.mesh, axes);
}

Array or_zero(const Array& pred, const Array& x) {
  return lax::select(pred, x, lax::full_like(x, 0));
}

// Returns the value of the device at position `root` of the group. It is a sum to which the other
// devices add zeros.
Array broadcast_from(const Array& root, const Array& x, const RootedGroups& groups) {
  const DType wide = wide_dtype(x.dtype());
  const Array y = lax::convert_element_type(x, wide);
  const Array sent =
      lax::select(lax::eq(own_position(groups), root), y, neutral_to_sum(wide, y.shape()));
  const ReduceKind kind = wide == bool_ ? ReduceKind::kOr : ReduceKind::kSum;
  return lax::convert_element_type(all_reduce(sent, groups, kind), x.dtype());
}

}  // namespace

Values collective_broadcast(OpReader& reader) {
  Values out;
  // Tessera's own form, with groups that contain each device
  if (reader.text.find("tessera.axes")) {
    const OpParams params = read_params(collective_broadcast_op, reader);
    for (const ValueId& v : reader.operands)
      out.push_back(reader.insert(collective_broadcast_op, params, std::span(&v, 1))[0]);
    return out;
  }
  const bool roots = has_roots(reader);
  const RootedGroups groups = read_rooted(reader);
  const CollectiveBroadcastParams params{groups.mesh, groups.at.axes, groups.at.groups};
  return insert_each(reader, roots, "collective_broadcast", [&](const Array& x, const Array& root) {
    const Array y =
        roots ? broadcast_from(root, x, groups)
              : bind_op1(collective_broadcast_op, params, {varying(x, params.mesh, params.axes)});
    return groups.leaves_out() ? or_zero(lax::ge(own_position(groups), lax::full_like(root, 0)), y)
                               : y;
  });
}

Values collective_reduce(OpReader& reader) {
  const bool roots = has_roots(reader);
  const RootedGroups groups = read_rooted(reader);
  const ReduceKind kind = read_combiner(reader);
  const FunctionRef& body = reader.text.regions[0];
  const DType dtype = body->type(body->inputs[0]).dtype;
  return insert_each(reader, roots, "collective_reduce", [&](const Array& x, const Array& root) {
    const Array sum = all_reduce(lax::convert_element_type(x, dtype), groups, kind);
    return or_zero(lax::eq(own_position(groups), root), sum);
  });
}

}  // namespace tessera::interchange::foreign
