// The commands of the command line, as functions of their arguments and streams.
//
// Exit codes: 0 done; 1 the input is wrong (UserError) or the environment fails; 2 the command line
// is wrong; 3 a bug of Tessera's; for `launch` the status of its program. Errors, and `launch`'s
// reports on processes, are written to `err`; nothing else is.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tools {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// `arguments` are without the program's name.
int run_tessera(const std::vector<std::string>& arguments, const Streams& streams);
int run_tessera_opt(const std::vector<std::string>& arguments, const Streams& streams);

// --- Each command; errors are thrown ---

// Prints a table of the devices, and the mesh that create_device_mesh makes of all of them. If
// `spec` is empty, they are those of the environment.
void show_devices(const std::string& spec, std::ostream& out);

struct RunOptions {
  std::string file, inputs, outputs;
  // of arguments whose shapes are open in the program, as arg0=8x4
  std::vector<std::string> shapes;
  std::string devices;   // empty: those of the environment, else as many as the program's mesh has
  bool profile = false;  // print the steps with their shares of the time of all runs but the first
  int64_t repeat = 1;    // the number of runs; from 2 on their times are printed
};
// Runs the program on arrays of an npz file and writes its results to another.
void run_file(const RunOptions& options, const Streams& streams);

struct EmitOptions {
  std::string emit = "text", vhlo = "1.17.0";
  bool locations = false;
};
struct TransformOptions {
  std::vector<int64_t> argnums;  // grad: by which arguments; empty: all floating-point ones
  bool value = false;            // grad: the differentiated value before the gradients
  std::optional<int64_t> seed;   // grad: of the weights of the sum over all results
  // vmap: one for all arguments, or one for each; a number or None
  std::vector<std::string> in_axes;
  std::optional<int64_t> size;  // vmap: of the batch
};
// Applies a transform to the program (transforms.h), and prints the result in plain StableHLO or,
// with run.outputs, runs it.
void transform_file(const std::string& transform, const TransformOptions& options,
                    const RunOptions& run, const EmitOptions& emit, const Streams& streams);

struct CheckOptions {
  std::string file, inputs, devices;
  std::vector<std::string> shapes;  // as in RunOptions
  int64_t seed = 0;                 // of the arguments, if there are no inputs
  std::optional<double> tolerance;  // |a - b| <= tolerance (1 + |b|); none: by dtype
  bool evaluate = true;             // against the naive evaluator, which is slow
};
// Compares the program on its mesh with that on one device, and compiled with naively evaluated:
// prints a line for each result. Throws UserError if they differ.
void check_file(const CheckOptions& options, const Streams& streams);

struct ExplainOptions {
  std::string file, devices;
  std::vector<std::string> shapes;  // as in RunOptions
  bool schedule = true;
};
// Prints the collectives, notes, cost and schedule of the program. It needs no devices.
void explain_file(const ExplainOptions& options, const Streams& streams);

struct CalibrateOptions {
  std::string output;  // empty: the file that the cost model reads (costs_path)
  bool check = false;
};
// Measures this machine and writes the figures that the cost model reads; with `check` compares
// their predictions with the times of training steps. In several processes all call it.
void calibrate(const CalibrateOptions& options, const Streams& streams);

struct AuditOptions {
  std::string file;   // of privacy::auditing::save_audit
  std::string plot;   // empty: none is written
  bool fail = false;  // UserError if the canaries contradict the accounting
};
// Prints the result of an audit of a private training run, and writes a page that draws it.
void show_audit(const AuditOptions& options, std::ostream& out);

struct OptOptions {
  std::string file, devices;
  std::vector<std::string> shapes;  // as in RunOptions
  std::vector<std::string> passes;
  TransformOptions transforms;
  EmitOptions emit;
  bool timings = false;  // prints the time of each pass to the error stream
};
// Prints the program after the passes, as text.
void optimize_file(const OptOptions& options, const Streams& streams);

// Runs "Introduction to sharded computation", end to end.
void tour(std::ostream& out);

}  // namespace tessera::tools
