// A joint step: something of which every process of a cluster does its part, that is over when all
// are done. What is done on the host by several processes (checkpoints, the functions of
// numpy/processes.h) is made of these; what programs do is made of exchanges (processes.h).
//
// A part may take any time (it writes a file), and may fail in one process: then it has failed in
// all. So nobody waits for a process that stands at an error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/cluster/processes.h"

namespace tessera::cluster {

// Runs part() in this process and gives every process what it returned in each, in their order. All
// processes call it, with the same `what`. Where parts throw, every process gets the error of the
// first such process: its own as it is, that of another one with "(in process 2)" after it, as a
// UserError of its kind or a RuntimeError. A part must not talk with other processes.
std::vector<std::string> joint_step(Processes& processes, const Processes::What& what,
                                    const std::function<std::string()>& part);
// The same of a process that may be alone.
std::vector<std::string> joint_step(const Processes::What& what,
                                    const std::function<std::string()>& part);

// What the first process that says another text than process 0 says differently: the first line of
// both in which they differ.
struct DifferentLine {
  std::string first, other;
  size_t process = 0;
};
std::optional<DifferentLine> different_line(const std::vector<std::string>& texts);

}  // namespace tessera::cluster
