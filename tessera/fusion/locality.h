// Locality: which devices of a program's mesh each process of a cluster runs. Between fusion, whose
// schedule is for all devices, and the runtime of one process, which has its own part of it.
//
// Instances keep their numbers among all of them where processes talk to each other. Here they are
// counted by themselves: local instance i of a slot is the i-th of those that this process holds.
// Mesh (x: 2, y: 2), process 0 of two runs (0, 0) and (0, 1): of a slot over {x} it holds instance
// 0, of one over {y} 0 and 1, of one over {x, y} 0 and 1; process 1 holds 1; 0, 1; 2, 3.
#pragma once

#include <memory>
#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

class Locality {
 public:
  // process_of: of each position of the mesh. `process`: this one.
  Locality(Mesh mesh, std::vector<int> process_of, int process);

  int process() const { return process_; }
  // The processes that run a device of the mesh, ascending.
  const std::vector<int>& processes() const { return processes_; }
  // The numbers of the instances along `axes` that this process holds, ascending.
  std::vector<int32_t> instances(const AxisList& axes) const;
  // For each of them the local instance along `to` that a device which holds it holds: the first
  // such device's.
  std::vector<int32_t> map(const AxisList& from, const AxisList& to) const;
  // Of each instance along `axes`, on all devices, the processes that hold it, ascending.
  std::vector<std::vector<int>> holders(const AxisList& axes) const;

 private:
  std::vector<int32_t> of_positions(const AxisList& axes) const;

  Mesh mesh_;
  std::vector<int> process_of_, processes_;
  std::vector<size_t> positions_;  // of this process
  int process_;
};

// The part of a schedule for all devices that one process runs; of its branches and loops too.
// Collectives stay what they are: which of their instances are elsewhere, the runtime finds out.
Schedule localize(Schedule schedule, const std::shared_ptr<const Locality>& locality);

}  // namespace tessera::fusion
