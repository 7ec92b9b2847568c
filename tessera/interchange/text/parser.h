// Parser: StableHLO, CHLO, Shardy and func text, as JAX exports it and as printer.h prints it, to a
// Function.
//
// Pretty and generic forms of all ops of the registry, several functions (func.call of private
// ones), attribute aliases, locations (skipped), regions, dense constants with hexadecimal blobs.
// UserError kParse names file, line and column, shows the line, and says what was expected; so does
// text whose types do not fit. Nothing else is thrown, whatever the text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/ir/function.h"

namespace tessera::interchange {

struct ParsedModule {
  std::string name;
  Function main;                         // the function @main, else the only public one
  std::vector<std::string> input_names;  // as the text calls main's arguments: arg0, ...
  // Shardings that the text gives to main's inputs (also in their types) and results.
  std::vector<std::optional<NamedSharding>> input_shardings, output_shardings;
  // The unreduced axes of these (unreduced.h): a device holds a part, the argument or result is the
  // sum over all of them.
  std::vector<AxisNames> input_unreduced, output_unreduced;
  // The kinds of memory that the text asks results to be in (mhlo.memory_kind); empty: any.
  std::vector<std::string> output_memory_kinds;
  // Arguments whose memory the results may take.
  std::vector<bool> donated;
  std::vector<Mesh> meshes;
};

// What a program does not say of itself.
struct ReadOptions {
  // The shape of argument `index` of the main function, where `written` leaves extents open
  // (refine_shapes.h); nothing: not known, which is an error.
  std::function<std::optional<Shape>(size_t index, const std::string& name, const Type& written)>
      argument_shape = {};
};

// A mesh of the text is made of the devices of this process with the ids it names (0, 1, ... by
// default); it is abstract where not all of these are there, or where the text says so.
ParsedModule parse_module(std::string_view text, std::string_view filename = "<text>",
                          const ReadOptions& options = {});
Function parse_mlir(std::string_view text, std::string_view filename = "<text>");

}  // namespace tessera::interchange
