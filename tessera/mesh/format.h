// The values of mesh/ in fmt's format strings (base/format.h): each prints as it streams.
#pragma once

#include "tessera/base/format.h"

namespace tessera {

struct AxisRef;
struct Device;
struct DeviceMesh;
struct DimSpec;
struct IndexRange;
class Mesh;
class NamedSharding;
class PartitionSpec;
class Sharding;
class SingleDeviceSharding;

}  // namespace tessera

template <>
struct fmt::formatter<tessera::AxisRef> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<tessera::Device> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<tessera::DeviceMesh> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<tessera::DimSpec> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<tessera::IndexRange> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<tessera::Mesh> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<tessera::NamedSharding> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<tessera::PartitionSpec> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<tessera::Sharding> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<tessera::SingleDeviceSharding> : fmt::ostream_formatter {};
