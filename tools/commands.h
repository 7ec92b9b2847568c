// The commands of the command line, as functions of their arguments and streams.
//
// Exit codes: 0 success; 1 the input is wrong (UserError) or the environment fails; 2 the command
// line is wrong; 3 a bug in Tessera; for `launch`, the status of its program. Only errors, and the
// reports of `launch` on processes, are written to `err`.
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

// `arguments` does not include the program's name. These return the exit code.
int run_tessera(const std::vector<std::string>& arguments, const Streams& streams);
int run_tessera_opt(const std::vector<std::string>& arguments, const Streams& streams);

// --- The commands; each throws its errors ---

// Prints a table of the devices, and the mesh that create_device_mesh makes of all of them. If
// `spec` is empty, they are the environment's devices.
void show_devices(const std::string& spec, std::ostream& out);

struct RunOptions {
  std::string file, inputs, outputs;
  // Shapes of arguments that the program leaves open, as arg0=8x4.
  std::vector<std::string> shapes;
  // Empty: the devices of the environment, or else as many as the program's mesh has.
  std::string devices;
  // Print the steps with their shares of the time; the first run does not count.
  bool profile = false;
  int64_t repeat = 1;  // the number of runs; their times are printed if there are at least 2
};
// Runs the program on arrays of an npz file and writes its results to another.
void run_file(const RunOptions& options, const Streams& streams);

struct EmitOptions {
  std::string emit = "text", vhlo = "1.17.0";
  bool locations = false;
};
struct TransformOptions {
  // grad: the arguments to differentiate by; empty: all floating-point ones.
  std::vector<int64_t> argnums;
  bool value = false;           // grad: return the differentiated value before the gradients
  std::optional<int64_t> seed;  // grad: the seed of the weights of the sum over all results
  // vmap: one axis for all arguments, or one for each; a number or None.
  std::vector<std::string> in_axes;
  std::optional<int64_t> size;  // vmap: the size of the batch
};
// Applies a transform to the program (transforms.h). Prints the result in plain StableHLO or, with
// run.outputs, runs it.
void transform_file(const std::string& transform, const TransformOptions& options,
                    const RunOptions& run, const EmitOptions& emit, const Streams& streams);

struct CheckOptions {
  std::string file, inputs, devices;
  std::vector<std::string> shapes;  // as in RunOptions
  int64_t seed = 0;                 // the seed of random arguments, if there are no inputs
  // Accepted is |a - b| <= tolerance (1 + |b|). If it is not set, it depends on the dtype.
  std::optional<double> tolerance;
  bool evaluate = true;  // compare with the naive evaluator, which is slow
};
// Compares the program on its mesh with the program on one device, and compiled with naively
// evaluated results; prints a line for each result. Throws UserError if they differ.
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
// Measures this machine and writes the costs that the cost model reads. With `check`, compares
// their predictions with the times of training steps instead. In a cluster all processes must call
// it.
void calibrate(const CalibrateOptions& options, const Streams& streams);

struct AuditOptions {
  std::string file;   // a file of privacy::auditing::save_audit
  std::string plot;   // empty: no page is written
  bool fail = false;  // throw UserError if the canaries contradict the accounting
};
// Prints the result of an audit of a private training run, and writes a page with a plot of it.
void show_audit(const AuditOptions& options, std::ostream& out);

struct OptOptions {
  std::string file, devices;
  std::vector<std::string> shapes;  // as in RunOptions
  std::vector<std::string> passes;
  TransformOptions transforms;
  EmitOptions emit;
  bool timings = false;  // print the time of each pass to the error stream
};
// Prints the program after the given passes, as text.
void optimize_file(const OptOptions& options, const Streams& streams);

// Runs the tutorial "Introduction to sharded computation" from the first step to the last.
void tour(std::ostream& out);

}  // namespace tessera::tools
