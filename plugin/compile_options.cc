#include "plugin/compile_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "plugin/error.h"
#include "plugin/wire.h"

namespace tessera::plugin {
namespace {

constexpr const char* kWhat = "CompileOptionsProto";

// Returns the device of each partition in a DeviceAssignmentProto: 3 computation_devices { 1
// replica_device_ids (packed) }, one for each partition.
std::vector<int64_t> device_assignment(std::string_view bytes) {
  std::vector<int64_t> out;
  MessageReader message(bytes, kWhat);
  while (const auto field = message.next()) {
    if (field->number != 3) continue;
    MessageReader computation = message.inner(*field);
    std::optional<int64_t> device;  // the device of replica 0
    while (const auto inner = computation.next()) {
      if (inner->number != 1 || device) continue;
      device = inner->bytes.empty() ? static_cast<int64_t>(inner->value)
                                    : static_cast<int64_t>(computation.inner(*inner).varint());
    }
    out.push_back(device.value_or(0));
  }
  return out;
}

// Reads an ExecutableBuildOptionsProto: 4 num_replicas, 5 num_partitions, 9 device_assignment.
void read_build_options(std::string_view bytes, CompileOptions& out) {
  MessageReader message(bytes, kWhat);
  while (const auto field = message.next()) {
    if (field->number == 4) out.num_replicas = static_cast<int64_t>(field->value);
    if (field->number == 5) out.num_partitions = static_cast<int64_t>(field->value);
    if (field->number == 9) out.device_assignment = device_assignment(field->bytes);
  }
}

void expect_option(const std::string& name) {
  static constexpr std::string_view kEffort[] = {"exec_time_optimization_effort",
                                                 "memory_fitting_effort", "optimization_level",
                                                 "memory_fitting_level"};
  if (name.substr(0, 4) == "xla_" ||
      std::find(std::begin(kEffort), std::end(kEffort), name) != std::end(kEffort))
    return;
  invalid(
      fmt::format("No such compile option: '{}': [compile] expected options of XLA (xla_..., {}), "
                  "which change nothing here; leave it out of compiler_options",
                  name, fmt::join(kEffort, ", ")));
}

}  // namespace

std::string device_assignment_proto(const std::vector<int64_t>& device_ids) {
  MessageWriter out;
  out.add(1, 1);
  out.add(2, device_ids.size());
  for (int64_t id : device_ids) {
    MessageWriter computation;
    computation.add_packed(1, std::span(&id, 1));
    out.add(3, computation);
  }
  return out.bytes();
}

CompileOptions parse_compile_options(std::string_view bytes) {
  CompileOptions out;
  MessageReader message(bytes, kWhat);
  // The fields are 3 executable_build_options and 7 env_option_overrides, a map whose entries have
  // the option's name as field 1.
  while (const auto field = message.next()) {
    if (field->number == 3) read_build_options(field->bytes, out);
    if (field->number != 7) continue;
    MessageReader entry = message.inner(*field);
    while (const auto inner = entry.next())
      if (inner->number == 1) out.overrides.emplace_back(inner->bytes);
  }
  for (const std::string& name : out.overrides) expect_option(name);
  return out;
}

}  // namespace tessera::plugin
