// Formatters of the values of mesh/ (base/format.h), which print like operator<<.
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
struct fmt::formatter<tessera::AxisRef> : tessera::internal::StreamedFormatter<tessera::AxisRef> {};
template <>
struct fmt::formatter<tessera::Device> : tessera::internal::StreamedFormatter<tessera::Device> {};
template <>
struct fmt::formatter<tessera::DeviceMesh>
    : tessera::internal::StreamedFormatter<tessera::DeviceMesh> {};
template <>
struct fmt::formatter<tessera::DimSpec> : tessera::internal::StreamedFormatter<tessera::DimSpec> {};
template <>
struct fmt::formatter<tessera::IndexRange>
    : tessera::internal::StreamedFormatter<tessera::IndexRange> {};
template <>
struct fmt::formatter<tessera::Mesh> : tessera::internal::StreamedFormatter<tessera::Mesh> {};
template <>
struct fmt::formatter<tessera::NamedSharding>
    : tessera::internal::StreamedFormatter<tessera::NamedSharding> {};
template <>
struct fmt::formatter<tessera::PartitionSpec>
    : tessera::internal::StreamedFormatter<tessera::PartitionSpec> {};
template <>
struct fmt::formatter<tessera::Sharding> : tessera::internal::StreamedFormatter<tessera::Sharding> {
};
template <>
struct fmt::formatter<tessera::SingleDeviceSharding>
    : tessera::internal::StreamedFormatter<tessera::SingleDeviceSharding> {};
