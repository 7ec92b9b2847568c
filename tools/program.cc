#include "tools/program.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <istream>
#include <vector>

#include "tessera/ir/bytecode/reader.h"
#include "tessera/mesh/device.h"

namespace tessera::tools {

using namespace sharding;

// With read(), unlike an iterator over the buffer, what the system refuses sets badbit.
std::string read_text(const std::string& file, const Streams& streams) {
  std::ifstream opened;
  if (file != "-") opened.open(file, std::ios::binary);
  if (file != "-" && !opened)
    io_error("tessera",
             "expected a file that can be read, got '{}'; check its name and permissions", file);
  std::istream& in = file == "-" ? streams.in : opened;
  std::string text;
  std::vector<char> buffer(1 << 16);
  do {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    text.append(buffer.data(), static_cast<size_t>(in.gcount()));
  } while (in);
  if (in.bad())
    io_error("tessera", "expected to read {}, got a folder or a failing disk; check its name",
             file == "-" ? "the standard input" : fmt::format("'{}'", file));
  return text;
}

ParsedModule load_program(const std::string& file, const std::string& spec, bool enough,
                          const Streams& streams) {
  const std::string text = read_text(file, streams);
  initialize({.devices = spec});
  ParsedModule module = read_module(text, file);
  const char* environment = std::getenv("TESSERA_DEVICES");
  if (!spec.empty() || (environment && *environment) || !enough) return module;
  int64_t needed = 1;
  for (const Mesh& mesh : module.meshes) needed = std::max(needed, mesh.size());
  if (needed == device_count()) return module;
  initialize({.devices = fmt::format("cpu:{}", needed)});
  return read_module(text, file);
}

ShardingRequest request_of(const ParsedModule& module) {
  return {.inputs = module.input_shardings, .outputs = module.output_shardings};
}

}  // namespace tessera::tools
