// The memory that this process may still use. trainer_step.cc chooses microbatches by it.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::privacy::internal {

// Returns a number of bytes: that which /proc/meminfo calls available, or the rest of the limit of
// the process's control group (version 2) if this is less. Throws RuntimeError if /proc/meminfo
// does not contain it.
int64_t available_memory();

// Returns the same from these files, for tests: `group` is the folder of the control group.
int64_t available_memory(const std::string& meminfo, const std::string& group);

}  // namespace tessera::privacy::internal
