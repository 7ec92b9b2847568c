// What the commands share: reading a program, giving it devices and arguments, and writing it.
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

// The text of `file`, - for the standard input. UserError kIo.
std::string read_text(const std::string& file, const Streams& streams);

struct LoadOptions {
  std::string file;
  std::string devices;              // empty: those of the environment
  std::vector<std::string> shapes;  // of arguments, as arg0=8x4
  std::string inputs;               // an npz file; the others' shapes are those of its arrays
  bool enough = false;  // where nothing says what devices, as many as the program's meshes need
};
// Starts the devices and reads the program, whose open extents are those of its arguments.
ParsedModule load_program(const LoadOptions& options, const Streams& streams);

// Where the text wants inputs and results to lie.
ShardingRequest request_of(const ParsedModule& module);

// The transforms and passes of tessera-opt, for its help.
std::string pass_names();

// A program as a transform takes and gives it: what of a ParsedModule it changes.
struct Program {
  ir::Function function;
  ShardingRequest request;
  std::vector<std::string> input_names;
};
Program program_of(const ParsedModule& module);

// UserError where a mesh has more devices than there are.
void expect_devices(const ParsedModule& module);
// The program's arguments from an npz file, called as these are or arr_0, ... UserErrors name what
// is missing, too many or of another type.
std::vector<Array> read_arguments(const Program& program, const std::string& file);
// Writes results as arr_0, ..., and a line each.
void write_results(const std::vector<Array>& results, const std::string& file,
                   const Streams& streams);
// Runs it on arrays of options.inputs; options.file is not read.
void run_program(const Program& program, const RunOptions& options, const Streams& streams);
// Prints the program as `emit`, text or bytecode, says; its results as the request wants them.
void emit_program(const Program& program, const EmitOptions& options, const Streams& streams);

}  // namespace tessera::tools
