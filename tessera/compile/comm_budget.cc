#include "tessera/compile/comm_budget.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "tessera/base/error.h"
#include "tessera/ir/format.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 7> kNames = {
    "all_reduce",         "all_gather",           "reduce_scatter",   "all_to_all",
    "collective_permute", "collective_broadcast", "ragged_all_to_all"};

std::string described(const Collective& c) {
  return fmt::format("{} of {} bytes a device over '{}' (op {}{}: {})", c.name, c.bytes_per_device,
                     fmt::join(c.axes, "', '"), c.op,
                     c.source.empty() || c.source == c.op ? "" : ", called by " + c.source,
                     c.reason);
}

}  // namespace

void expect_within(const CommBudget& budget, std::span<const Collective> collectives) {
  for (const std::string& name : budget.forbid)
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end())
      value_error("comm_budget", "expected names of collectives ({}) in forbid, got '{}'",
                  fmt::join(kNames, ", "), name);
  for (const Collective& c : collectives)
    if (std::find(budget.forbid.begin(), budget.forbid.end(), c.name) != budget.forbid.end())
      sharding_error("comm_budget",
                     "expected a program without {}, got {}; change the shardings of that op's "
                     "operands, or allow it",
                     c.name, described(c));
  if (!budget.bytes_per_device) return;
  int64_t total = 0;
  const Collective* largest = nullptr;
  for (const Collective& c : collectives) {
    const int64_t bytes = c.bytes_per_device * std::max<int64_t>(c.times, 1);
    total += bytes;
    if (!largest || bytes > largest->bytes_per_device * std::max<int64_t>(largest->times, 1))
      largest = &c;
  }
  if (total > *budget.bytes_per_device)
    sharding_error("comm_budget",
                   "expected at most {} bytes sent by a device, got {} in {} collectives, the "
                   "largest {}",
                   *budget.bytes_per_device, total, collectives.size(), described(*largest));
}

}  // namespace tessera
