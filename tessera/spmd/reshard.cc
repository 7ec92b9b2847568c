#include "tessera/spmd/reshard.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::spmd {

Shape local_shape(const AtomMesh& mesh, const Shape& global, const DimAtoms& dims) {
  Shape out = global;
  for (size_t d = 0; d < dims.size(); ++d) out[d] = ceil_div(global[d], mesh.size(dims[d]));
  return out;
}

Array atom_index(const AtomMesh& mesh, const AtomList& atoms) {
  if (atoms.empty()) return Array(Literal::scalar<int32_t>(0));
  return bind_op1(axis_index_op, AxisIndexParams{mesh.mesh(), mesh.axis_names(atoms)}, {});
}

Array shard_start(const AtomMesh& mesh, const AtomList& atoms, int64_t rows) {
  return lax::mul(atom_index(mesh, atoms), Array(Literal::scalar(static_cast<int32_t>(rows))));
}

Array global_rows(const AtomMesh& mesh, const AtomList& atoms, const Shape& shape, int64_t dim) {
  const Array start = shard_start(mesh, atoms, shape[dim]);
  return lax::add(lax::iota(int32, shape, dim), lax::broadcast_in_dim(start, shape, {}));
}

Array pad_dim(const Array& x, int dim, int64_t low, int64_t high, int64_t interior) {
  if (low == 0 && high == 0 && interior == 0) return x;
  Dims lows(x.ndim(), 0), highs(x.ndim(), 0), interiors(x.ndim(), 0);
  lows[dim] = low;
  highs[dim] = high;
  interiors[dim] = interior;
  return lax::pad(x, Array(Literal(x.dtype(), Shape{})), lows, highs, interiors);
}

Array dynamic_rows(const Array& x, int dim, const Array& start, int64_t size) {
  std::vector<Array> starts(x.ndim(), Array(Literal::scalar<int32_t>(0)));
  starts[dim] = start;
  Shape sizes = x.shape();
  sizes[dim] = size;
  return lax::dynamic_slice(x, starts, sizes);
}

namespace {

// Returns x with dimension `dim` made longer or shorter at its end. Added elements are padding.
Array with_extent(const Array& x, int dim, int64_t extent) {
  const int64_t now = x.shape()[dim];
  return extent < now ? lax::slice_in_dim(x, 0, extent, 1, dim) : pad_dim(x, dim, 0, extent - now);
}

// Returns pairs (sender, receiver) of shards, as ranks over all these axes.
std::vector<Dims> permutation_pairs(const AtomMesh& mesh, const AtomList& over,
                                    const DimAtoms& from, const DimAtoms& to) {
  // Orders the axes by the dimensions that they shard; axes that shard nothing come last. Equal
  // positions in the two orders have the same data.
  auto ordered = [&](const DimAtoms& dims) {
    AtomList out;
    for (const AtomList& d : dims) out.insert(out.end(), d.begin(), d.end());
    const AtomSet used = atom_set(out);
    for (Atom a : over)
      if (!(used & atom_bit(a))) out.push_back(a);
    return out;
  };
  const AtomList source = ordered(from), target = ordered(to);
  const int64_t n = mesh.size(over);
  auto rank = [&](const AtomList& order, int64_t position) {
    std::array<int64_t, 64> coordinate{};
    for (size_t i = order.size(); i-- > 0;) {
      coordinate[order[i]] = position % mesh.size(order[i]);
      position /= mesh.size(order[i]);
    }
    int64_t out = 0;
    for (Atom a : over) out = out * mesh.size(a) + coordinate[a];
    return out;
  };
  std::vector<Dims> pairs;
  for (int64_t i = 0; i < n; ++i) pairs.push_back({rank(source, i), rank(target, i)});
  std::sort(pairs.begin(), pairs.end(), [](const Dims& a, const Dims& b) { return a[0] < b[0]; });
  return pairs;
}

}  // namespace

Array apply_reshard(const AtomMesh& mesh, const Shape& global, const std::vector<ReshardStep>& plan,
                    Array x) {
  for (const ReshardStep& step : plan) {
    const Shape after = local_shape(mesh, global, step.after);
    switch (step.kind) {
      case ReshardStep::Kind::kSlice:
        x = with_extent(x, step.dim, after[step.dim] * mesh.size(step.atoms));
        x = dynamic_rows(x, step.dim, shard_start(mesh, step.atoms, after[step.dim]),
                         after[step.dim]);
        break;
      case ReshardStep::Kind::kAllGather:
        x = bind_op1(all_gather_op,
                     AllGatherParams{
                         .mesh = mesh.mesh(), .axes = mesh.axis_names(step.atoms), .dim = step.dim},
                     {x});
        x = with_extent(x, step.dim, after[step.dim]);
        break;
      case ReshardStep::Kind::kAllToAll:
        x = with_extent(x, step.to_dim, after[step.to_dim] * mesh.size(step.atoms));
        x = bind_op1(all_to_all_op,
                     AllToAllParams{.mesh = mesh.mesh(),
                                    .axes = mesh.axis_names(step.atoms),
                                    .split_dim = step.to_dim,
                                    .concat_dim = step.dim},
                     {x});
        x = with_extent(x, step.dim, after[step.dim]);
        break;
      case ReshardStep::Kind::kPermute: {
        const AtomList over = mesh.ordered(used_atoms(step.before) | used_atoms(step.after));
        x = bind_op1(collective_permute_op,
                     CollectivePermuteParams{
                         .mesh = mesh.mesh(),
                         .axes = mesh.axis_names(over),
                         .pairs = permutation_pairs(mesh, over, step.before, step.after)},
                     {x});
        break;
      }
    }
  }
  return x;
}

std::string to_string(const AtomMesh& mesh, const ReshardStep& step) {
  const std::string axes = fmt::format("{}", fmt::join(mesh.axis_names(step.atoms), ","));
  switch (step.kind) {
    case ReshardStep::Kind::kSlice:
      return fmt::format("slice dim {} by {}", step.dim, axes);
    case ReshardStep::Kind::kAllGather:
      return fmt::format("all_gather dim {} over {}", step.dim, axes);
    case ReshardStep::Kind::kAllToAll:
      return fmt::format("all_to_all {} from dim {} to dim {}", axes, step.dim, step.to_dim);
    case ReshardStep::Kind::kPermute:
      return "collective_permute";
  }
  return {};
}

}  // namespace tessera::spmd
