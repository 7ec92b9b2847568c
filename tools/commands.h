// The commands of the command line, as functions of their arguments and streams.
//
// Exit codes: 0 done, 1 the input is wrong (UserError) or the surroundings fail, 2 the command line
// is wrong, 3 a bug of Tessera's; of `launch` the status of its program. Errors go to `err`, and
// what `launch` says of processes; nothing else does.
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

// `arguments` without the program's name.
int run_tessera(const std::vector<std::string>& arguments, const Streams& streams);
int run_tessera_opt(const std::vector<std::string>& arguments, const Streams& streams);

// --- Each command; errors are thrown ---

// A table of the devices, and the mesh that create_device_mesh makes of all of them. Empty: those
// of the environment.
void show_devices(const std::string& spec, std::ostream& out);

struct RunOptions {
  std::string file, inputs, outputs;
  std::vector<std::string> shapes;  // of arguments that the program leaves open, as arg0=8x4
  std::string devices;   // empty: those of the environment, else as many as the program's mesh has
  bool profile = false;  // print the steps with their shares of the time of all runs but the first
  int64_t repeat = 1;    // how often; from 2 on with what the runs took
};
// Runs the program on arrays of an npz file and writes what it returns to another.
void run_file(const RunOptions& options, const Streams& streams);

struct EmitOptions {
  std::string emit = "text", vhlo = "1.17.0";
  bool locations = false;
};
struct TransformOptions {
  std::vector<int64_t> argnums;      // grad: by which arguments; empty: all floating-point ones
  bool value = false;                // grad: the differentiated value before the gradients
  std::optional<int64_t> seed;       // grad: of the weights of the sum over all results
  std::vector<std::string> in_axes;  // vmap: one for all arguments, or one each; a number or None
  std::optional<int64_t> size;       // vmap: of the batch
};
// The program after a transform (transforms.h): printed, as StableHLO alone says it, or, with
// run.outputs, run.
void transform_file(const std::string& transform, const TransformOptions& options,
                    const RunOptions& run, const EmitOptions& emit, const Streams& streams);

struct CheckOptions {
  std::string file, inputs, devices;
  std::vector<std::string> shapes;  // as of RunOptions
  int64_t seed = 0;                 // of the arguments, where there are no inputs
  std::optional<double> tolerance;  // |a - b| <= tolerance (1 + |b|); none: by dtype
  bool evaluate = true;             // against the naive evaluator, which is slow
};
// The program on its mesh against one device, and compiled against evaluated naively: a line for
// each result. UserError where they differ.
void check_file(const CheckOptions& options, const Streams& streams);

struct ExplainOptions {
  std::string file, devices;
  std::vector<std::string> shapes;  // as of RunOptions
  bool schedule = true;
};
// Collectives, notes, cost and schedule of the program. It needs no devices.
void explain_file(const ExplainOptions& options, const Streams& streams);

struct CalibrateOptions {
  std::string output;  // empty: where the cost model reads it (costs_path)
  bool check = false;
};
// Measures this machine and writes the figures that the cost model reads; with `check` compares
// what these predict with what steps of training take. In several processes all call it.
void calibrate(const CalibrateOptions& options, const Streams& streams);

struct AuditOptions {
  std::string file;   // of privacy::auditing::save_audit
  std::string plot;   // empty: none is written
  bool fail = false;  // UserError if the canaries contradict the accounting
};
// What an audit of a private training run found, and a page that draws it.
void show_audit(const AuditOptions& options, std::ostream& out);

struct OptOptions {
  std::string file, devices;
  std::vector<std::string> shapes;  // as of RunOptions
  std::vector<std::string> passes;
  TransformOptions transforms;
  EmitOptions emit;
  bool timings = false;  // what each pass took, to the error stream
};
// The program after the passes, as text.
void optimize_file(const OptOptions& options, const Streams& streams);

// "Introduction to sharded computation", end to end.
void tour(std::ostream& out);

}  // namespace tessera::tools
