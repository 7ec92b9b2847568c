#include "tessera/numpy/placement.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "tessera/cluster/processes.h"
#include "tessera/compile/place.h"
#include "tessera/control/control.h"
#include "tessera/ir/format.h"
#include "tessera/numpy/local_data.h"
#include "tessera/runtime/copy.h"

namespace tessera {

using namespace compile;

Array device_put(const Array& x, const Sharding& sharding) {
  if (x.is_tracer()) {
    if (!sharding.is_named())
      trace_error("device_put",
                  "expected a NamedSharding for the traced {}, got {}; place the function's "
                  "arguments instead",
                  describe(x.type()), sharding);
    return lax::sharding_constraint(x, sharding.named());
  }
  if (sharding.is_named()) check_rank("device_put", sharding.named(), x.shape());
  if (layout_of(*x.data()) && x.sharding() == sharding) return x;
  return Array(placed_data(x, sharding));
}

Array device_put(const Array& x, const Device& device) {
  return device_put(x, Sharding(SingleDeviceSharding(device)));
}

Array with_sharding_constraint(const Array& x, const NamedSharding& sharding) {
  if (Trace::current()) return lax::sharding_constraint(x, sharding);
  check_rank("with_sharding_constraint", sharding, x.shape());
  return device_put(x, Sharding(sharding));
}

std::vector<Shard> addressable_shards(const Array& x) {
  if (x.is_tracer())
    trace_error("addressable_shards",
                "expected a concrete array, got the traced {}: it has no data yet",
                describe(x.type()));
  return in_memory(x)->addressable_shards();
}

Array make_array_from_callback(const Shape& shape, const Sharding& sharding, DType dtype,
                               const std::function<Literal(const ShardIndex&)>& data) {
  return Array(placed_from_callback(dtype, shape, sharding, data));
}

bool is_fully_addressable(const Array& x) {
  const Sharding sharding = x.sharding();
  if (!cluster::Processes::current() || !sharding.is_named()) return true;
  const std::vector<Device> devices = sharding.devices();
  return std::all_of(devices.begin(), devices.end(),
                     [](const Device& d) { return d.process_index == process_index(); });
}

namespace {

constexpr std::string_view kFromProcesses = "make_array_from_process_local_data";

// The parts that each process holds, and those of this one.
struct Parts {
  std::map<int64_t, internal::ProcessParts> all;
  const internal::ProcessParts* mine = nullptr;
};

// Returns how many different sets of parts of dimension d the processes hold, if the sets are
// disjoint and of equal size. Otherwise returns nullopt: then the length of the dimension does not
// follow from one process.
std::optional<int64_t> different_parts(const Parts& parts, size_t d) {
  std::set<std::set<int64_t>> sets;
  std::set<int64_t> together;
  for (const auto& [process, held] : parts.all) {
    sets.insert(held[d]);
    together.insert(held[d].begin(), held[d].end());
  }
  const size_t size = sets.begin()->size();
  const bool equal = std::all_of(sets.begin(), sets.end(),
                                 [&](const std::set<int64_t>& s) { return s.size() == size; });
  if (!equal || size * sets.size() != together.size()) return std::nullopt;
  return static_cast<int64_t>(sets.size());
}

Shape global_shape_of(const NamedSharding& sharding, const Parts& parts, const Shape& local) {
  Shape out;
  for (size_t d = 0; d < local.size(); ++d) {
    const std::optional<int64_t> different = different_parts(parts, d);
    if (!different)
      sharding_error(kFromProcesses,
                     "expected processes that hold disjoint parts of dimension {}, or the same, so "
                     "that its length follows from the {} of one process, got {}, where they "
                     "overlap; give the global shape",
                     d, local[d], sharding);
    out.push_back(local[d] * *different);
  }
  return out;
}

// The start of each shard along one dimension in the data of this process.
struct LocalDim {
  bool whole = false;  // the data has all of the global dimension
  std::map<int64_t, int64_t> starts;
};

LocalDim local_dim(const Parts& parts, const NamedSharding& sharding, size_t d, int64_t local,
                   const Shape& global) {
  const int64_t extent = global[d];
  if (local == extent) return {true, {}};
  LocalDim out;
  int64_t held = 0;
  for (int64_t part : (*parts.mine)[d]) {
    const IndexRange range =
        shard_range(extent, sharding.num_shards(static_cast<int64_t>(d)), part);
    out.starts.emplace(range.start, held);
    held += range.size();
  }
  if (held != local)
    shape_error(kFromProcesses,
                "expected data with {} elements in dimension {}, as the devices of process {} hold "
                "of the global shape {} on {}, or with all {}, got {}; process_local_rows says "
                "which rows those are",
                held, d, process_index(), global, sharding, extent, local);
  return out;
}

}  // namespace

Array make_array_from_process_local_data(const Sharding& sharding, const Array& local_data,
                                         const std::optional<Shape>& global_shape) {
  if (local_data.is_tracer())
    trace_error(kFromProcesses, "expected data, got the traced {}; call it outside of jit",
                describe(local_data.type()));
  if (process_count() == 1 || !sharding.is_named()) {
    if (global_shape && *global_shape != local_data.shape())
      shape_error(kFromProcesses,
                  "expected a global shape equal to that of the data, {}, all of which one process "
                  "has, got {}; leave it out",
                  local_data.shape(), *global_shape);
    return device_put(local_data, sharding);
  }
  if (!is_fully_addressable(local_data))
    value_error(
        kFromProcesses,
        "expected data of this process, got {} over several processes ({}); it is one array "
        "already, which device_put moves",
        describe(local_data.type()), local_data.sharding());
  const NamedSharding& named = sharding.named();
  const Shape& local = local_data.shape();
  check_rank(kFromProcesses, named, local);
  Parts parts{internal::process_parts(named, local.rank())};
  const auto mine = parts.all.find(process_index());
  if (mine == parts.all.end())
    sharding_error(
        kFromProcesses,
        "expected a mesh with devices of process {}, got {}; only processes with devices "
        "in it give data",
        process_index(), named);
  parts.mine = &mine->second;
  const Shape global = global_shape ? *global_shape : global_shape_of(named, parts, local);
  if (global.size() != local.size())
    shape_error(kFromProcesses, "expected a global shape of {} dimensions, as the data {}, got {}",
                local.size(), local, global);
  std::vector<LocalDim> dims;
  for (size_t d = 0; d < local.size(); ++d)
    dims.push_back(local_dim(parts, named, d, local[d], global));
  const Literal data = internal::local_literal(local_data);
  const int64_t size = itemsize(data.dtype());
  const Dims strides = byte_strides(local, size);
  return make_array_from_callback(global, sharding, data.dtype(), [&](const ShardIndex& index) {
    Shape shape;
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      shape.push_back(index[d].size());
      offset += (dims[d].whole ? index[d].start : dims[d].starts.at(index[d].start)) * strides[d];
    }
    Literal out(data.dtype(), shape);
    copy_all(make_copy_pattern(shape, byte_strides(shape, size), strides, size), out.mutable_raw(),
             data.raw() + offset);
    return out;
  });
}

std::vector<IndexRange> process_local_rows(const Sharding& sharding, int64_t rows) {
  if (process_count() == 1 || !sharding.is_named()) return {{0, rows}};
  const auto all = internal::process_parts(sharding.named(), 1);
  const auto mine = all.find(process_index());
  std::vector<IndexRange> out;
  if (mine == all.end()) return out;
  for (int64_t part : mine->second[0]) {
    const IndexRange range = shard_range(rows, sharding.num_shards(0), part);
    if (range.size() == 0) continue;
    if (!out.empty() && out.back().stop == range.start) {
      out.back().stop = range.stop;
    } else {
      out.push_back(range);
    }
  }
  return out;
}

void visualize_array_sharding(const Array& x, const VisualizeOptions& options) {
  std::cout << sharding_table(x.shape(), x.sharding(), options);
  if (!x.is_tracer()) std::cout.flush();
}

}  // namespace tessera
