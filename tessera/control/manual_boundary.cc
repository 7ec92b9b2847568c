#include "tessera/control/manual_boundary.h"

#include <algorithm>

#include "tessera/control/samples.h"

namespace tessera::ops {
namespace {

// Returns the number of shards that the manual axes make of dimension `d`.
int64_t manual_shards(const ManualBoundaryParams& p, int64_t d) {
  int64_t n = 1;
  for (const AxisRef& axis : p.spec.dim(d).axes) n *= axis_ref_size(p.mesh, axis);
  return n;
}

AxisNames spec_axes(const ManualBoundaryParams& p) {
  AxisNames names;
  for (const DimSpec& d : p.spec.dims())
    for (const AxisRef& axis : d.axes) names.push_back(axis.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Type> infer_full_to_shard(std::span<const Type> operands,
                                      const ManualBoundaryParams& p) {
  Type out = operands[0];
  out.sharding = nullptr;
  for (int64_t d = 0; d < out.rank(); ++d) {
    const int64_t n = manual_shards(p, d);
    if (out.shape[d] % n)
      sharding_error("shard_map",
                     "expected dimension {} of {} to be a multiple of its {} shards (in_spec {}); "
                     "pad it, or shard another "
                     "dimension",
                     d, describe(operands[0]), n, p.spec);
    out.shape[d] /= n;
  }
  out.varying = axis_union(out.varying, spec_axes(p));
  return {out};
}

std::vector<Type> infer_shard_to_full(std::span<const Type> operands,
                                      const ManualBoundaryParams& p) {
  Type out = operands[0];
  out.sharding = nullptr;
  for (int64_t d = 0; d < out.rank(); ++d) out.shape[d] *= manual_shards(p, d);
  AxisNames manual = p.manual_axes;
  std::sort(manual.begin(), manual.end());
  out.varying = axis_difference(out.varying, manual);
  return {out};
}

// Dimension d of the full value has two factors: the number of manual shards and the local extent.
// The shard has only the second.
Factors boundary_factors(std::span<const Type> operands, std::span<const Type> results,
                         const ManualBoundaryParams& p, bool entering) {
  Factors out;
  TensorFactors full, shard;
  const Shape& local = entering ? results[0].shape : operands[0].shape;
  for (int64_t d = 0; d < local.rank(); ++d) {
    const int64_t n = manual_shards(p, d);
    DimFactors dims;
    if (n > 1) dims.push_back(out.add(n));
    const int extent = out.add(local[d]);
    dims.push_back(extent);
    full.push_back(dims);
    shard.push_back({extent});
  }
  out.operands = {entering ? full : shard};
  out.results = {entering ? shard : full};
  return out;
}

}  // namespace

const OpDef& full_to_shard_op = define<ManualBoundaryParams>({
    .name = "full_to_shard",
    .dialect = "tessera",
    .attributes = {"mesh", "spec", "manual_axes"},
    .infer = infer_full_to_shard,
    .factors = [](std::span<const Type> o, std::span<const Type> r,
                  const ManualBoundaryParams& p) { return boundary_factors(o, r, p, true); },
    .lower = ManualBorder{.entering = true},
    .samples = control::samples::full_to_shard_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& shard_to_full_op = define<ManualBoundaryParams>({
    .name = "shard_to_full",
    .dialect = "tessera",
    .attributes = {"mesh", "spec", "manual_axes"},
    .infer = infer_shard_to_full,
    .factors = [](std::span<const Type> o, std::span<const Type> r,
                  const ManualBoundaryParams& p) { return boundary_factors(o, r, p, false); },
    .lower = ManualBorder{.entering = false},
    .samples = control::samples::shard_to_full_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops
