// What the commands share: reading a program, and giving it devices.
#pragma once

#include <string>

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

// The passes of tessera-opt, for its help.
std::string pass_names();

}  // namespace tessera::tools
