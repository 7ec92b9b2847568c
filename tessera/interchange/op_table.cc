#include "tessera/interchange/op_table.h"

#include <map>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/formats/formats.h"

namespace tessera::interchange {
namespace {

using Signature = OpFormat::Signature;

std::vector<OpRow> stablehlo_rows() {
  using namespace formats;
  return {
      {"stablehlo", "after_all", {}, foreign::after_all},
      {"stablehlo", "all_gather", collective()},
      {"stablehlo", "all_reduce", collective()},
      {"stablehlo", "all_to_all", collective()},
      {"stablehlo", "bitcast_convert", {}, foreign::bitcast_convert, true},
      {"stablehlo", "broadcast_in_dim", {.assembly = "{operands}, dims = {broadcast_dimensions}"}},
      {"stablehlo", "case", branches()},
      {"stablehlo", "cholesky", cholesky()},
      {"stablehlo", "collective_broadcast", collective(), foreign::collective_broadcast, true},
      {"stablehlo", "collective_permute", collective()},
      {"stablehlo", "collective_reduce", {}, foreign::collective_reduce},
      {"stablehlo", "compare", compare()},
      {"stablehlo", "composite", {.assembly = "{name} {operands}"}, foreign::composite, true},
      {"stablehlo", "concatenate", {.assembly = "{operands}, dim = {dimension}"}},
      {"stablehlo", "constant", constant()},
      {"stablehlo", "convolution", convolution()},
      {"stablehlo", "create_token", {}, foreign::create_token},
      {"stablehlo", "dot_general", dot_general()},
      {"stablehlo", "dynamic_slice", {.assembly = "{operands}, sizes = {slice_sizes}"}},
      {"stablehlo",
       "dynamic_update_slice",
       {.assembly = "{operands}", .signature = Signature::kFunctional}},
      {"stablehlo", "fft", fft()},
      {"stablehlo", "gather", gather()},
      {"stablehlo",
       "get_dimension_size",
       {.assembly = "{operands}, dim = {dimension}"},
       foreign::get_dimension_size,
       true},
      {"stablehlo", "if", {.captures = true}, read_if, true},
      {"stablehlo", "imag", {}, foreign::imag},
      {"stablehlo", "iota", {.assembly = "dim = {iota_dimension}", .signature = Signature::kSame}},
      {"stablehlo", "map", {.capture_rule = capture_in_map}, foreign::map},
      {"stablehlo", "optimization_barrier", {}, foreign::optimization_barrier, true},
      {"stablehlo",
       "pad",
       {.assembly = "{operands}, low = {edge_padding_low}, high = {edge_padding_high}, interior = "
                    "{interior_padding}"}},
      {"stablehlo", "partition_id", {}, foreign::partition_id},
      {"stablehlo", "real", {}, foreign::real},
      {"stablehlo", "reduce", reduce()},
      {"stablehlo", "reduce_precision", reduce_precision()},
      {"stablehlo", "reduce_scatter", collective()},
      {"stablehlo", "reduce_window", reduce_window()},
      {"stablehlo", "replica_id", {}, foreign::replica_id},
      {"stablehlo",
       "reverse",
       {.assembly = "{operands}, dims = {dimensions}", .signature = Signature::kSame}},
      {"stablehlo",
       "rng_bit_generator",
       {.assembly = "{operands}, algorithm = {rng_algorithm}"},
       foreign::rng_bit_generator},
      {"stablehlo", "scatter", scatter()},
      {"stablehlo", "select", {.assembly = "{operands}", .signature = Signature::kFirstAndResult}},
      {"stablehlo", "select_and_scatter", select_and_scatter()},
      {"stablehlo", "slice", {.assembly = "{operands} {start_indices:limit_indices:strides}"}},
      {"stablehlo", "sort", sort()},
      {"stablehlo", "transpose", {.assembly = "{operands}, dims = {permutation}"}},
      {"stablehlo", "triangular_solve", triangular_solve()},
      {"stablehlo", "while", while_loop()},
  };
}

// Ops whose shapes are operands.
std::vector<OpRow> dynamic_rows() {
  return {
      {"stablehlo",
       "dynamic_broadcast_in_dim",
       {.assembly = "{operands}, dims = {broadcast_dimensions}"},
       foreign::dynamic_broadcast_in_dim,
       true},
      {"stablehlo", "dynamic_conv", {}, foreign::dynamic_conv},
      {"stablehlo", "dynamic_gather", {}, foreign::dynamic_gather, true},
      {"stablehlo",
       "dynamic_iota",
       {.assembly = "{operands}, dim = {iota_dimension}"},
       foreign::dynamic_iota},
      {"stablehlo", "dynamic_pad", {}, foreign::dynamic_pad, true},
      {"stablehlo", "dynamic_reshape", {}, foreign::dynamic_reshape, true},
      {"stablehlo", "real_dynamic_slice", {}, foreign::real_dynamic_slice, true},
      {"custom_call", "shape_assertion", {}, foreign::shape_assertion},
      {"custom_call", "stablehlo.dynamic_reduce_window", {}, foreign::dynamic_reduce_window},
      {"custom_call",
       "stablehlo.dynamic_rng_bit_generator",
       {},
       foreign::dynamic_rng_bit_generator},
      {"custom_call", "stablehlo.dynamic_top_k", {}, foreign::dynamic_top_k},
  };
}

std::vector<OpRow> other_rows() {
  return {
      {"chlo", "bessel_i1e", {}, foreign::bessel_i1e},
      {"chlo", "mulhi", {}, foreign::mulhi},
      {"chlo", "ragged_dot", {}, foreign::ragged_dot},
      {"chlo", "scan", {}, foreign::scan},
      {"chlo", "square", {}, foreign::square},
      {"chlo", "tan", {}, foreign::tan},
      {"chlo", "top_k", {.assembly = "({operands}, k = {k})"}, foreign::top_k},
      {"custom_call", "ApproxTopK", {}, foreign::approx_top_k},
      {"custom_call", "Sharding", {}, foreign::sharding_call, true},
      {"custom_call", "annotate_device_placement", {}, foreign::annotate_device_placement, true},
      {"custom_call", "dce_sink", {}, foreign::dce_sink, true},
      {"func", "call", {.assembly = "{callee}({operands})"}},
      {"sdy", "manual_computation", formats::manual_computation()},
      {"sdy", "sharding_constraint", formats::sharding_constraint()},
      {"tessera", "scan", {.typed_inputs = true}},
  };
}

using Rows = std::map<std::pair<std::string_view, std::string_view>, OpRow>;

Rows make_rows() {
  Rows out;
  const auto add = [&](const OpRow& row) {
    const bool added = out.emplace(std::pair(row.dialect, row.name), row).second;
    TESSERA_CHECK(added, "two rows for {}.{}", row.dialect, row.name);
  };
  for (const auto& rows : {stablehlo_rows(), dynamic_rows(), other_rows()})
    for (const OpRow& row : rows) add(row);
  for (const std::string& target : foreign::lapack_targets())
    add({"custom_call", target, {}, foreign::lapack_call});
  return out;
}

}  // namespace

const OpRow& row_of(std::string_view dialect, std::string_view name) {
  static const Rows& rows = *new Rows(make_rows());
  static const OpRow& none = *new OpRow;
  const auto it = rows.find({dialect, name});
  return it == rows.end() ? none : it->second;
}

ReadAs read_as(std::string_view dialect, std::string_view name) {
  const OpRow& row = row_of(dialect, name);
  return {row, row.build ? nullptr : find_op(dialect, name)};
}

OpParams read_params(const OpDef& def, OpReader& reader) {
  const auto read = format_of(def).read;
  return read ? read(def, reader) : reader.read_fields(def);
}

}  // namespace tessera::interchange
