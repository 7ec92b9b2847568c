#include <ostream>

#include "tessera/compile/compiled.h"
#include "tessera/compile/program_cache.h"
#include "tessera/io/npz.h"
#include "tools/program.h"

namespace tessera::tools {

using namespace compile;

namespace {

// The array of input `i`: called as the argument is, or arr_i as NumPy's savez calls what it is
// given by position.
const Literal& input_array(const std::map<std::string, Literal>& arrays, const ParsedModule& module,
                           size_t i, const std::string& file) {
  const Type& type = module.main.type(module.main.inputs[i]);
  auto it = arrays.find(module.input_names[i]);
  if (it == arrays.end()) it = arrays.find(fmt::format("arr_{}", i));
  if (it == arrays.end())
    io_error("run", "expected an array '{}' or 'arr_{}' for input {}, {}, got none in '{}'",
             module.input_names[i], i, i, describe(type), file);
  if (!type.same_array({it->second.dtype(), it->second.shape()}))
    type_error("run", "expected input {} to be {}, got {} from '{}' in '{}'", i, describe(type),
               describe({it->second.dtype(), it->second.shape()}), it->first, file);
  return it->second;
}

}  // namespace

void run_file(const RunOptions& options, const Streams& streams) {
  const ParsedModule module = load_program(options.file, options.devices, true, streams);
  for (const Mesh& mesh : module.meshes)
    if (mesh.rank() > 0 && mesh.is_abstract())
      value_error("run",
                  "expected the {} devices of the program's mesh, got {}; pass --devices cpu:{}",
                  mesh.size(), device_count(), mesh.size());
  std::map<std::string, Literal> arrays;
  if (!options.inputs.empty()) arrays = read_npz(options.inputs);
  std::vector<Array> inputs;
  for (size_t i = 0; i < module.main.inputs.size(); ++i)
    inputs.emplace_back(
        input_array(arrays, module, i, options.inputs.empty() ? "(no --inputs)" : options.inputs));
  if (inputs.size() < arrays.size())
    value_error(
        "run",
        "expected the {} arrays that the program takes, got {} in '{}'; leave out the others",
        inputs.size(), arrays.size(), options.inputs);
  const CompiledRef program = compile_cached(module.main, request_of(module), devices()[0]);
  const std::vector<Array> results = program->run(inputs);
  std::map<std::string, Literal> out;
  for (size_t r = 0; r < results.size(); ++r)
    out.emplace(fmt::format("arr_{}", r), results[r].to_host());
  write_npz(options.outputs, out);
  for (size_t r = 0; r < results.size(); ++r)
    streams.out << fmt::format("arr_{}: {}\n", r, describe(results[r].type()));
}

}  // namespace tessera::tools
