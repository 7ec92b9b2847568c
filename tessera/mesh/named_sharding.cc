#include "tessera/mesh/named_sharding.h"

#include <algorithm>
#include <ostream>
#include <unordered_map>

#include "tessera/base/error.h"
#include "tessera/base/hash.h"
#include "tessera/mesh/format.h"

namespace tessera {
namespace {

// An axis or sub-axis of the mesh: if c is the coordinate along the whole mesh axis, (c / minor) %
// size is the position along it.
struct AxisPosition {
  int64_t mesh_axis, minor, size;
};

AxisPosition locate(const Mesh& mesh, const AxisRef& axis) {
  int64_t index = mesh.axis_index(axis.name);
  int64_t full = mesh.axis_sizes()[index];
  if (axis.is_whole()) return {index, 1, full};
  return {index, full / (axis.pre_size * axis.size), axis.size};
}

// An axis that a spec uses, as the half-open range [from, to) of products of major factors.
struct AxisUse {
  const AxisRef* axis;
  int64_t from, to;
};

AxisUse check_axis(const Mesh& mesh, const PartitionSpec& spec, const AxisRef& axis) {
  if (!mesh.has_axis(axis.name))
    sharding_error("NamedSharding",
                   "expected axes of {}, got '{}' in {}; name an axis of the mesh or add it there",
                   mesh, axis.name, spec);
  int64_t full = mesh.axis_size(axis.name);
  if (axis.is_whole()) return {&axis, 1, full};
  bool divides = axis.pre_size >= 1 && axis.size >= 1 && axis.pre_size <= full &&
                 axis.size <= full && full % (axis.pre_size * axis.size) == 0;
  if (!divides)
    sharding_error("NamedSharding",
                   "expected a sub-axis whose pre-size times size divides axis '{}' of size {}, "
                   "got '{}' in {}",
                   axis.name, full, axis, spec);
  return {&axis, axis.pre_size, axis.pre_size * axis.size};
}

// Checks that every axis exists and that no part of one is used twice. Parts of one axis must also
// be factors of one decomposition: of an axis of size 12, "x":(1)2 and "x":(3)2 are not, since the
// end of one, 2, does not divide the start of the other, 3.
void check_axes(const Mesh& mesh, const PartitionSpec& spec) {
  std::vector<AxisUse> uses;
  auto use = [&](const AxisRef& axis) {
    AxisUse added = check_axis(mesh, spec, axis);
    for (const AxisUse& other : uses) {
      if (other.axis->name != axis.name) continue;
      const AxisUse& major = other.from <= added.from ? other : added;
      const AxisUse& minor = other.from <= added.from ? added : other;
      bool same = *other.axis == axis || other.axis->is_whole() || axis.is_whole();
      if (same || minor.from % major.to != 0)
        sharding_error("NamedSharding",
                       "expected each mesh axis at most once, got '{}' twice in {} for {}; shard "
                       "one dimension by it",
                       axis.name, spec, mesh);
    }
    uses.push_back(added);
  };
  for (const DimSpec& dim : spec.dims())
    for (const AxisRef& axis : dim.axes) use(axis);
  for (const AxisRef& axis : spec.replicated()) use(axis);
}

// Returns the axes with adjacent parts of one axis joined; a part that covers its axis becomes the
// axis.
std::vector<AxisRef> join_parts(const Mesh& mesh, const std::vector<AxisRef>& axes) {
  std::vector<AxisRef> result;
  for (AxisRef axis : axes) {
    if (!result.empty() && !axis.is_whole() && !result.back().is_whole() &&
        result.back().name == axis.name &&
        result.back().pre_size * result.back().size == axis.pre_size) {
      axis = {axis.name, result.back().pre_size, result.back().size * axis.size};
      result.pop_back();
    }
    if (!axis.is_whole() && axis.size == mesh.axis_size(axis.name)) axis = {axis.name};
    result.push_back(std::move(axis));
  }
  return result;
}

PartitionSpec without_unit_axes(const Mesh& mesh, const PartitionSpec& spec) {
  auto keep = [&](std::vector<AxisRef> axes) {
    std::erase_if(axes, [&](const AxisRef& axis) { return axis_ref_size(mesh, axis) == 1; });
    return axes;
  };
  std::vector<DimSpec> dims;
  for (const DimSpec& dim : spec.dims()) dims.emplace_back(keep(dim.axes), dim.open);
  std::vector<AxisRef> replicated = keep(spec.replicated());
  std::sort(replicated.begin(), replicated.end(), [](const AxisRef& a, const AxisRef& b) {
    return std::tie(a.name, a.pre_size) < std::tie(b.name, b.pre_size);
  });
  return PartitionSpec(std::move(dims), join_parts(mesh, replicated)).trimmed();
}

}  // namespace

struct NamedSharding::State {
  Mesh mesh;
  PartitionSpec spec;
  PartitionSpec joined;  // spec with adjacent parts joined
  // `joined` without axes of size 1 and without None at the end. Equality compares this.
  PartitionSpec canonical;
  std::vector<std::vector<AxisPosition>> positions;  // one list for each dimension of `joined`
  Dims num_shards;
  size_t hash = 0;
};

std::ostream& operator<<(std::ostream& out, const IndexRange& range) {
  return out << range.start << ':' << range.stop;
}

IndexRange shard_range(int64_t extent, int64_t shards, int64_t i) {
  int64_t size = ceil_div(extent, shards);
  return {std::min(i * size, extent), std::min((i + 1) * size, extent)};
}

NamedSharding::NamedSharding() {
  static const auto& empty = *new NamedSharding(Mesh(), PartitionSpec());
  state_ = empty.state_;
}

NamedSharding::NamedSharding(Mesh mesh, PartitionSpec spec) {
  check_axes(mesh, spec);
  auto state = std::make_shared<State>();
  std::vector<DimSpec> joined;
  for (const DimSpec& dim : spec.dims()) {
    joined.emplace_back(join_parts(mesh, dim.axes), dim.open);
    auto& positions = state->positions.emplace_back();
    int64_t shards = 1;
    for (const AxisRef& axis : joined.back().axes) {
      positions.push_back(locate(mesh, axis));
      shards *= positions.back().size;
    }
    state->num_shards.push_back(shards);
  }
  state->joined = PartitionSpec(std::move(joined), spec.replicated());
  state->canonical = without_unit_axes(mesh, state->joined);
  state->hash = hash_combine(mesh.hash(), hash_value(state->canonical));
  state->mesh = std::move(mesh);
  state->spec = std::move(spec);
  state_ = std::move(state);
}

const Mesh& NamedSharding::mesh() const { return state_->mesh; }
const PartitionSpec& NamedSharding::spec() const { return state_->spec; }
const std::vector<AxisRef>& NamedSharding::dim_axes(int64_t d) const {
  return state_->joined.dim(d).axes;
}
bool NamedSharding::is_open(int64_t d) const { return state_->joined.dim(d).open; }

int64_t NamedSharding::num_shards(int64_t d) const {
  return d < state_->num_shards.rank() ? state_->num_shards[d] : 1;
}

bool NamedSharding::is_fully_replicated() const {
  return std::all_of(state_->num_shards.begin(), state_->num_shards.end(),
                     [](int64_t shards) { return shards == 1; });
}

Shape NamedSharding::shard_shape(const Shape& global) const {
  check_rank("NamedSharding", *this, global);
  Shape local = global;
  for (int64_t d = 0; d < local.rank(); ++d) local[d] = ceil_div(global[d], num_shards(d));
  return local;
}

Dims NamedSharding::shard_coordinates(int64_t position, int64_t rank) const {
  Dims mesh_coordinates = state_->mesh.coordinates(position);
  Dims result(rank, 0);
  for (int64_t d = 0; d < std::min<int64_t>(rank, state_->num_shards.rank()); ++d)
    for (const AxisPosition& axis : state_->positions[d])
      result[d] = result[d] * axis.size + mesh_coordinates[axis.mesh_axis] / axis.minor % axis.size;
  return result;
}

std::vector<DeviceIndex> NamedSharding::devices_indices_map(const Shape& global) const {
  check_rank("NamedSharding", *this, global);
  std::vector<DeviceIndex> result;
  result.reserve(state_->mesh.size());
  for (int64_t position = 0; position < state_->mesh.size(); ++position) {
    Dims coordinates = shard_coordinates(position, global.rank());
    ShardIndex index;
    for (int64_t d = 0; d < global.rank(); ++d)
      index.push_back(shard_range(global[d], num_shards(d), coordinates[d]));
    result.push_back({state_->mesh.device_ids()[position], std::move(index)});
  }
  return result;
}

bool NamedSharding::is_equivalent_to(const NamedSharding& other, int64_t rank) const {
  if (state_ == other.state_) return true;
  if (mesh().is_abstract() != other.mesh().is_abstract() || mesh().size() != other.mesh().size())
    return false;
  for (int64_t d = 0; d < rank; ++d)
    if (num_shards(d) != other.num_shards(d)) return false;
  std::unordered_map<int64_t, int64_t> position_of;
  for (int64_t i = 0; i < mesh().size(); ++i) position_of[mesh().device_ids()[i]] = i;
  for (int64_t i = 0; i < other.mesh().size(); ++i) {
    auto found = position_of.find(other.mesh().device_ids()[i]);
    if (found == position_of.end() ||
        shard_coordinates(found->second, rank) != other.shard_coordinates(i, rank))
      return false;
  }
  return true;
}

bool operator==(const NamedSharding& a, const NamedSharding& b) {
  if (a.state_ == b.state_) return true;
  return a.state_->hash == b.state_->hash && a.state_->canonical == b.state_->canonical &&
         a.state_->mesh == b.state_->mesh;
}

size_t NamedSharding::hash() const { return state_->hash; }

std::ostream& operator<<(std::ostream& out, const NamedSharding& sharding) {
  return out << "NamedSharding(mesh=" << sharding.mesh() << ", spec=" << sharding.spec() << ')';
}

int64_t axis_ref_size(const Mesh& mesh, const AxisRef& axis) {
  return axis.is_whole() ? mesh.axis_size(axis.name) : axis.size;
}

void check_rank(std::string_view op, const NamedSharding& sharding, const Shape& shape) {
  if (sharding.spec().rank() > shape.rank())
    sharding_error(
        op,
        "expected a spec of at most {} entr{} for an array of shape {}, got {}; drop the last {}",
        shape.rank(), shape.rank() == 1 ? "y" : "ies", shape, sharding.spec(),
        sharding.spec().rank() - shape.rank());
}

void check_divisible(std::string_view op, const NamedSharding& sharding, const Shape& shape) {
  check_rank(op, sharding, shape);
  for (int64_t d = 0; d < shape.rank(); ++d)
    if (int64_t shards = sharding.num_shards(d); shape[d] % shards != 0)
      sharding_error(op,
                     "expected dimension {} of shape {} to be a multiple of {}, the size of {} in "
                     "{}, got {}; pad it, or shard it over fewer devices",
                     d, shape, shards, sharding.spec().dim(d), sharding.mesh(), shape[d]);
}

}  // namespace tessera
