#include "tessera/mesh/torus.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "tessera/base/error.h"
#include "tessera/mesh/format.h"

namespace tessera {
namespace {

constexpr std::string_view kTorusOp = "create_device_mesh";

// assignment[p][l] is the part of physical axis p that logical axis l takes. The product over l is
// the size of p, the product over p the size of l.
using Assignment = std::vector<Dims>;

// Steps `chosen` to the next combination of numbers below n in lexicographic order: (0,1) (0,2)
// (1,2). Returns false after the last one.
bool next_combination(std::vector<int64_t>& chosen, int64_t n) {
  int64_t count = static_cast<int64_t>(chosen.size());
  for (int64_t i = count - 1; i >= 0; --i) {
    if (chosen[i] == n - count + i) continue;
    ++chosen[i];
    for (int64_t j = i + 1; j < count; ++j) chosen[j] = chosen[j - 1] + 1;
    return true;
  }
  return false;
}

// Returns the free physical axes that together make a logical axis of `size`, or nullopt. A 0 in
// `free` marks an axis that is taken.
std::optional<std::vector<int64_t>> whole_axes_for(int64_t size, const Dims& free) {
  for (int64_t count = free.rank(); count >= 1; --count) {
    std::vector<int64_t> chosen(count);
    for (int64_t i = 0; i < count; ++i) chosen[i] = i;
    do {
      int64_t product = 1;
      for (int64_t axis : chosen) product *= free[axis];
      if (product == size) return chosen;
    } while (next_combination(chosen, free.rank()));
  }
  return std::nullopt;
}

// Assigns whole physical axes to logical ones. Returns nullopt, and the logical axis that failed,
// if a logical axis is not a product of free physical axes.
std::optional<Assignment> assign_whole(const Shape& physical, const Shape& logical,
                                       int64_t& failed) {
  Assignment result(physical.size(), Dims(logical.size(), 1));
  Dims free = physical;
  for (int64_t l = logical.rank() - 1; l >= 0; --l) {
    auto axes = whole_axes_for(logical[l], free);
    if (!axes && logical[l] > 1) {
      failed = l;
      return std::nullopt;
    }
    if (!axes) continue;
    for (int64_t p : *axes) {
      result[p][l] = physical[p];
      free[p] = 0;
    }
  }
  return result;
}

// Returns how good it is to give a logical axis the part candidate[p] of each physical axis p;
// larger is better. Whole axes count first, because they have the bandwidth of their wrap-around
// links; the other criteria break ties.
auto preference(const Dims& candidate, const Shape& physical, const Dims& used) {
  int64_t whole_product = 1, whole_axes = 0, shared_product = 1;
  for (int64_t p = 0; p < physical.rank(); ++p) {
    if (candidate[p] == physical[p]) {
      whole_product *= candidate[p];
      whole_axes += candidate[p] > 1;
    }
    if (used[p] > 1) shared_product *= candidate[p];
  }
  return std::make_tuple(whole_product, whole_axes, shared_product);
}

// Calls `visit` with every list of divisors of `free`, one for each physical axis, whose product is
// `size`; lists of larger divisors come first.
template <class Visit>
void for_each_factoring(int64_t size, const Dims& free, Dims& parts, const Visit& visit) {
  int64_t p = parts.rank();
  if (p == free.rank()) {
    if (size == 1) visit(parts);
    return;
  }
  for (int64_t divisor = free[p]; divisor >= 1; --divisor) {
    if (free[p] % divisor != 0 || size % divisor != 0) continue;
    parts.push_back(divisor);
    for_each_factoring(size / divisor, free, parts, visit);
    parts.pop_back();
  }
}

Assignment assign_splitting(const Shape& physical, const Shape& logical) {
  Assignment result(physical.size(), Dims(logical.size(), 1));
  Dims used(physical.size(), 1);
  for (int64_t l = logical.rank() - 1; l >= 0; --l) {
    Dims free(physical.size(), 0);
    for (int64_t p = 0; p < physical.rank(); ++p) free[p] = physical[p] / used[p];
    std::optional<Dims> best;
    Dims parts;
    // Candidates come in decreasing lexicographic order, so of candidates with equal preference the
    // largest is found first.
    for_each_factoring(logical[l], free, parts, [&](const Dims& candidate) {
      if (!best || preference(candidate, physical, used) > preference(*best, physical, used))
        best = candidate;
    });
    TESSERA_CHECK(best, "the free parts have the product of the logical axes left");
    for (int64_t p = 0; p < physical.rank(); ++p) {
      result[p][l] = (*best)[p];
      used[p] *= (*best)[p];
    }
  }
  return result;
}

// Maps logical positions to devices. The coordinate along logical axis l is written in digits over
// the physical axes, major first; the digits of physical axis p over the logical axes, later ones
// minor, are the coordinate along p.
std::vector<Device> arrange_by(const Assignment& assignment, const DeviceMesh& physical,
                               const Shape& logical) {
  int64_t physical_rank = physical.shape.rank();
  Dims physical_strides = row_major_strides(physical.shape),
       logical_strides = row_major_strides(logical);
  std::vector<Device> result;
  result.reserve(physical.devices.size());
  for (int64_t position = 0; position < logical.elements(); ++position) {
    Assignment digits = assignment;
    for (int64_t l = 0; l < logical.rank(); ++l) {
      int64_t rest = position / logical_strides[l] % logical[l];
      for (int64_t p = physical_rank - 1; p >= 0; --p) {
        digits[p][l] = rest % assignment[p][l];
        rest /= assignment[p][l];
      }
    }
    int64_t source = 0;
    for (int64_t p = 0; p < physical_rank; ++p) {
      int64_t coordinate = 0;
      for (int64_t l = 0; l < logical.rank(); ++l)
        coordinate = coordinate * assignment[p][l] + digits[p][l];
      source += coordinate * physical_strides[p];
    }
    result.push_back(physical.devices[source]);
  }
  return result;
}

}  // namespace

DeviceMesh physical_mesh(const std::vector<Device>& devices) {
  std::array<int64_t, 3> low = devices.front().coords, high = low;
  for (const Device& device : devices) {
    for (int i = 0; i < 3; ++i) {
      low[i] = std::min(low[i], device.coords[i]);
      high[i] = std::max(high[i], device.coords[i]);
    }
    if (device.core_on_chip != 0)
      value_error(kTorusOp,
                  "expected one device a chip, got {}; pass the devices with core_on_chip 0",
                  device);
  }
  Shape extents;
  for (int i = 0; i < 3; ++i) extents.push_back(high[i] - low[i] + 1);
  int64_t count = static_cast<int64_t>(devices.size()), volume = 1;
  for (int64_t extent : extents) volume = extent > count / volume ? count + 1 : volume * extent;
  if (volume > count)
    value_error(kTorusOp,
                "expected devices that fill a cuboid, got {} in a box of {}x{}x{} chips; pass all "
                "devices of the box",
                count, extents[0], extents[1], extents[2]);
  Dims strides = row_major_strides(extents);
  // There are at least as many devices as positions, so if no position is taken twice, all are
  // taken.
  std::vector<std::optional<Device>> places(volume);
  for (const Device& device : devices) {
    int64_t place = 0;
    for (int i = 0; i < 3; ++i) place += (device.coords[i] - low[i]) * strides[i];
    if (places[place])
      value_error(kTorusOp,
                  "expected devices of one slice, got {} and {} at the same coordinates; use "
                  "create_hybrid_device_mesh for several slices",
                  *places[place], device);
    places[place] = device;
  }
  DeviceMesh result{extents, {}};
  for (const auto& place : places) result.devices.push_back(*place);
  return result;
}

std::vector<Device> assign_to_torus(const DeviceMesh& physical, const Shape& shape,
                                    bool allow_split) {
  TESSERA_CHECK(physical.shape.elements() == shape.elements());
  int64_t failed = 0;
  auto assignment = assign_whole(physical.shape, shape, failed);
  if (!assignment && !allow_split)
    value_error(kTorusOp,
                "expected logical axes that are products of whole axes of the torus {}, got shape "
                "{}, whose axis {} of size {} finds none free; "
                "change the shape or set .allow_split_physical_axes",
                physical.shape, shape, failed, shape[failed]);
  if (!assignment) assignment = assign_splitting(physical.shape, shape);
  return arrange_by(*assignment, physical, shape);
}

}  // namespace tessera
