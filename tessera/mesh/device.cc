#include "tessera/mesh/device.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/base/fork.h"
#include "tessera/base/hash.h"
#include "tessera/base/shape.h"
#include "tessera/base/thread_pool.h"
#include "tessera/cluster/processes.h"
#include "tessera/mesh/costs.h"
#include "tessera/mesh/default_device.h"
#include "tessera/mesh/device_source.h"
#include "tessera/mesh/format.h"
#include "tessera/mesh/scoped_devices.h"

namespace tessera {
namespace {

// This is enough for the largest pods that exist, and small enough that a typing error does not
// exhaust memory.
constexpr int64_t kMaxDevices = 1 << 20;

struct KindInfo {
  DeviceKind kind;
  std::string_view name;
  int64_t cores;
  // The number of extents of the torus in a specification; 1 means that it is a plain count.
  int64_t min_extents, max_extents;
};

constexpr std::array<KindInfo, 8> kKinds = {{
    {DeviceKind::kCpu, "cpu", 1, 1, 1},
    {DeviceKind::kGpu, "gpu", 1, 1, 1},
    {DeviceKind::kTpuV2, "tpu_v2", 2, 2, 2},
    {DeviceKind::kTpuV3, "tpu_v3", 2, 2, 2},
    {DeviceKind::kTpuV4, "tpu_v4", 1, 2, 3},
    {DeviceKind::kTpuV5e, "tpu_v5e", 1, 2, 3},
    {DeviceKind::kTpuV5p, "tpu_v5p", 1, 2, 3},
    {DeviceKind::kTpuV6e, "tpu_v6e", 1, 2, 3},
}};

const KindInfo& info(DeviceKind kind) {
  const KindInfo& found = kKinds[static_cast<size_t>(kind)];
  TESSERA_CHECK(found.kind == kind, "kKinds is in the order of DeviceKind");
  return found;
}

[[noreturn]] void bad_spec(std::string_view spec, std::string_view why) {
  value_error(
      "initialize",
      "expected a device specification `cpu:N`, `gpu:N`, `tpu_V:XxY` or `tpu_V:XxYxZ` (V one "
      "of v2, v3, v4, v5e, v5p, v6e; v2 and v3 take XxY), optionally followed by `*SLICES`, "
      "got \"{}\": {}; for example `cpu:8`, `tpu_v2:2x2` or `tpu_v4:2x2x1*2`",
      spec, why);
}

// Returns a positive number that consists of digits only.
std::optional<int64_t> parse_count(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

// Returns a * b, or more than kMaxDevices if the product exceeds that.
int64_t capped_product(int64_t a, int64_t b) {
  return a > kMaxDevices / b ? kMaxDevices + 1 : a * b;
}

struct Topology {
  const KindInfo* kind = nullptr;
  std::array<int64_t, 3> extents = {1, 1, 1};
  int64_t slices = 1;
};

Topology parse_topology(std::string_view spec) {
  size_t colon = spec.find(':');
  if (colon == std::string_view::npos)
    bad_spec(spec, "there is no colon between the kind and its size");
  std::string_view name = spec.substr(0, colon), size = spec.substr(colon + 1);
  Topology topology;
  for (const KindInfo& kind : kKinds)
    if (kind.name == name) topology.kind = &kind;
  if (!topology.kind) bad_spec(spec, fmt::format("\"{}\" is not a known kind", name));

  if (size_t star = size.find('*'); star != std::string_view::npos) {
    auto slices = parse_count(size.substr(star + 1));
    if (!slices) bad_spec(spec, "the number of slices after `*` is not a positive integer");
    topology.slices = *slices;
    size = size.substr(0, star);
  }
  Dims extents;
  for (size_t begin = 0; begin <= size.size();) {
    size_t end = std::min(size.find('x', begin), size.size());
    auto extent = parse_count(size.substr(begin, end - begin));
    if (!extent)
      bad_spec(spec,
               fmt::format("\"{}\" is not a positive integer", size.substr(begin, end - begin)));
    extents.push_back(*extent);
    begin = end + 1;
  }
  if (extents.rank() < topology.kind->min_extents || extents.rank() > topology.kind->max_extents)
    bad_spec(spec, fmt::format("{} does not have {} extent{}", name, extents.rank(),
                               extents.rank() == 1 ? "" : "s"));
  std::copy(extents.begin(), extents.end(), topology.extents.begin());

  int64_t total = capped_product(topology.slices, topology.kind->cores);
  for (int64_t extent : extents) total = capped_product(total, extent);
  if (total > kMaxDevices) bad_spec(spec, fmt::format("that is more than {} devices", kMaxDevices));
  return topology;
}

std::string specification(const InitOptions& options) {
  if (!options.devices.empty()) return options.devices;
  const char* environment = std::getenv("TESSERA_DEVICES");
  return environment && *environment ? environment : "cpu:1";
}

// Returns the cluster that the options request, otherwise the one that the environment requests.
Cluster cluster_of(const InitOptions& options) {
  if (options.cluster.kind() != Cluster::Kind::kAlone) return options.cluster;
  const char* environment = std::getenv("TESSERA_CLUSTER");
  const std::string_view text = environment ? environment : "";
  if (text.empty()) return {};
  if (text == "mpi") return Cluster::mpi();
  if (text == "mpi:whole") return Cluster::mpi({.share_devices = true, .gather_reads = true});
  value_error("initialize",
              "expected `mpi` or `mpi:whole` in the environment variable TESSERA_CLUSTER, got "
              "\"{}\"; unset it for a process alone",
              text);
}

// Sets the number of threads if several processes share the machine and the user set none.
void share_cores() {
  if (std::getenv("TESSERA_NUM_THREADS") || cluster::Processes::local_count() == 1) return;
  const auto all = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const auto mine = static_cast<int>(std::thread::hardware_concurrency());
  // mpirun may have given each process its own cores already.
  if (mine == all) set_num_threads(std::max(1, all / cluster::Processes::local_count()));
}

// Returns the text by which processes compare their requests: the specification, and the cluster
// that the process believes it is in.
std::string asked_for(const std::string& spec, const ClusterOptions& options) {
  return fmt::format("{} (share_devices {}, gather_reads {})", spec, options.share_devices,
                     options.gather_reads);
}

// Throws UserError, in every process, if processes request different devices.
void expect_equal(const cluster::Processes& processes, const std::vector<std::string>& asked) {
  for (int p = 0; p < processes.count(); ++p)
    if (asked[static_cast<size_t>(p)] != asked[0])
      value_error("initialize",
                  "expected the same devices and cluster in all processes, got {} in process 0 and "
                  "{} in process {}; give all the same options and environment",
                  asked[0], asked[static_cast<size_t>(p)], p);
}

void start_cluster(const InitOptions& options) {
  cluster::Processes::start(cluster_of(options));
  cluster::Processes* processes = cluster::Processes::current();
  if (!processes) return load_costs(nullptr);
  share_cores();
  const std::string asked = asked_for(specification(options), cluster::Processes::options());
  expect_equal(*processes, processes->all_gather(asked, [] { return std::string("initialize"); }));
  load_costs(processes);
}

// Returns the devices of all processes, given the specification of each.
std::vector<Device> devices_of_cluster(const std::string& spec) {
  std::vector<Device> named = parse_devices(spec);
  const cluster::Processes* processes = cluster::Processes::current();
  if (!processes) return named;
  const auto count = static_cast<int64_t>(named.size()), n = int64_t{processes->count()};
  if (cluster::Processes::options().share_devices) {
    if (count % n != 0)
      value_error("initialize",
                  "expected devices that {} processes share evenly, got the {} of `{}`; ask for a "
                  "multiple of {}",
                  n, count, spec, n);
    for (Device& device : named) device.process_index = device.id / (count / n);
    return named;
  }
  if (count > kMaxDevices / n)
    bad_spec(spec, fmt::format("that is more than {} devices in {} processes", kMaxDevices, n));
  std::vector<Device> out;
  const int64_t slices = named.back().slice_index + 1;
  for (int64_t p = 0; p < n; ++p)
    for (Device device : named) {
      device.id += p * count;
      device.process_index = p;
      device.slice_index += p * slices;
      out.push_back(device);
    }
  return out;
}

// Returns the devices that the options request. If `alone`, these are emulated devices of this
// process, whatever the environment says.
const std::vector<Device>* resolve(const InitOptions& options, bool alone = false) {
  const internal::DeviceRequest request =
      alone ? internal::DeviceRequest{.spec = options.devices}
            : internal::device_request(specification(options), options.client_options);
  // Lists are never removed, so that references to them stay valid. The table is not destroyed at
  // exit, because threads may still run then.
  static ForkSafeMutex& mutex = *new ForkSafeMutex;
  static auto& known =
      *new std::map<std::pair<internal::DeviceRequest, bool>, std::vector<Device>>();
  std::lock_guard lock(mutex);
  const std::pair key(request, alone || !cluster::Processes::current());
  auto found = known.find(key);
  if (found == known.end()) {
    const bool here = key.second || !request.plugin.empty();
    found =
        known
            .emplace(key, here ? internal::find_devices(request) : devices_of_cluster(request.spec))
            .first;
  }
  return &found->second;
}

std::atomic<const std::vector<Device>*> current_devices{nullptr};
thread_local const std::vector<Device>* scoped_devices = nullptr;

}  // namespace

bool is_tpu(DeviceKind kind) { return kind != DeviceKind::kCpu && kind != DeviceKind::kGpu; }
std::string_view kind_name(DeviceKind kind) { return info(kind).name; }
int64_t cores_per_chip(DeviceKind kind) { return info(kind).cores; }

std::string_view Device::platform() const {
  if (is_tpu(kind)) return "TPU";
  return kind == DeviceKind::kGpu ? "GPU" : "CPU";
}

std::ostream& operator<<(std::ostream& out, const Device& device) {
  if (!is_tpu(device.kind))
    return out << (device.kind == DeviceKind::kGpu ? "CudaDevice(id=" : "CpuDevice(id=")
               << device.id << ')';
  const auto& [x, y, z] = device.coords;
  // If processes emulate hardware together, a device prints the index of the process that would own
  // it on that hardware.
  const bool shared = cluster::Processes::current() && cluster::Processes::options().share_devices;
  out << "TpuDevice(id=" << device.id
      << ", process_index=" << (shared ? device.slice_index : device.process_index) << ", coords=("
      << x << ',' << y << ',' << z << "), core_on_chip=" << device.core_on_chip;
  if (device.slice_index > 0) out << ", slice_index=" << device.slice_index;
  return out << ')';
}

size_t hash_value(const Device& device) {
  size_t seed = hash_combine(static_cast<size_t>(device.kind), static_cast<size_t>(device.id));
  return hash_combine(seed, static_cast<size_t>(device.process_index));
}

std::vector<Device> parse_devices(std::string_view spec) {
  Topology topology = parse_topology(spec);
  auto [x_extent, y_extent, z_extent] = topology.extents;
  bool torus = is_tpu(topology.kind->kind);
  std::vector<Device> result;
  for (int64_t slice = 0; slice < topology.slices; ++slice)
    for (int64_t z = 0; z < z_extent; ++z)
      for (int64_t y = 0; y < y_extent; ++y)
        for (int64_t x = 0; x < x_extent; ++x)
          for (int64_t core = 0; core < topology.kind->cores; ++core)
            result.push_back({.id = static_cast<int64_t>(result.size()),
                              .process_index = slice,
                              .kind = topology.kind->kind,
                              .coords = torus ? std::array{x, y, z} : std::array<int64_t, 3>{},
                              .core_on_chip = core,
                              .slice_index = slice});
  return result;
}

void initialize(const InitOptions& options) {
  start_cluster(options);
  current_devices = resolve(options);
}

ScopedDevices::ScopedDevices(const std::string& spec) : outer_(scoped_devices) {
  scoped_devices = resolve({.devices = spec}, true);
}
ScopedDevices::~ScopedDevices() { scoped_devices = outer_; }

const std::vector<Device>& devices() {
  if (scoped_devices) return *scoped_devices;
  const std::vector<Device>* current = current_devices;
  if (!current) {
    // Two threads may both get here. The first one sets the list, and an initialize() in between is
    // not overwritten.
    static std::once_flag started;
    std::call_once(started, [] { start_cluster({}); });
    const std::vector<Device>* defaults = resolve({});
    current = current_devices.compare_exchange_strong(current, defaults) ? defaults
                                                                         : current_devices.load();
  }
  return *current;
}

int64_t device_count() { return static_cast<int64_t>(devices().size()); }
std::vector<Device> local_devices() {
  std::vector<Device> out = devices();
  if (cluster::Processes::current())
    std::erase_if(out, [](const Device& d) { return d.process_index != process_index(); });
  return out;
}
int64_t local_device_count() { return static_cast<int64_t>(local_devices().size()); }
int64_t process_index() {
  devices();  // this may start the cluster
  const cluster::Processes* processes = cluster::Processes::current();
  return processes ? processes->index() : 0;
}
int64_t process_count() {
  devices();
  const cluster::Processes* processes = cluster::Processes::current();
  return processes ? processes->count() : 1;
}

const Device& default_device() {
  const std::vector<Device>& all = devices();
  const cluster::Processes* processes = cluster::Processes::current();
  // If processes share their devices, the program is written as if there were one process, so all
  // have the same default.
  if (!processes || cluster::Processes::options().share_devices) return all.front();
  for (const Device& device : all)
    if (device.process_index == processes->index()) return device;
  return all.front();
}

}  // namespace tessera
