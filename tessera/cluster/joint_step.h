// A joint step: work of which every process of a cluster does a part, and that is over when all are
// done. What several processes do on the host (checkpoints, the functions of numpy/processes.h) is
// made of these; programs use exchanges (processes.h).
//
// A part may take any time (it writes a file), and may fail in one process: then it has failed in
// all, so that no process waits for one that has thrown an error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/cluster/processes.h"

namespace tessera::cluster {

// Runs part() in this process and returns what it returned in each process, in their order. All
// processes call it with the same `what`. If parts throw, every process gets the error of the first
// such process: its own unchanged, that of another one with "(in process 2)" appended, as a
// UserError of its kind or a RuntimeError. A part must not communicate with other processes.
std::vector<std::string> joint_step(Processes& processes, const Processes::What& what,
                                    const std::function<std::string()>& part);
// Does the same for a process that may be alone.
std::vector<std::string> joint_step(const Processes::What& what,
                                    const std::function<std::string()>& part);

// Describes the first process whose text differs from that of process 0: the first line in which
// they differ, of both.
struct DifferentLine {
  std::string first, other;
  size_t process = 0;
};
std::optional<DifferentLine> different_line(const std::vector<std::string>& texts);

}  // namespace tessera::cluster
