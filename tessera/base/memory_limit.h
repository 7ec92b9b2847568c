// Finds how much memory this process may use: that of the machine with its swap, or that of the
// process's control group (a container). compile/memory_check.h compares programs with it.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

// Returns the bytes of the machine's memory and swap, or the limit of the process's control group
// if that is lower. It is read once.
int64_t memory_limit();

// Returns the bytes that a file of a control group states: a decimal number, or kMaxArrayBytes if
// it states "max" or anything else.
int64_t parse_memory_limit(std::string_view text);

// Returns the path of the version 2 control group that /proc/self/cgroup names, as "/a/b"; empty if
// it names none.
std::string_view control_group(std::string_view text);

}  // namespace tessera
