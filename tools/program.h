// Functions that commands share: they read a program, give it devices and arguments, and write it.
#pragma once

#include <string>
#include <vector>

#include "tessera/interchange/text/parser.h"
#include "tessera/ir/array.h"
#include "tessera/sharding/propagate.h"
#include "tools/commands.h"

namespace tessera::tools {

using namespace interchange;
using namespace sharding;

// Returns the text of `file`; - is the standard input. Throws UserError kIo.
std::string read_text(const std::string& file, const Streams& streams);

struct LoadOptions {
  std::string file;
  std::string devices;              // empty: the devices of the environment
  std::vector<std::string> shapes;  // shapes of arguments, as arg0=8x4
  std::string inputs;               // an npz file; other open shapes are those of its arrays
  // If no devices are specified, use as many as the program's meshes need.
  bool enough = false;
};
// Starts the devices and reads the program. Its open extents become those of its arguments.
ParsedModule load_program(const LoadOptions& options, const Streams& streams);

// Returns the shardings of inputs and results that the text requests.
ShardingRequest request_of(const ParsedModule& module);

// Returns the transforms and passes of tessera-opt, for its help.
std::string pass_names();

// A program as transforms take and return it: the parts of a ParsedModule that transforms change.
struct Program {
  ir::Function function;
  ShardingRequest request;
  std::vector<std::string> input_names;
};
Program program_of(const ParsedModule& module);

// Throws UserError if a mesh has more devices than there are.
void expect_devices(const ParsedModule& module);
// Returns the program's arguments from an npz file, in which they have the arguments' names or
// arr_0, .... Throws UserError that names arguments that are missing, unknown or of another type.
std::vector<Array> read_arguments(const Program& program, const std::string& file);
// Writes the results as arr_0, ..., and prints a line for each.
void write_results(const std::vector<Array>& results, const std::string& file,
                   const Streams& streams);
// Runs the program on the arrays of options.inputs; options.file is not used.
void run_program(const Program& program, const RunOptions& options, const Streams& streams);
// Prints the program as text or bytecode, as `emit` says. Results get the shardings of the request.
void emit_program(const Program& program, const EmitOptions& options, const Streams& streams);

}  // namespace tessera::tools
