// A joint step: work of which every process of a cluster does a part, and which ends when all parts
// are done. Work of several processes on the host (checkpoints, the functions of numpy/processes.h)
// consists of joint steps; programs use exchanges (processes.h).
//
// A part may take any time (to write a file), and may throw in one process. Then the step throws in
// all processes, so that none waits for one that has thrown.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/cluster/processes.h"

namespace tessera::cluster {

// Runs part() in this process, and returns the results of all processes, in their order. All
// processes call it with the same `what`. If parts throw, every process throws the error of the
// first process whose part did: unchanged in that process, elsewhere with "(in process 2)"
// appended, as a UserError of the same kind or a RuntimeError. A part must not communicate with
// other processes.
std::vector<std::string> joint_step(Processes& processes, const Processes::What& what,
                                    const std::function<std::string()>& part);
// Does the same if this process may be the only one.
std::vector<std::string> joint_step(const Processes::What& what,
                                    const std::function<std::string()>& part);

// The first process whose text differs from that of process 0, and the first line in which they
// differ, in both texts.
struct DifferentLine {
  std::string first, other;
  size_t process = 0;
};
std::optional<DifferentLine> different_line(const std::vector<std::string>& texts);

}  // namespace tessera::cluster
