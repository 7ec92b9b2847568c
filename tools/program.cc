#include "tools/program.h"

#include <cstdlib>
#include <fstream>
#include <istream>
#include <iterator>

#include "tessera/mesh/device.h"

namespace tessera::tools {

std::string read_text(const std::string& file, const Streams& streams) {
  if (file == "-") return {std::istreambuf_iterator<char>(streams.in), {}};
  std::ifstream in(file, std::ios::binary);
  if (!in)
    io_error("tessera",
             "expected a file that can be read, got '{}'; check its name and permissions", file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) io_error("tessera", "reading '{}' failed", file);
  return text;
}

ParsedModule load_program(const std::string& file, const std::string& spec, bool enough,
                          const Streams& streams) {
  const std::string text = read_text(file, streams);
  initialize({.devices = spec});
  ParsedModule module = parse_module(text, file);
  const char* environment = std::getenv("TESSERA_DEVICES");
  if (!spec.empty() || (environment && *environment) || !enough) return module;
  int64_t needed = 1;
  for (const Mesh& mesh : module.meshes) needed = std::max(needed, mesh.size());
  if (needed == device_count()) return module;
  initialize({.devices = fmt::format("cpu:{}", needed)});
  return parse_module(text, file);
}

ShardingRequest request_of(const ParsedModule& module) {
  return {.inputs = module.input_shardings, .outputs = module.output_shardings};
}

}  // namespace tessera::tools
