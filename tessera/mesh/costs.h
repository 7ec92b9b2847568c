// MachineCosts: what computing and sending takes on this machine, as `tessera calibrate` measured
// it. Read by spmd/cost.h, which plans with it, and by what predicts the time of a step.
//
// The file is that of the environment variable TESSERA_COSTS (empty: none), else $XDG_CONFIG_HOME/
// tessera/costs.json, else ~/.config/tessera/costs.json. In a cluster process 0 reads it, and initialize()
// gives all processes its figures: all plan the same program.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

namespace cluster {
class Processes;
}

// Of one thread while the others rest, and of all cores together. One unit for both.
struct Speed {
  double one = 0, all = 0;
  friend bool operator==(const Speed&, const Speed&) = default;
};

struct LinkCost {
  double bandwidth = 0;  // bytes a second
  double latency = 0;    // seconds
  friend bool operator==(const LinkCost&, const LinkCost&) = default;
};

// Speeds by how large the work is, ascending.
struct SizedSpeed {
  double size = 0;
  Speed speed;
  friend bool operator==(const SizedSpeed&, const SizedSpeed&) = default;
};

struct MachineCosts {
  // Where the figures come from: "built-in", or the path of the file.
  std::string source = "built-in";
  bool measured() const { return cores > 0; }

  int cores = 0;            // that the speeds are of; 0: nothing was measured
  double call_seconds = 0;  // of a program without steps
  double step_seconds = 0;  // of a step that has nothing to do
  double kernel_speed = 1;  // of kernels, as a multiple of what codegen expects; one thread
  // Bytes that kernels read and write a second, by how many they do in all.
  std::vector<SizedSpeed> memory;
  // Products, in flop/s by flop of one of them.
  std::vector<SizedSpeed> float32_products, bfloat16_products;
  // What products too large for a core's cache take beyond the flop/s of the largest of them: the
  // elements a second of operands and results that they read, copy and write (operand_elements()).
  Speed operands;

  // Between devices of one process: of what they all send together.
  LinkCost process{20e9, 2e-7};
  // Between processes of one host, and of several, by the number of processes: of what one sends
  // while all do. A number that was not measured is taken from the next one (link()).
  std::map<int, LinkCost> host, network;
  // By the number of processes of a host: how fast each computes steps of training while all do, and
  // send what they have computed, as a multiple of what the parts of such a step take one by one.
  std::map<int, double> speed_left;

  friend bool operator==(const MachineCosts&, const MachineCosts&) = default;
};

// The figures for `processes` of them: the nearest number's, where the bandwidth is shared among as
// many as there are. Without measured ones those of common machines.
LinkCost host_link(const MachineCosts& costs, int processes);
LinkCost network_link(const MachineCosts& costs, int processes);
// For a number of processes that was not measured, the nearest larger one's, else the largest's; 1
// for a single one that was not.
double speed_left(const MachineCosts& costs, int processes);
// Between the measured sizes on a straight line of their logarithms, beyond them the last one's.
// `threads` of them at work, of the cores that `sharing` processes share.
double speed_at(const std::vector<SizedSpeed>& table, double size, double threads, double cores,
                double sharing);
// Of a product of (m, k) by (k, n), whose result is written and added to, those beyond what as many
// flop have in the largest product that was measured.
double operand_elements(const std::vector<SizedSpeed>& products, double m, double n, double k);

// As JSON, and back. kValue where the text is none of these.
std::string to_json(const MachineCosts& costs);
MachineCosts parse_costs(std::string_view text, const std::string& source);

// Where the file is, or would be; empty for none.
std::string costs_path();

// Those of the process: read at first use; from a file that is damaged, the built-in ones with a
// warning. The reference stays valid.
const MachineCosts& machine_costs();
// Reads them again; in a cluster those of process 0 (null: alone). Called by initialize().
void load_costs(cluster::Processes* processes);
// Which host each process of the cluster is on: numbers from 0; empty without one.
const std::vector<int>& hosts_of_processes();

}  // namespace tessera
