#include "tessera/spmd/cost.h"

namespace tessera::spmd {
namespace {

// Bytes a second out of one device, and seconds a message. Vendors' published figures for one
// chip's links; the CPU's is its memory.
struct Link {
  double bandwidth, latency;
};
Link link_of(const Mesh& mesh) {
  if (mesh.is_abstract() || mesh.devices().empty()) return {50e9, 1e-6};
  switch (mesh.devices()[0].kind) {
    case DeviceKind::kCpu:
      return {20e9, 2e-7};
    case DeviceKind::kGpu:
      return {450e9, 2e-6};
    case DeviceKind::kTpuV2:
      return {62e9, 1e-6};
    case DeviceKind::kTpuV3:
      return {82e9, 1e-6};
    case DeviceKind::kTpuV4:
      return {300e9, 1e-6};
    case DeviceKind::kTpuV5e:
      return {200e9, 1e-6};
    case DeviceKind::kTpuV5p:
      return {600e9, 1e-6};
    case DeviceKind::kTpuV6e:
      return {448e9, 1e-6};
  }
  return {50e9, 1e-6};
}

}  // namespace

double seconds_to_send(const Mesh& mesh, int64_t bytes, int64_t messages) {
  const Link link = link_of(mesh);
  return static_cast<double>(bytes) / link.bandwidth + static_cast<double>(messages) * link.latency;
}

}  // namespace tessera::spmd
