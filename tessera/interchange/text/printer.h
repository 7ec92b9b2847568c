// Printer: writes a Function as StableHLO and Shardy text, which every tool of that ecosystem
// reads. parser.h reads it back: parse_mlir(to_mlir(f)) == f, except that the operands of a case or
// if are then in the order in which its branches use them (formats/control_flow_format.cc).
//
//   module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
//     sdy.mesh @mesh = <["x"=8]>
//     func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
//         -> tensor<8xf32> {
//       %0 = stablehlo.sine %arg0 : tensor<8xf32>
//       return %0 : tensor<8xf32>
//     }
//   }
//
// For what MLIR has no syntax there are attributes of the dialect `tessera`, which other tools
// preserve: `tessera.weak` and `tessera.varying` (see Type) if they differ from what the op's type
// rule implies, and `tessera.abstract` on a mesh without devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

// A program as each of several devices runs it (engine/): StableHLO alone, without shardings and
// attributes of Tessera's own. Collectives are among replicas. (XLA accepts several partitions only
// for programs that it partitions itself.)
struct PlainModule {
  int64_t num_replicas = 1;
  // For each input the output that may use its memory, or -1 for none. An empty list means none.
  std::vector<int64_t> aliases = {};
};

struct PrintOptions {
  std::string module_name;  // empty: the function's name
  bool locations = false;   // loc("...") with the place where each op was called
  std::optional<PlainModule> plain = std::nullopt;
};

std::string to_mlir(const Function& function, const PrintOptions& options = {});

// The spelling of parts of a program.
std::string mlir_type(const Type& type);  // tensor<4x8xf32>
std::string mlir_literal(const Literal& value,
                         const Shape& shape);    // dense<1.000000e+00>; a rank-0 value is a splat
std::string mlir_symbol(std::string_view name);  // @main, @"<lambda>"
std::string mlir_string(std::string_view text);  // "..." with escapes
std::string mlir_key(std::string_view name);     // name, "a-name": of an attribute in a dictionary
// Returns [{"x"}, {?}], replicated={"y"}, with entries for `rank` dimensions.
std::string mlir_spec(const PartitionSpec& spec, int64_t rank);

}  // namespace tessera::interchange
