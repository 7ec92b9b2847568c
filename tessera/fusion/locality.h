// Locality: which devices of a program's mesh each process of a cluster runs. Fusion makes a
// schedule for all devices; the runtime of one process runs a part of it, which localize() returns.
//
// In messages between processes, instances are numbered over all devices. The schedule of one
// process numbers only the instances that the process holds: local instance i of a slot is the i-th
// of these. For example, on a mesh (x: 2, y: 2), process 0 of two runs devices (0, 0) and (0, 1).
// It holds instance 0 of a slot over {x}, instances 0 and 1 of a slot over {y}, and 0 and 1 of a
// slot over {x, y}. Process 1 holds instance 1 over {x}, 0 and 1 over {y}, and 2 and 3 over {x, y}.
#pragma once

#include <memory>
#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

class Locality {
 public:
  // `process_of` has the process of each position of the mesh; `process` is this process.
  Locality(Mesh mesh, std::vector<int> process_of, int process);

  int process() const { return process_; }
  // Returns the processes that run a device of the mesh, ascending.
  const std::vector<int>& processes() const { return processes_; }
  // Returns the numbers of the instances along `axes` that this process holds, ascending.
  std::vector<int32_t> instances(const AxisList& axes) const;
  // Returns, for each instance along `from` that this process holds, the local instance along `to`
  // on the first device that holds the former.
  std::vector<int32_t> map(const AxisList& from, const AxisList& to) const;
  // Returns, for each instance along `axes` on all devices, the processes that hold it, ascending.
  std::vector<std::vector<int>> holders(const AxisList& axes) const;

 private:
  std::vector<int32_t> of_positions(const AxisList& axes) const;

  Mesh mesh_;
  std::vector<int> process_of_, processes_;
  std::vector<size_t> positions_;  // positions in the mesh that this process runs
  int process_;
};

// Returns the part of a schedule for all devices that one process runs, including its branches and
// loops. Collectives are unchanged: the runtime finds out which of their instances are in other
// processes.
Schedule localize(Schedule schedule, const std::shared_ptr<const Locality>& locality);

}  // namespace tessera::fusion
