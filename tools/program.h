// What the commands share: reading a program, giving it devices and arguments, and writing it.
#pragma once

#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/parser.h"
#include "tessera/sharding/propagate.h"
#include "tools/commands.h"

namespace tessera::tools {

using namespace sharding;

// The text of `file`, - for the standard input. UserError kIo.
std::string read_text(const std::string& file, const Streams& streams);

// Starts the devices of `spec`, or those of the environment; where neither says anything and
// `enough`, as many CPU devices as the program's meshes need.
ParsedModule load_program(const std::string& file, const std::string& spec, bool enough,
                          const Streams& streams);

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
