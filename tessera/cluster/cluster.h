// Cluster: the processes that compute together, as `initialize` is told of them. First stop of
// programs that are started several times, by mpirun or srun; every process runs the same program.
#pragma once

namespace tessera {

struct ClusterOptions {
  // The device specification names the devices of all processes together: each brings an equal part
  // of them, in the order of the processes. Otherwise each brings all that it names.
  bool share_devices = false;
  // What is read on the host, and does not lie in this process as a whole, is gathered from all
  // processes, which must all read it: for programs that do not know of processes. Otherwise
  // reading it is an error that names process_allgather.
  bool gather_reads = false;
  // How long a process waits for another one in a collective before it is an error.
  double watchdog_seconds = 60;

  friend bool operator==(const ClusterOptions&, const ClusterOptions&) = default;
};

class Cluster {
 public:
  enum class Kind { kAlone, kMpi };
  // This process alone.
  Cluster() = default;
  // The processes that mpirun (or srun) started; this process alone where nobody did. Without
  // several processes no MPI call is made.
  static Cluster mpi(const ClusterOptions& options = {}) { return Cluster(Kind::kMpi, options); }

  Kind kind() const { return kind_; }
  const ClusterOptions& options() const { return options_; }

  friend bool operator==(const Cluster&, const Cluster&) = default;

 private:
  Cluster(Kind kind, const ClusterOptions& options) : kind_(kind), options_(options) {}
  Kind kind_ = Kind::kAlone;
  ClusterOptions options_;
};

}  // namespace tessera
