// The commands of the command line, as functions of their arguments and streams.
//
// Exit codes: 0 done, 1 the input is wrong (UserError) or the surroundings fail, 2 the command line
// is wrong, 3 a bug of Tessera's. Errors go to `err`; nothing else does.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace tessera::tools {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// `arguments` without the program's name.
int run_tessera(const std::vector<std::string>& arguments, const Streams& streams);
int run_tessera_opt(const std::vector<std::string>& arguments, const Streams& streams);

// --- Each command; errors are thrown ---

// A table of the devices, and the mesh that create_device_mesh makes of all of them. Empty: those
// of the environment.
void show_devices(const std::string& spec, std::ostream& out);

struct RunOptions {
  std::string file, inputs, outputs;
  std::string devices;  // empty: those of the environment, else as many as the program's mesh has
};
// Runs the program on arrays of an npz file and writes what it returns to another.
void run_file(const RunOptions& options, const Streams& streams);

struct ExplainOptions {
  std::string file, devices;
  bool schedule = true;
};
// Collectives, notes, cost and schedule of the program. It needs no devices.
void explain_file(const ExplainOptions& options, const Streams& streams);

struct OptOptions {
  std::string file, devices;
  std::vector<std::string> passes;
  std::string emit = "text", vhlo = "1.17.0";
  bool locations = false;
  bool timings = false;  // what each pass took, to the error stream
};
// The program after the passes, as text.
void optimize_file(const OptOptions& options, const Streams& streams);

// "Introduction to sharded computation", end to end.
void tour(std::ostream& out);

}  // namespace tessera::tools
