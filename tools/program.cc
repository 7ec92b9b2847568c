#include "tools/program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <istream>
#include <vector>

#include "tessera/base/narrow.h"
#include "tessera/control/control.h"
#include "tessera/interchange/bytecode/reader.h"
#include "tessera/interchange/bytecode/writer.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/io/npz.h"
#include "tessera/mesh/device.h"

namespace tessera::tools {

// Uses read() because it sets badbit if the system fails; an iterator over the buffer does not.
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

namespace {

// Returns the array of argument `i` from arrays by name. It has the argument's name, or the name
// arr_i, which NumPy's savez uses for positional arrays.
template <class T>
auto find_argument(const std::map<std::string, T>& by_name, const std::string& name, size_t i) {
  const auto it = by_name.find(name);
  return it != by_name.end() ? it : by_name.find(fmt::format("arr_{}", i));
}

// Parses shapes such as arg0=8x4; arg0= is a scalar.
std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    const auto wrong = [&] {
      value_error("tessera", "expected the shape of an argument, as arg0=8x4, got '{}'", text);
    };
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) wrong();
    Shape& shape = shapes[text.substr(0, equals)];
    const char *at = text.data() + equals + 1, *end = text.data() + text.size();
    while (at < end) {
      int64_t extent = -1;
      const auto read = std::from_chars(at, end, extent);
      if (read.ec != std::errc() || extent < 0 || (read.ptr < end && *read.ptr != 'x') ||
          read.ptr + 1 == end)
        wrong();
      shape.push_back(extent);
      at = read.ptr + 1;
    }
  }
  return shapes;
}

// Throws UserError if a given shape is of no argument, or does not fit it.
void expect_shapes(const std::map<std::string, Shape>& shapes, const ParsedModule& module) {
  for (const auto& [name, shape] : shapes) {
    size_t i = 0;
    while (i < module.input_names.size() && name != module.input_names[i] &&
           name != fmt::format("arr_{}", i))
      ++i;
    if (i == module.input_names.size())
      value_error("tessera", "expected shapes of the arguments {}, got one of '{}'",
                  fmt::join(module.input_names, ", "), name);
    const Type& type = module.main.type(module.main.inputs[i]);
    if (type.shape != shape)
      value_error("tessera", "expected {} to be {}, as the program says, got the shape {} for it",
                  name, describe(type), shape);
  }
}

}  // namespace

ParsedModule load_program(const LoadOptions& options, const Streams& streams) {
  const std::string text = read_text(options.file, streams);
  initialize({.devices = options.devices});
  const std::map<std::string, Shape> shapes = parse_shapes(options.shapes);
  std::optional<std::map<std::string, Literal>> arrays;
  const ReadOptions reading{.argument_shape = [&](size_t i, const std::string& name,
                                                  const Type&) -> std::optional<Shape> {
    if (const auto it = find_argument(shapes, name, i); it != shapes.end()) return it->second;
    if (!arrays)
      arrays = options.inputs.empty() ? decltype(arrays)::value_type() : read_npz(options.inputs);
    if (const auto it = find_argument(*arrays, name, i); it != arrays->end())
      return it->second.shape();
    return std::nullopt;
  }};
  ParsedModule module = read_module(text, options.file, reading);
  expect_shapes(shapes, module);
  const char* environment = std::getenv("TESSERA_DEVICES");
  if (!options.devices.empty() || (environment && *environment) || !options.enough) return module;
  int64_t needed = 1;
  for (const Mesh& mesh : module.meshes) needed = std::max(needed, mesh.size());
  if (needed == device_count()) return module;
  initialize({.devices = fmt::format("cpu:{}", needed)});
  return read_module(text, options.file, reading);
}

ShardingRequest request_of(const ParsedModule& module) {
  return {.inputs = module.input_shardings, .outputs = module.output_shardings};
}

Program program_of(const ParsedModule& module) {
  Program out{module.main, request_of(module), module.input_names};
  out.function.name = module.name;
  return out;
}

void expect_devices(const ParsedModule& module) {
  for (const Mesh& mesh : module.meshes)
    if (mesh.rank() > 0 && mesh.is_abstract())
      value_error("run",
                  "expected the {} devices of the program's mesh, got {}; pass --devices cpu:{}",
                  mesh.size(), device_count(), mesh.size());
}

namespace {

// Returns the array for input `i`.
Literal input_array(const std::map<std::string, Literal>& arrays, const Program& program, size_t i,
                    const std::string& file) {
  const Type& type = program.function.type(program.function.inputs[i]);
  const auto it = find_argument(arrays, program.input_names[i], i);
  if (it == arrays.end())
    io_error("run", "expected an array '{}' or 'arr_{}' for input {}, {}, got none in '{}'",
             program.input_names[i], i, i, describe(type), file);
  // NumPy's files have the bits of narrow dtypes, but not their names.
  if (is_narrow(type.dtype) && it->second.dtype() == uint8 && it->second.shape() == type.shape) {
    Literal bits(type.dtype, type.shape);
    std::memcpy(bits.mutable_raw(), it->second.raw(), static_cast<size_t>(bits.bytes()));
    return canonical_bits(std::move(bits));
  }
  if (!type.same_array({it->second.dtype(), it->second.shape()}))
    type_error("run", "expected input {} to be {}, got {} from '{}' in '{}'", i, describe(type),
               describe({it->second.dtype(), it->second.shape()}), it->first, file);
  return it->second;
}

// Returns the function with constraints on the results for which the request has a sharding.
Function with_requested_results(const Program& program) {
  Function out = program.function;
  for (size_t r = 0; r < out.outputs.size(); ++r) {
    const std::optional<NamedSharding>& sharding = program.request.outputs[r];
    if (!sharding) continue;
    const Type type = out.type(out.outputs[r]);
    out.outputs[r] =
        out.add_op(ops::sharding_constraint_op, ops::ShardingConstraintParams{*sharding},
                   {out.outputs[r]}, {&type, 1})[0];
  }
  return out;
}

}  // namespace

std::vector<Array> read_arguments(const Program& program, const std::string& file) {
  std::map<std::string, Literal> arrays;
  if (!file.empty()) arrays = read_npz(file);
  std::vector<Array> inputs;
  for (size_t i = 0; i < program.function.inputs.size(); ++i)
    inputs.emplace_back(input_array(arrays, program, i, file.empty() ? "(no --inputs)" : file));
  if (inputs.size() < arrays.size())
    value_error(
        "run",
        "expected the {} arrays that the program takes, got {} in '{}'; leave out the others",
        inputs.size(), arrays.size(), file);
  return inputs;
}

void write_results(const std::vector<Array>& results, const std::string& file,
                   const Streams& streams) {
  std::map<std::string, Literal> out;
  for (size_t r = 0; r < results.size(); ++r)
    out.emplace(fmt::format("arr_{}", r), results[r].to_host());
  write_npz(file, out);
  for (size_t r = 0; r < results.size(); ++r)
    streams.out << fmt::format("arr_{}: {}\n", r, describe(results[r].type()));
}

void emit_program(const Program& program, const EmitOptions& options, const Streams& streams) {
  const Function function = with_requested_results(program);
  if (options.emit == "bytecode") {
    streams.out << to_bytecode(function, {.version = options.vhlo});
  } else {
    streams.out << to_mlir(function, {.locations = options.locations});
  }
}

}  // namespace tessera::tools
