// Cluster: the processes that compute together, as they are passed to `initialize`. Start here for
// programs that are started several times, by mpirun or srun; every process runs the same program.
#pragma once

namespace tessera {

struct ClusterOptions {
  // The device specification names the devices of all processes together, and each process has an
  // equal part of them, in the order of the processes. Otherwise each process has all devices that
  // it names.
  bool share_devices = false;
  // Arrays that are read on the host, and of which this process does not have every shard, are
  // gathered from all processes, which must all read them: for programs that are not written for
  // several processes. Otherwise reading them is an error that names process_allgather.
  bool gather_reads = false;
  // How long a process waits for another one in a collective before it throws.
  double watchdog_seconds = 60;

  friend bool operator==(const ClusterOptions&, const ClusterOptions&) = default;
};

class Cluster {
 public:
  enum class Kind { kAlone, kMpi };
  // A cluster of this process only.
  Cluster() = default;
  // Returns the processes that mpirun (or srun) started, or this process only if it was started
  // without them. With a single process no MPI call is made.
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
