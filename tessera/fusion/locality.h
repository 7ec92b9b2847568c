// Locality: which devices of a program's mesh each process of a cluster runs. It stands between
// fusion, whose schedule is for all devices, and the runtime of one process, which runs its part.
//
// In messages between processes, instances have their numbers among all. In the schedule of one
// process they are counted separately: local instance i of a slot is the i-th of those that this
// process holds. For example, on a mesh (x: 2, y: 2) process 0 of two runs (0, 0) and (0, 1): of a
// slot over {x} it holds instance 0, of one over {y} 0 and 1, of one over {x, y} 0 and 1; process 1
// holds 1; 0, 1; 2, 3.
#pragma once

#include <memory>
#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

class Locality {
 public:
  // process_of: the process of each position of the mesh. `process`: this one.
  Locality(Mesh mesh, std::vector<int> process_of, int process);

  int process() const { return process_; }
  // Returns the processes that run a device of the mesh, ascending.
  const std::vector<int>& processes() const { return processes_; }
  // Returns the numbers of the instances along `axes` that this process holds, ascending.
  std::vector<int32_t> instances(const AxisList& axes) const;
  // Returns for each of them the local instance along `to` that the first device holding it holds.
  std::vector<int32_t> map(const AxisList& from, const AxisList& to) const;
  // Returns for each instance along `axes`, on all devices, the processes that hold it, ascending.
  std::vector<std::vector<int>> holders(const AxisList& axes) const;

 private:
  std::vector<int32_t> of_positions(const AxisList& axes) const;

  Mesh mesh_;
  std::vector<int> process_of_, processes_;
  std::vector<size_t> positions_;  // of this process
  int process_;
};

// Returns the part of a schedule for all devices that one process runs, also for its branches and
// loops. Collectives are unchanged: the runtime finds out which of their instances are in other
// processes.
Schedule localize(Schedule schedule, const std::shared_ptr<const Locality>& locality);

}  // namespace tessera::fusion
