#include "plugin/compile_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "plugin/error.h"
#include "plugin/wire.h"

namespace tessera::plugin {
namespace {

constexpr const char* kWhat = "CompileOptionsProto";

// Returns the device of each partition and replica in a DeviceAssignmentProto: 3
// computation_devices { 1 replica_device_ids (packed) }, one for each partition.
std::vector<int64_t> device_assignment(std::string_view bytes) {
  std::vector<int64_t> out;
  MessageReader message(bytes, kWhat);
  while (const auto field = message.next()) {
    if (field->number != 3) continue;
    const size_t first = out.size();
    MessageReader computation = message.inner(*field);
    while (const auto inner = computation.next()) {
      if (inner->number != 1) continue;
      MessageReader packed = computation.inner(*inner);
      if (packed.done()) out.push_back(static_cast<int64_t>(inner->value));
      while (!packed.done()) out.push_back(static_cast<int64_t>(packed.varint()));
    }
    if (out.size() == first) out.push_back(0);
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

std::string device_assignment_proto(const std::vector<int64_t>& device_ids, bool replicas) {
  MessageWriter out;
  out.add(1, replicas ? device_ids.size() : 1);
  out.add(2, replicas ? 1 : device_ids.size());
  const size_t step = replicas ? device_ids.size() : 1;  // how many devices a partition has
  for (size_t p = 0; p < device_ids.size(); p += step) {
    MessageWriter computation;
    computation.add_packed(1, std::span(device_ids).subspan(p, step));
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
  if (out.num_replicas < 1 || out.num_partitions < 1 ||
      (out.num_replicas > 1 && out.num_partitions > 1))
    unimplemented(
        fmt::format("[compile] expected several partitions or several replicas of a program, got "
                    "{} replicas of {} partitions each; use one partition for each device",
                    out.num_replicas, out.num_partitions));
  return out;
}

}  // namespace tessera::plugin
