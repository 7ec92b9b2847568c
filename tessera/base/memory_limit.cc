#include "tessera/base/memory_limit.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

#include "tessera/base/array_size.h"

namespace tessera {
namespace {

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

struct MachineMemory {
  int64_t memory = kMaxArrayBytes, swap = 0;
};
MachineMemory machine_memory() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return {};
  return {static_cast<int64_t>(info.totalram) * info.mem_unit,
          static_cast<int64_t>(info.totalswap) * info.mem_unit};
}

// Returns the limit of a group, which is the least of its own and those of all groups around it. A
// group without a file has no limit.
int64_t limit_of_groups(const std::string& file) {
  const std::string text = contents_of("/proc/self/cgroup");
  std::string group(control_group(text));
  int64_t least = kMaxArrayBytes;
  while (true) {
    least = std::min(least, parse_memory_limit(contents_of("/sys/fs/cgroup" + group + "/" + file)));
    const size_t end = group.rfind('/');
    if (end == std::string::npos) return least;
    group.resize(end);
  }
}

}  // namespace

int64_t memory_limit() {
  static const int64_t limit = [] {
    const MachineMemory machine = machine_memory();
    const int64_t memory = std::min(machine.memory, limit_of_groups("memory.max")),
                  swap = std::min(machine.swap, limit_of_groups("memory.swap.max"));
    return memory + swap;
  }();
  return limit;
}

int64_t parse_memory_limit(std::string_view text) {
  int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error == std::errc() && bytes >= 0 ? std::min(bytes, kMaxArrayBytes) : kMaxArrayBytes;
}

std::string_view control_group(std::string_view text) {
  constexpr std::string_view kVersion2 = "0::";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.substr(0, kVersion2.size()) == kVersion2) return line.substr(kVersion2.size());
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

}  // namespace tessera
