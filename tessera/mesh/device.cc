#include "tessera/mesh/device.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <ostream>

#include "tessera/base/error.h"
#include "tessera/base/fork.h"
#include "tessera/base/hash.h"
#include "tessera/base/shape.h"
#include "tessera/mesh/device_source.h"
#include "tessera/mesh/format.h"
#include "tessera/mesh/scoped_devices.h"

namespace tessera {
namespace {

// Enough for the largest pods that exist, small enough that a typing error does not exhaust memory.
constexpr int64_t kMaxDevices = 1 << 20;

struct KindInfo {
  DeviceKind kind;
  std::string_view name;
  int64_t cores;
  int64_t min_extents, max_extents;  // of the torus in a specification; 1: a plain count
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

// A positive number made of digits alone.
std::optional<int64_t> parse_count(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

// a*b, or more than kMaxDevices where that is exceeded.
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

const std::vector<Device>* resolve(const internal::DeviceRequest& request) {
  // Device lists are kept for ever, so that a reference to one never dangles; the table itself is
  // not destroyed at exit because threads may still run then.
  static ForkSafeMutex& mutex = *new ForkSafeMutex;
  static auto& known = *new std::map<internal::DeviceRequest, std::vector<Device>>();
  std::lock_guard lock(mutex);
  auto found = known.find(request);
  if (found == known.end())
    found = known.emplace(request, internal::find_devices(request)).first;
  return &found->second;
}
const std::vector<Device>* resolve(const InitOptions& options) {
  return resolve(internal::device_request(options));
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
  out << "TpuDevice(id=" << device.id << ", process_index=" << device.process_index << ", coords=("
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

void initialize(const InitOptions& options) { current_devices = resolve(options); }

ScopedDevices::ScopedDevices(const std::string& spec) : outer_(scoped_devices) {
  scoped_devices = resolve(internal::DeviceRequest{.spec = spec});
}
ScopedDevices::~ScopedDevices() { scoped_devices = outer_; }

const std::vector<Device>& devices() {
  if (scoped_devices) return *scoped_devices;
  const std::vector<Device>* current = current_devices;
  if (!current) {
    // Two threads may both come here: the first to set the list wins, and an initialize() in
    // between is not overwritten.
    const std::vector<Device>* defaults = resolve(InitOptions{});
    current = current_devices.compare_exchange_strong(current, defaults) ? defaults
                                                                         : current_devices.load();
  }
  return *current;
}

int64_t device_count() { return static_cast<int64_t>(devices().size()); }
std::vector<Device> local_devices() { return devices(); }
int64_t local_device_count() { return device_count(); }
int64_t process_index() { return 0; }
int64_t process_count() { return 1; }

}  // namespace tessera
