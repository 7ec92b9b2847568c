// Cluster: the processes that compute together, as they are passed to `initialize`. It is for
// programs that mpirun or srun starts several times; every process runs the same program.
#pragma once

namespace tessera {

struct ClusterOptions {
  // Whether the device specification names the devices of all processes together, of which each
  // process gets an equal part, in the order of the processes. Otherwise it names the devices of
  // each process.
  bool share_devices = false;
  // Whether arrays that are read on the host are gathered from all processes if this process lacks
  // shards of them. All processes must then read them. This is for programs that are not written
  // for several processes. Otherwise reading such an array throws a UserError that names
  // process_allgather.
  bool gather_reads = false;
  // How long a process waits for another one in a collective before it throws.
  double watchdog_seconds = 60;

  friend bool operator==(const ClusterOptions&, const ClusterOptions&) = default;
};

class Cluster {
 public:
  enum class Kind { kAlone, kMpi };
  // Makes a cluster of this process alone.
  Cluster() = default;
  // Returns the processes that mpirun (or srun) started, or a cluster of this process alone if it
  // was started without them. A single process calls no function of MPI.
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
