// Shards of host arrays, and comparison of the shards of devices.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <string>

#include "tessera/base/namespaces.h"
#include "tessera/mesh/named_sharding.h"
#include "tessera/ops/core/convert.h"
#include "tests/evaluate/evaluate.h"

namespace tessera {

using namespace spmd;

// Calls visit(offset in the shard's storage, offset in the array) for the elements that a device
// holds.
template <class Visit>
void for_each_element(const NamedSharding& sharding, int64_t device, const Shape& shape,
                      Visit&& visit) {
  const Dims part = sharding.shard_coordinates(device, shape.rank());
  ShardIndex box;
  for (int64_t d = 0; d < shape.rank(); ++d)
    box.push_back(shard_range(shape[d], sharding.num_shards(d), part[d]));
  const Shape local = sharding.shard_shape(shape);
  const Dims global_strides = row_major_strides(shape), local_strides = row_major_strides(local);
  int64_t count = 1;
  for (const IndexRange& range : box) count *= range.size();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, from = 0, to = 0;
    for (int64_t d = shape.rank(); d-- > 0;) {
      const int64_t index = rest % box[d].size();
      rest /= box[d].size();
      from += (box[d].start + index) * global_strides[d];
      to += index * local_strides[d];
    }
    visit(to, from);
  }
}

// Returns the shards of `x`. Padding is filled with bytes on which no result may depend.
inline DeviceLiterals split_into_shards(const Literal& x, const NamedSharding& sharding,
                                        const Mesh& mesh) {
  const Shape local = sharding.shard_shape(x.shape());
  const int64_t item = itemsize(x.dtype());
  DeviceLiterals out;
  for (int64_t device = 0; device < mesh.size(); ++device) {
    Literal shard(x.dtype(), local);
    // The bytes are not NaN: an op may read padding if it drops the result.
    if (shard.bytes() > 0)
      std::memset(shard.mutable_raw(), x.dtype() == bool_ ? 1 : 0x5b,
                  static_cast<size_t>(shard.bytes()));
    for_each_element(sharding, device, x.shape(), [&](int64_t to, int64_t from) {
      std::memcpy(shard.mutable_raw() + to * item, x.raw() + from * item,
                  static_cast<size_t>(item));
    });
    out.push_back(std::move(shard));
  }
  return out;
}

// Returns where the shards differ from those of `want`, with a relative tolerance for inexact
// dtypes; empty if they do not.
inline std::string compare_shards(const DeviceLiterals& got, const DeviceLiterals& want,
                                  const NamedSharding& sharding, const Shape& shape,
                                  double tolerance) {
  for (size_t device = 0; device < want.size(); ++device) {
    if (got[device].shape() != want[device].shape() || got[device].dtype() != want[device].dtype())
      return fmt::format("device {} holds {}{} instead of {}{}", device,
                         dtype_name(got[device].dtype()), got[device].shape(),
                         dtype_name(want[device].dtype()), want[device].shape());
    const Literal g_values = convert_literal(got[device], complex128),
                  w_values = convert_literal(want[device], complex128);
    std::string error;
    for_each_element(sharding, static_cast<int64_t>(device), shape, [&](int64_t at, int64_t) {
      if (!error.empty()) return;
      const std::complex<double> g = g_values.data<std::complex<double>>()[at],
                                 w = w_values.data<std::complex<double>>()[at];
      auto close = [&](double a, double b) {
        return a == b || (std::isnan(a) && std::isnan(b)) ||
               std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
      };
      if (!close(g.real(), w.real()) || !close(g.imag(), w.imag()))
        error = fmt::format("device {} element {}: {}{:+}i instead of {}{:+}i", device, at,
                            g.real(), g.imag(), w.real(), w.imag());
    });
    if (!error.empty()) return error;
  }
  return {};
}

}  // namespace tessera
