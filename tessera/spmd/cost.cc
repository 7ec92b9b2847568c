#include "tessera/spmd/cost.h"

#include <algorithm>
#include <set>

#include "tessera/cluster/processes.h"
#include "tessera/mesh/costs.h"
#include "tessera/mesh/format.h"
#include "tessera/spmd/reshard.h"

namespace tessera::spmd {

using namespace ops;

namespace {

// The link of a device of unknown kind.
constexpr LinkCost kUnknownLink{50e9, 1e-6};

// Returns the bytes a second that one device can send, and the seconds of a message. These are
// figures that vendors publish for one chip's links.
LinkCost published_link(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      break;
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
  return kUnknownLink;
}

bool is_known(const Mesh& mesh) { return !mesh.is_abstract() && !mesh.devices().empty(); }
bool is_of_cpus(const Mesh& mesh) {
  return is_known(mesh) && mesh.devices()[0].kind == DeviceKind::kCpu;
}

// Returns the process of a device. Emulated slices are all in this process.
int64_t process_of(const Mesh& mesh, int64_t position) {
  return cluster::Processes::current() ? mesh.devices()[static_cast<size_t>(position)].process_index
                                       : 0;
}
bool spans_processes(const Mesh& mesh) {
  for (int64_t position = 1; position < mesh.size(); ++position)
    if (process_of(mesh, position) != process_of(mesh, 0)) return true;
  return false;
}
int host_of(int64_t process) {
  const std::vector<int>& hosts = hosts_of_processes();
  return process < static_cast<int64_t>(hosts.size()) ? hosts[static_cast<size_t>(process)] : 0;
}

double sent(const LinkCost& link, double bytes) { return bytes / link.bandwidth + link.latency; }

// Devices of one process read each other's memory. Data for another process is sent to it once,
// however many of its devices need it.
double seconds_on_cpus(const Mesh& mesh, const CollectiveInfo& info, int64_t bytes) {
  const MachineCosts& costs = machine_costs();
  std::map<int64_t, double> inside, crossing;  // bytes sent by each process
  size_t processes = 1;
  bool leaves_host = false;
  for (const std::vector<int64_t>& group : device_groups(mesh, info.axes, info.groups)) {
    std::map<int64_t, int64_t> members;  // the members in each process
    std::set<int> hosts;
    for (int64_t position : group) {
      const int64_t process = process_of(mesh, position);
      ++members[process];
      hosts.insert(host_of(process));
    }
    const auto n = static_cast<double>(group.size()), p = static_cast<double>(members.size());
    processes = std::max(processes, members.size());
    leaves_host = leaves_host || hosts.size() > 1;
    for (const auto& [process, count] : members) {
      const auto local = static_cast<double>(count);
      inside[process] += static_cast<double>(bytes) * local;
      if (p < 2 || n < 2) continue;
      const bool each = info.kind == CollectiveKind::kAllToAll ||
                        info.kind == CollectiveKind::kPermute ||
                        info.kind == CollectiveKind::kRaggedAllToAll;
      // In a ring of n devices, a device sends (n - 1) / n; in a ring of p processes, a process
      // sends (p - 1) / p.
      crossing[process] +=
          static_cast<double>(bytes) * (each ? local : 1) * (p - 1) / p * n / (n - 1);
    }
  }
  const auto most = [](const std::map<int64_t, double>& of) {
    double out = 0;
    for (const auto& [process, value] : of) out = std::max(out, value);
    return out;
  };
  double seconds = sent(costs.process, most(inside));
  if (processes > 1) {
    const int count = std::max(static_cast<int>(processes), cluster::Processes::local_count());
    seconds +=
        sent(leaves_host ? network_link(costs, count) : host_link(costs, count), most(crossing));
  }
  return seconds;
}

}  // namespace

double seconds_of_collective(const Mesh& mesh, const CollectiveInfo& info, int64_t bytes) {
  if (is_of_cpus(mesh) && (machine_costs().measured() || spans_processes(mesh)))
    return seconds_on_cpus(info.mesh, info, bytes);
  const LinkCost link = !is_known(mesh)    ? kUnknownLink
                        : is_of_cpus(mesh) ? machine_costs().process
                                           : published_link(mesh.devices()[0].kind);
  const int64_t messages =
      info.kind == CollectiveKind::kPermute ? 1 : group_size(info.mesh, info.axes, info.groups) - 1;
  return static_cast<double>(bytes) / link.bandwidth + static_cast<double>(messages) * link.latency;
}

int64_t bytes_of_latency(const Mesh& mesh) {
  if (!is_of_cpus(mesh) || !machine_costs().measured()) return kReshardStepCost;
  const MachineCosts& costs = machine_costs();
  // A cluster of one process must make the plans of a larger one, so that results have the same
  // bits.
  double bytes = costs.process.latency * costs.process.bandwidth;
  if (cluster::Processes::reproducible()) {
    for (const auto* links : {&costs.host, &costs.network})
      for (const auto& [processes, link] : *links)
        bytes = std::max(bytes, link.latency * link.bandwidth * processes);
  }
  return std::clamp<int64_t>(static_cast<int64_t>(bytes / static_cast<double>(mesh.size())),
                             kReshardStepCost, int64_t{1} << 20);
}

std::string figures_of(const Mesh& mesh) {
  if (!is_known(mesh)) return "built-in figures of an unknown link";
  if (!is_of_cpus(mesh))
    return fmt::format("published links of {}", kind_name(mesh.devices()[0].kind));
  const MachineCosts& costs = machine_costs();
  if (costs.measured()) return fmt::format("measured figures of {}", costs.source);
  return "built-in figures of CPU devices";
}

}  // namespace tessera::spmd
