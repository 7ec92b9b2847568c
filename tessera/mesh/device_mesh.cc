#include "tessera/mesh/device_mesh.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>

#include "tessera/base/error.h"
#include "tessera/mesh/format.h"
#include "tessera/mesh/torus.h"

namespace tessera {
namespace {

// Orders of the devices of small topologies in which each device is one hop from the next: rings.
constexpr std::array<int64_t, 8> kTrayRing = {0, 1, 2, 3,
                                              6, 7, 4, 5};  // v2, v3: cores of 2x2 chips
constexpr std::array<int64_t, 4> kRing2x2 = {0, 1, 3, 2};
constexpr std::array<int64_t, 8> kRing4x2 = {0, 1, 2, 3, 7, 6, 5, 4};
constexpr std::array<int64_t, 16> kRing4x4 = {0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4};
constexpr std::array<int64_t, 8> kRing2x2x2 = {0, 1, 3, 2, 6, 7, 5, 4};
constexpr std::array<int64_t, 8> kZigzag2x2x2 = {0, 4, 2, 6, 1, 5, 3, 7};  // v5e, v6e: z fastest

template <size_t N>
std::vector<Device> permuted(const std::vector<Device>& devices,
                             const std::array<int64_t, N>& order) {
  TESSERA_CHECK(devices.size() == N);
  std::vector<Device> result;
  for (int64_t i : order) result.push_back(devices[i]);
  return result;
}

// Sorts by (z, y, x), so that x changes fastest, as in the ring orders.
std::vector<Device> sorted_x_minor(std::vector<Device> devices) {
  std::stable_sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) {
    return std::lexicographical_compare(a.coords.rbegin(), a.coords.rend(), b.coords.rbegin(),
                                        b.coords.rend());
  });
  return devices;
}

std::vector<Device> arrange_v2_v3(const Shape& shape, const std::vector<Device>& devices) {
  if (devices.size() == 8) return permuted(devices, kTrayRing);
  if (shape.empty() || shape.back() != 8) return devices;
  std::vector<Device> result;
  for (size_t row = 0; row < devices.size(); row += 8)
    for (int64_t i : kTrayRing) result.push_back(devices[row + i]);
  return result;
}

// Returns one more than the largest coordinate, for each of x, y and z.
std::array<int64_t, 3> coordinate_bounds(const std::vector<Device>& devices) {
  std::array<int64_t, 3> bounds{};
  for (const Device& device : devices)
    for (int i = 0; i < 3; ++i) bounds[i] = std::max(bounds[i], device.coords[i] + 1);
  return bounds;
}

// Returns the devices in the order of a ring, or nullopt if the topology has no ring of its own;
// then it is treated as a torus.
std::optional<std::vector<Device>> arrange_v5e_v6e(const Shape& shape,
                                                   const std::vector<Device>& devices) {
  using Bounds = std::array<int64_t, 3>;
  Bounds bounds = coordinate_bounds(devices);
  if (bounds == Bounds{2, 2, 1} && devices.size() == 4)
    return permuted(sorted_x_minor(devices), kRing2x2);
  if (devices.size() == 8)
    return permuted(sorted_x_minor(devices), bounds == Bounds{2, 2, 2} ? kZigzag2x2x2 : kRing4x2);
  // The ring of 4x4 is worth it only if one logical axis goes all around it.
  bool one_axis = std::find(shape.begin(), shape.end(), 16) != shape.end();
  if (bounds == Bounds{4, 4, 1} && devices.size() == 16 && one_axis)
    return permuted(sorted_x_minor(devices), kRing4x4);
  return std::nullopt;
}

std::optional<std::vector<Device>> arrange_v5p(const std::vector<Device>& devices) {
  if (coordinate_bounds(devices) != std::array<int64_t, 3>{2, 2, 2} || devices.size() != 8)
    return std::nullopt;
  return permuted(sorted_x_minor(devices), kRing2x2x2);
}

std::vector<Device> arrange(const Shape& shape, const std::vector<Device>& devices,
                            bool allow_split) {
  std::optional<std::vector<Device>> ring;
  // All devices of a mesh have the kind of the last one.
  switch (devices.back().kind) {
    case DeviceKind::kCpu:
      return devices;
    case DeviceKind::kGpu: {
      std::vector<Device> sorted = devices;
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const Device& a, const Device& b) { return a.id < b.id; });
      return sorted;
    }
    case DeviceKind::kTpuV2:
    case DeviceKind::kTpuV3:
      return arrange_v2_v3(shape, devices);
    case DeviceKind::kTpuV5e:
    case DeviceKind::kTpuV6e:
      ring = arrange_v5e_v6e(shape, devices);
      break;
    case DeviceKind::kTpuV5p:
      ring = arrange_v5p(devices);
      break;
    case DeviceKind::kTpuV4:
      break;
  }
  return ring ? *ring : assign_to_torus(physical_mesh(devices), shape, allow_split);
}

void check_shape(std::string_view op, const Shape& shape) {
  for (int64_t size : shape)
    if (size < 1) value_error(op, "expected axis sizes of at least 1, got shape {}", shape);
}

// Returns the product of the sizes, or -1 if it exceeds `limit`.
int64_t product_up_to(const Shape& shape, int64_t limit) {
  int64_t product = 1;
  for (int64_t size : shape) {
    if (product > limit / size) return -1;
    product *= size;
  }
  return product;
}

void check_same_kind(std::string_view op, const std::vector<Device>& devices) {
  for (const Device& device : devices)
    if (device.kind != devices.front().kind)
      value_error(op, "expected devices of one kind, got {} and {}; make a mesh of each kind",
                  devices.front(), device);
}

void print_ids(std::ostream& out, const DeviceMesh& mesh, int64_t dim, size_t& next) {
  if (dim == mesh.shape.rank()) {
    out << mesh.devices[next++].id;
    return;
  }
  out << '[';
  for (int64_t i = 0; i < mesh.shape[dim]; ++i) {
    if (i) out << ", ";
    print_ids(out, mesh, dim + 1, next);
  }
  out << ']';
}

}  // namespace

DeviceMesh create_device_mesh(const Shape& shape, const DeviceMeshOptions& options) {
  const std::vector<Device>& all = options.devices.empty() ? devices() : options.devices;
  check_shape("create_device_mesh", shape);
  int64_t count = static_cast<int64_t>(all.size());
  if (product_up_to(shape, count) != count)
    value_error("create_device_mesh",
                "expected a shape whose product is the number of devices, {}, got shape {}; pass "
                ".devices to use some of them, or initialize more",
                count, shape);
  check_same_kind("create_device_mesh", all);
  return {shape, arrange(shape, all, options.allow_split_physical_axes)};
}

DeviceMesh create_hybrid_device_mesh(const Shape& ici_shape, const Shape& dcn_shape,
                                     const HybridDeviceMeshOptions& options) {
  constexpr std::string_view kOp = "create_hybrid_device_mesh";
  if (ici_shape.rank() != dcn_shape.rank())
    value_error(kOp, "expected two shapes of one rank, got {} and {}; fill the shorter with 1",
                ici_shape, dcn_shape);
  check_shape(kOp, ici_shape);
  check_shape(kOp, dcn_shape);
  const std::vector<Device>& all = options.devices.empty() ? devices() : options.devices;
  const char* granule = options.process_is_granule ? "process" : "slice";
  std::map<int64_t, std::vector<Device>> granules;
  for (const Device& device : all)
    granules[options.process_is_granule ? device.process_index : device.slice_index].push_back(
        device);
  int64_t count = static_cast<int64_t>(granules.size());
  if (product_up_to(dcn_shape, count) != count)
    value_error(kOp, "expected a dcn_shape whose product is the number of {} granules, {}, got {}",
                granule, count, dcn_shape);
  for (const auto& [index, members] : granules) {
    int64_t size = static_cast<int64_t>(members.size());
    if (product_up_to(ici_shape, size) != size)
      value_error(
          kOp, "expected an ici_shape whose product is the number of devices of {} {}, {}, got {}",
          granule, index, size, ici_shape);
  }

  std::vector<DeviceMesh> parts;
  for (auto& [index, members] : granules)
    parts.push_back(create_device_mesh(
        ici_shape,
        {.devices = members, .allow_split_physical_axes = options.allow_split_physical_axes}));

  // In each dimension, coordinate c of the result is in granule c / ici (granules are row-major in
  // dcn_shape), at coordinate c % ici inside it.
  DeviceMesh result;
  for (int64_t d = 0; d < ici_shape.rank(); ++d)
    result.shape.push_back(ici_shape[d] * dcn_shape[d]);
  Dims strides = row_major_strides(result.shape);
  for (int64_t p = 0; p < static_cast<int64_t>(all.size()); ++p) {
    int64_t outer = 0, inner = 0;
    for (int64_t d = 0; d < ici_shape.rank(); ++d) {
      int64_t coordinate = p / strides[d] % result.shape[d];
      outer = outer * dcn_shape[d] + coordinate / ici_shape[d];
      inner = inner * ici_shape[d] + coordinate % ici_shape[d];
    }
    result.devices.push_back(parts[outer].devices[inner]);
  }
  return result;
}

std::ostream& operator<<(std::ostream& out, const DeviceMesh& mesh) {
  size_t next = 0;
  print_ids(out, mesh, 0, next);
  return out;
}

}  // namespace tessera
