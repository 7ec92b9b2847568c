// How much memory this process may still take. For trainer_step.cc, which finds microbatches by it.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::privacy::internal {

// Bytes: what /proc/meminfo calls available, or what is left of the limit of the process's control
// group (version 2) if that is less. RuntimeError if /proc/meminfo does not say it.
int64_t available_memory();

// The same from these files, for tests: `group` is the folder of the control group.
int64_t available_memory(const std::string& meminfo, const std::string& group);

}  // namespace tessera::privacy::internal
