// Parser: makes a Function from StableHLO, CHLO, Shardy and func text, as JAX exports it and as
// printer.h prints it.
//
// It reads the pretty and generic forms of all registered ops, several functions (func.call of
// private ones), attribute aliases, locations (skipped), regions, and dense constants with
// hexadecimal blobs. Errors are UserErrors kParse that name file, line and column, show the line,
// and tell what was expected, also if types do not fit. Nothing else is thrown, whatever the text
// is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

struct ParsedModule {
  std::string name;
  Function main;                         // the function @main, otherwise the only public one
  std::vector<std::string> input_names;  // the names of main's arguments in the text: arg0, ...
  // The shardings in the text of main's inputs (which are also in their types) and of its results.
  std::vector<std::optional<NamedSharding>> input_shardings, output_shardings;
  // The unreduced axes of main's inputs and results (unreduced.h): each device along them holds a
  // part, and the argument or result is the sum of all parts.
  std::vector<AxisNames> input_unreduced, output_unreduced;
  // The kinds of memory that the text requests for results (mhlo.memory_kind); empty: any.
  std::vector<std::string> output_memory_kinds;
  // The orders of dimensions in memory that the text requests (mhlo.layout_mode); empty: any.
  std::vector<std::string> input_layout_modes, output_layout_modes;
  // The arguments whose memory the results may use.
  std::vector<bool> donated;
  std::vector<Mesh> meshes;
  // If the program runs as several replicas: the mesh of these, with one axis, over which main's
  // collectives communicate. The types of main are those of one replica.
  std::optional<Mesh> replicas;
};

// Facts that a program does not contain.
struct ReadOptions {
  // Returns the shape of argument `index` of the main function if `written` leaves extents open
  // (refine_shapes.h); nullopt means that it is unknown, which is an error.
  std::function<std::optional<Shape>(size_t index, const std::string& name, const Type& written)>
      argument_shape = {};
  // This function is called for each dense tensor in bytecode that contains all of its elements,
  // with its bytes and the value that was read from them. It may be empty.
  std::function<void(std::string_view bytes, const Literal& value)> on_tensor = {};
  // How many devices run the whole program, each with arguments and results of its own. With more
  // than one, collectives and replica_id are those among replicas.
  int64_t replicas = 1;
};

// Returns the module. A mesh in the text consists of the devices of this process with the ids that
// it names (0, 1, ... by default). It is abstract if not all of these exist, or if the text marks
// it as abstract.
ParsedModule parse_module(std::string_view text, std::string_view filename = "<text>",
                          const ReadOptions& options = {});
Function parse_mlir(std::string_view text, std::string_view filename = "<text>");

}  // namespace tessera::interchange
