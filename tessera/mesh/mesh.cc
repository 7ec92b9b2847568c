#include "tessera/mesh/mesh.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <ostream>
#include <unordered_set>

#include "tessera/base/error.h"
#include "tessera/base/hash.h"
#include "tessera/mesh/format.h"

namespace tessera {

struct Mesh::State {
  Shape sizes;
  std::vector<std::string> names;
  std::optional<std::vector<Device>> devices;
  std::vector<int64_t> ids;
  size_t hash = 0;
};

namespace {

std::string quoted(const std::vector<std::string>& names) {
  std::string text = "(";
  for (size_t i = 0; i < names.size(); ++i) text += fmt::format("{}'{}'", i ? ", " : "", names[i]);
  return text + (names.size() == 1 ? ",)" : ")");
}

// Returns the number of positions. Throws UserError for sizes below 1, and if there are too many
// positions to list.
int64_t count_positions(const Shape& sizes) {
  int64_t total = 1;
  for (int64_t size : sizes) {
    if (size < 1) value_error("Mesh", "expected axis sizes of at least 1, got {}", sizes);
    if (total > std::numeric_limits<int32_t>::max() / size)
      value_error("Mesh", "expected fewer than 2^31 positions, got axis sizes {}", sizes);
    total *= size;
  }
  return total;
}

void check_names(const Shape& sizes, const std::vector<std::string>& names) {
  if (names.size() != sizes.size())
    value_error("Mesh",
                "expected one axis name a dimension, got {} name{} {} for shape {}; give {} name{}",
                names.size(), names.size() == 1 ? "" : "s", quoted(names), sizes, sizes.size(),
                sizes.size() == 1 ? "" : "s");
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty())
      value_error("Mesh", "expected axis names that are not empty, got {}", quoted(names));
    if (std::find(names.begin(), names.begin() + i, names[i]) != names.begin() + i)
      value_error("Mesh", "expected distinct axis names, got '{}' twice in {}; rename one",
                  names[i], quoted(names));
  }
}

}  // namespace

std::shared_ptr<const Mesh::State> Mesh::make_state(Shape sizes, std::vector<std::string> names,
                                                    std::optional<std::vector<Device>> devices) {
  check_names(sizes, names);
  int64_t total = count_positions(sizes);
  auto state = std::make_shared<State>();
  state->ids.reserve(total);
  if (devices) {
    if (static_cast<int64_t>(devices->size()) != total)
      value_error("Mesh",
                  "expected {} devices for shape {}, got {}; pass as many devices as the product "
                  "of the shape",
                  total, sizes, devices->size());
    std::unordered_set<int64_t> seen;
    for (const Device& device : *devices) {
      if (!seen.insert(device.id).second)
        value_error("Mesh", "expected distinct devices, got {} twice; list each device once",
                    device);
      state->ids.push_back(device.id);
    }
  } else {
    for (int64_t i = 0; i < total; ++i) state->ids.push_back(i);
  }
  size_t hash = hash_combine(hash_value(sizes), devices.has_value());
  for (const std::string& name : names) hash = hash_combine(hash, std::hash<std::string>()(name));
  if (devices)
    for (const Device& device : *devices) hash = hash_combine(hash, hash_value(device));
  state->hash = hash;
  state->sizes = std::move(sizes);
  state->names = std::move(names);
  state->devices = std::move(devices);
  return state;
}

Mesh::Mesh() {
  static const auto& empty = *new std::shared_ptr<const State>(make_state({}, {}, std::nullopt));
  state_ = empty;
}

Mesh::Mesh(DeviceMesh devices, std::vector<std::string> axis_names)
    : state_(make_state(std::move(devices.shape), std::move(axis_names),
                        std::move(devices.devices))) {}

Mesh::Mesh(std::vector<Device> devices, std::vector<std::string> axis_names) {
  Shape shape = {static_cast<int64_t>(devices.size())};
  state_ = make_state(std::move(shape), std::move(axis_names), std::move(devices));
}

Mesh Mesh::abstract(Shape axis_sizes, std::vector<std::string> axis_names) {
  return Mesh(make_state(std::move(axis_sizes), std::move(axis_names), std::nullopt));
}

int64_t Mesh::rank() const { return state_->sizes.rank(); }
int64_t Mesh::size() const { return static_cast<int64_t>(state_->ids.size()); }
const std::vector<std::string>& Mesh::axis_names() const { return state_->names; }
const Shape& Mesh::axis_sizes() const { return state_->sizes; }
bool Mesh::has_axis(std::string_view name) const { return find_axis(name).has_value(); }

std::optional<int64_t> Mesh::find_axis(std::string_view name) const {
  const auto& names = state_->names;
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return found - names.begin();
}

int64_t Mesh::axis_index(std::string_view name) const {
  auto index = find_axis(name);
  if (!index)
    sharding_error("Mesh", "expected an axis of {}, got '{}'; use one of {}", *this, name,
                   quoted(axis_names()));
  return *index;
}

int64_t Mesh::axis_size(std::string_view name) const { return state_->sizes[axis_index(name)]; }

bool Mesh::is_abstract() const { return !state_->devices.has_value(); }

const std::vector<Device>& Mesh::devices() const {
  if (is_abstract())
    value_error("Mesh",
                "expected a mesh with devices, got {}; make one with make_mesh to run on it",
                *this);
  return *state_->devices;
}

const std::vector<int64_t>& Mesh::device_ids() const { return state_->ids; }

Dims Mesh::coordinates(int64_t position) const {
  Dims result(state_->sizes.size(), 0);
  for (int64_t axis = rank() - 1; axis >= 0; --axis) {
    result[axis] = position % state_->sizes[axis];
    position /= state_->sizes[axis];
  }
  return result;
}

bool operator==(const Mesh& a, const Mesh& b) {
  const Mesh::State &x = *a.state_, &y = *b.state_;
  if (&x == &y) return true;
  return x.hash == y.hash && x.sizes == y.sizes && x.names == y.names && x.devices == y.devices;
}

size_t Mesh::hash() const { return state_->hash; }

std::ostream& operator<<(std::ostream& out, const Mesh& mesh) {
  out << (mesh.is_abstract() ? "AbstractMesh(" : "Mesh(");
  for (int64_t i = 0; i < mesh.rank(); ++i)
    out << (i ? ", '" : "'") << mesh.axis_names()[i] << "': " << mesh.axis_sizes()[i];
  return out << ')';
}

Mesh make_mesh(const Shape& axis_sizes, std::vector<std::string> axis_names,
               const DeviceMeshOptions& options) {
  return Mesh(create_device_mesh(axis_sizes, options), std::move(axis_names));
}

}  // namespace tessera
