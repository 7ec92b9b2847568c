#include "tessera/privacy/available_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/format.h"

namespace tessera::privacy::internal {
namespace {

std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream in(path);
  int64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;  // no such file, or "max"
}

// In version 2 the line is "0::/user.slice/...".
std::string own_group() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3);
  return "/sys/fs/cgroup";
}

}  // namespace

int64_t available_memory(const std::string& meminfo, const std::string& group) {
  std::optional<int64_t> available;
  std::ifstream in(meminfo);
  for (std::string word; in >> word;)
    if (word == "MemAvailable:") {
      int64_t kibibytes = 0;
      if (in >> kibibytes) available = kibibytes * 1024;
      break;
    }
  if (!available)
    throw RuntimeError(
        fmt::format("[privacy::Trainer] expected MemAvailable in {}, got none; say "
                    "memory_budget_bytes in place "
                    "of automatic_microbatch_size",
                    meminfo));
  const std::optional<int64_t> limit = number_in(group + "/memory.max");
  const std::optional<int64_t> used = number_in(group + "/memory.current");
  if (limit && used) available = std::min(*available, std::max<int64_t>(0, *limit - *used));
  return *available;
}

int64_t available_memory() { return available_memory("/proc/meminfo", own_group()); }

}  // namespace tessera::privacy::internal
