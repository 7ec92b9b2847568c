#include "plugin/compile_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "plugin/error.h"

namespace tessera::plugin {
namespace {

// A message of protobuf's wire format, field by field
// (https://protobuf.dev/programming-guides/encoding).
class Message {
 public:
  explicit Message(std::string_view bytes) : bytes_(bytes) {}

  struct Field {
    uint64_t number = 0, value = 0;  // value: of a varint or fixed field
    std::string_view bytes;          // of a field with a length
  };
  std::optional<Field> next() {
    if (bytes_.empty()) return std::nullopt;
    const uint64_t key = varint();
    Field out{.number = key >> 3};
    switch (key & 7) {
      case 0:
        out.value = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        out.bytes = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        damaged();
    }
    return out;
  }

  uint64_t varint() {
    uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      out |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return out;
    }
    damaged();
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view take(uint64_t n) {
    if (n > bytes_.size()) damaged();
    const std::string_view out = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return out;
  }
  [[noreturn]] static void damaged() {
    invalid("[tessera] expected a CompileOptionsProto, got bytes that are none");
  }

  std::string_view bytes_;
};

// DeviceAssignmentProto: 3 computation_devices { 1 replica_device_ids (packed) }, one a partition.
std::vector<int64_t> device_assignment(std::string_view bytes) {
  std::vector<int64_t> out;
  Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number != 3) continue;
    Message computation(field->bytes);
    std::optional<int64_t> device;  // of replica 0
    while (const auto inner = computation.next()) {
      if (inner->number != 1 || device) continue;
      device = inner->bytes.empty() ? static_cast<int64_t>(inner->value)
                                    : static_cast<int64_t>(Message(inner->bytes).varint());
    }
    out.push_back(device.value_or(0));
  }
  return out;
}

// ExecutableBuildOptionsProto: 4 num_replicas, 5 num_partitions, 9 device_assignment.
void read_build_options(std::string_view bytes, CompileOptions& out) {
  Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 4) out.num_replicas = static_cast<int64_t>(field->value);
    if (field->number == 5) out.num_partitions = static_cast<int64_t>(field->value);
    if (field->number == 9) out.device_assignment = device_assignment(field->bytes);
  }
}

}  // namespace

namespace {

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}
void put(std::string& out, int number, uint64_t value) {
  put_varint(out, static_cast<uint64_t>(number) << 3);
  put_varint(out, value);
}
void put(std::string& out, int number, const std::string& bytes) {
  put_varint(out, static_cast<uint64_t>(number) << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}

}  // namespace

namespace {

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
  std::string out;
  put(out, 1, 1);
  put(out, 2, device_ids.size());
  for (int64_t id : device_ids) {
    std::string packed, computation;
    put_varint(packed, static_cast<uint64_t>(id));
    put(computation, 1, packed);
    put(out, 3, computation);
  }
  return out;
}

CompileOptions parse_compile_options(std::string_view bytes) {
  CompileOptions out;
  Message message(bytes);
  // 3 executable_build_options, 7 env_option_overrides: a map, whose entries have the name as 1
  while (const auto field = message.next()) {
    if (field->number == 3) read_build_options(field->bytes, out);
    if (field->number != 7) continue;
    Message entry(field->bytes);
    while (const auto inner = entry.next())
      if (inner->number == 1) out.overrides.emplace_back(inner->bytes);
  }
  for (const std::string& name : out.overrides) expect_option(name);
  return out;
}

}  // namespace tessera::plugin
