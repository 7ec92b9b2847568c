#include "tessera/spmd/reasons.h"

#include "tessera/ir/control_flow.h"
#include "tessera/ops/collectives/collectives_groups.h"

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

// Seconds for sending `bytes` from every device of the mesh at once: latency a message and
// bandwidth of the device's links.
double seconds_to_send(const Mesh& mesh, int64_t bytes, int64_t messages) {
  const Link link = link_of(mesh);
  return static_cast<double>(bytes) / link.bandwidth + static_cast<double>(messages) * link.latency;
}

class Lister {
 public:
  Lister(const Mesh& mesh, const std::vector<Reason>& reasons) : mesh_(mesh), reasons_(reasons) {}

  void visit(Function& f, int64_t times) {
    for (Op& op : f.ops) {
      if (is_control_flow(op)) {
        const ControlFlow flow = control_flow_of(op);
        const int64_t trips = flow.is_loop() ? flow.trip_count.value_or(-1) : 1;
        const int64_t inside = trips < 0 || times < 0 ? -1 : trips * times;
        op.params = map_control_regions(op, [&](Function region) {
          visit(region, inside);
          return region;
        });
        continue;
      }
      if (const auto* lowering = std::get_if<CollectiveLowering>(&op.def->lower);
          lowering && lowering->kind != CollectiveKind::kAxisIndex &&
          lowering->kind != CollectiveKind::kCast)
        add(f, op, times);
      if (op.reason == 0) continue;
      op.source = reasons_.at(static_cast<size_t>(op.reason - 1)).op;
      op.reason = 0;
    }
  }
  std::vector<Collective> take() { return std::move(out_); }

 private:
  void add(const Function& f, const Op& op, int64_t times) {
    const CollectiveInfo info = collective_info(op);
    Collective c;
    c.name = op.def->name;
    c.axes = info.axes;
    c.group_size = group_size(info.mesh, info.axes, info.groups);
    for (ValueId v : op.operands)
      c.bytes_per_device += collective_bytes_per_device(info, f.types[v]);
    const int64_t messages = info.kind == CollectiveKind::kPermute ? 1 : c.group_size - 1;
    c.seconds = seconds_to_send(mesh_, c.bytes_per_device, messages);
    c.times = times;
    if (op.reason > 0) {
      const Reason& reason = reasons_.at(static_cast<size_t>(op.reason - 1));
      c.op = reason.op;
      c.source = reason.source;
      c.reason = reason.text;
    }
    out_.push_back(std::move(c));
  }

  const Mesh& mesh_;
  const std::vector<Reason>& reasons_;
  std::vector<Collective> out_;
};

}  // namespace

std::vector<Collective> list_collectives(Function& function, const Mesh& mesh,
                                         const std::vector<Reason>& reasons) {
  Lister lister(mesh, reasons);
  lister.visit(function, 1);
  return lister.take();
}

}  // namespace tessera::spmd
