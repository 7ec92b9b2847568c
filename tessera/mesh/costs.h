// MachineCosts: how long computing and sending take on this machine, as `tessera calibrate`
// measured it. spmd/cost.h plans with these figures, and predictions of the time of a step use
// them.
//
// The figures are in the file that the environment variable TESSERA_COSTS names (none if it is
// empty), else in $XDG_CONFIG_HOME/tessera/costs.json, else in ~/.config/tessera/costs.json. In a
// cluster, process 0 reads the file, and initialize() sends its figures to all processes, so that
// all plan the same program.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

namespace cluster {
class Processes;
}

// The speed of one thread while other cores rest, and of all cores together, in the same unit.
struct Speed {
  double one = 0, all = 0;
  friend bool operator==(const Speed&, const Speed&) = default;
};

struct LinkCost {
  double bandwidth = 0;  // bytes per second
  double latency = 0;    // seconds
  friend bool operator==(const LinkCost&, const LinkCost&) = default;
};

// A row of a table of speeds by the size of the work, in which sizes ascend.
struct SizedSpeed {
  double size = 0;
  Speed speed;
  friend bool operator==(const SizedSpeed&, const SizedSpeed&) = default;
};

struct MachineCosts {
  // Where the figures come from: "built-in", or the path of the file.
  std::string source = "built-in";
  bool measured() const { return cores > 0; }

  int cores = 0;            // number of cores measured; 0 if nothing was
  double call_seconds = 0;  // time of a program without steps
  double step_seconds = 0;  // time of a step that has no work
  double kernel_speed = 1;  // kernels of one thread, relative to what codegen expects
  // Bytes per second that kernels read and write, by how many bytes they read and write.
  std::vector<SizedSpeed> memory;
  // Flop per second of matrix products, by the flop of one product.
  std::vector<SizedSpeed> float32_products, bfloat16_products;
  // The additional cost of products that are too large for a core's cache: how many elements of
  // operands and results they read, copy and write per second (operand_elements()).
  Speed operands;

  // The link between devices of one process. The bandwidth is that of all devices together.
  LinkCost process{20e9, 2e-7};
  // The links between processes of one host, and between hosts, by the number of processes. The
  // bandwidth is that of one process while all send. host_link() and network_link() look numbers up
  // that were not measured.
  std::map<int, LinkCost> host, network;
  // By the number of processes of a host: the speed at which each computes training steps while all
  // of them compute and send, relative to the speed at which it computes the parts of a step alone.
  std::map<int, double> speed_left;

  friend bool operator==(const MachineCosts&, const MachineCosts&) = default;
};

// Return the link between `processes` processes of a host, or of several hosts. If this number was
// not measured, it is that of the nearest larger number, or else of the largest, whose bandwidth is
// divided among the processes that there are. If none was measured, it is that of common machines.
LinkCost host_link(const MachineCosts& costs, int processes);
LinkCost network_link(const MachineCosts& costs, int processes);
// Returns costs.speed_left for this number of processes. If it was not measured, it is that of the
// nearest larger number, or of the largest; 1 for a single process that was not measured, or if
// nothing was.
double speed_left(const MachineCosts& costs, int processes);
// Returns the speed for work of this size with `threads` threads on `cores` cores that `sharing`
// processes share. Between measured sizes it is interpolated in logarithms; beyond them it is that
// of the nearest size.
double speed_at(const std::vector<SizedSpeed>& table, double size, double threads, double cores,
                double sharing);
// Returns how many elements of operands and result the product (m, k) by (k, n) reads and writes
// beyond those that its flop would need in the largest product that was measured. The result counts
// twice, because it is read and written.
double operand_elements(const std::vector<SizedSpeed>& products, double m, double n, double k);

// Convert costs to JSON and back. parse_costs throws UserError kValue if the text is not such JSON.
std::string to_json(const MachineCosts& costs);
MachineCosts parse_costs(std::string_view text, const std::string& source);

// Returns the path of the file, which need not exist; empty if there is none.
std::string costs_path();

// Returns the costs of this process, which the first call reads. If the file is damaged, it warns,
// and these are the built-in costs. The reference stays valid.
const MachineCosts& machine_costs();
// Reads the costs again; in a cluster, takes those of process 0. `processes` is null without one.
// initialize() calls it.
void load_costs(cluster::Processes* processes);
// Returns the number of the host, from 0, of each process of the cluster; empty without a cluster.
const std::vector<int>& hosts_of_processes();

}  // namespace tessera
