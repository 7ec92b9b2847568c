#include "tessera/compile/pipeline.h"

#include <chrono>

#include "tessera/fusion/fuse.h"
#include "tessera/sharding/atoms.h"
#include "tessera/sharding/finer_mesh.h"
#include "tessera/sharding/flatten_regions.h"
#include "tessera/sharding/merge_equal_ops.h"

namespace tessera {
namespace {

class Timer {
 public:
  double seconds() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The mesh axes an array with this sharding is stored over, in the order of its instances:
// dimension by dimension, major first.
AxisList storage_axes(const NamedSharding& sharding, const Mesh& mesh, int64_t rank) {
  const NamedSharding here = translate("jit", sharding, mesh);
  AxisList out;
  for (int64_t d = 0; d < rank; ++d)
    for (const AxisRef& axis : here.dim_axes(d))
      out.push_back(static_cast<int>(mesh.axis_index(axis.name)));
  return out;
}

}  // namespace

Stages run_pipeline(const Function& traced, const ShardingRequest& request, Stage last) {
  if (!request.compute_as.empty()) {
    Stages finer =
        run_pipeline(on_finer_mesh(traced, request.compute_as), on_finer_mesh(request), last);
    finer.traced = traced;
    return finer;
  }
  Stages s;
  Timer timer;
  s.traced = traced;
  s.mesh = program_mesh(traced, request);
  if (last == Stage::kTraced) return s;

  const bool sharded = s.mesh.rank() > 0;
  s.propagated = sharded ? propagate(remove_dead_ops(merge_equal_ops(traced)), s.mesh, request)
                         : flatten_regions(remove_dead_ops(traced));
  s.propagate_seconds = timer.seconds();
  if (last == Stage::kPropagated) return s;

  if (sharded) {
    s.partitioned = partition(s.propagated, s.mesh);
  } else {
    s.partitioned.function = s.propagated;
  }
  s.partition_seconds = timer.seconds();
  if (last == Stage::kPartitioned) return s;

  FuseOptions options;
  for (size_t i = 0; sharded && i < s.partitioned.inputs.size(); ++i)
    options.input_axes.push_back(storage_axes(s.partitioned.inputs[i], s.partitioned.mesh,
                                              traced.types[traced.inputs[i]].rank()));
  s.schedule = fuse(s.partitioned.function, s.partitioned.mesh, options);
  s.fuse_seconds = timer.seconds();
  return s;
}

}  // namespace tessera
