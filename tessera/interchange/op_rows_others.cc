// The rows of ops of dialects other than StableHLO, and of custom calls.
#include "tessera/interchange/foreign/custom_partitioning.h"
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/formats/collective_text.h"
#include "tessera/interchange/formats/formats.h"
#include "tessera/interchange/op_table.h"

namespace tessera::interchange {
namespace {

const OpRow kOtherRows[] = {
    {.name = "builtin.module", .properties = {"sym_name? sym_visibility?"}},
    {.name = "chlo.bessel_i1e", .build = foreign::bessel_i1e},
    {.name = "chlo.constant", .properties = {"value"}},
    {.name = "chlo.mulhi", .build = foreign::mulhi},
    {.name = "chlo.polygamma", .build = foreign::polygamma},
    {.name = "chlo.ragged_dot",
     .build = foreign::ragged_dot,
     .properties = {"precision_config? ragged_dot_dimension_numbers"}},
    {.name = "chlo.scan",
     .build = foreign::scan,
     .properties =
         {"dimension is_associative? is_reverse? operandSegmentSizes# resultSegmentSizes#",
          "dimension is_associative? is_reverse? scan_dim_size? operandSegmentSizes# "
          "resultSegmentSizes#"}},
    {.name = "chlo.square", .build = foreign::square},
    {.name = "chlo.tan", .build = foreign::tan},
    {.name = "chlo.top_k",
     .format = {.assembly = "({operands}, k = {k})"},
     .build = foreign::top_k,
     .properties = {"k"}},
    {.name = "chlo.zeta", .build = foreign::zeta},
    {.name = "custom_call.ApproxTopK", .build = foreign::approx_top_k},
    {.name = "custom_call.InspectSharding", .build = foreign::inspect_sharding, .narrow = true},
    {.name = "custom_call.LayoutConstraint", .build = foreign::layout_constraint, .narrow = true},
    {.name = "custom_call.Sharding", .build = foreign::sharding_call, .narrow = true},
    {.name = "custom_call.all-gather-done", .build = foreign::collective_done, .narrow = true},
    {.name = "custom_call.all-gather-start", .build = foreign::all_gather_start, .narrow = true},
    {.name = "custom_call.all-reduce-done", .build = foreign::collective_done, .narrow = true},
    {.name = "custom_call.all-reduce-start", .build = foreign::all_reduce_start},
    {.name = "custom_call.all-to-all-done", .build = foreign::collective_done, .narrow = true},
    {.name = "custom_call.all-to-all-start", .build = foreign::all_to_all_start, .narrow = true},
    {.name = "custom_call.annotate_device_placement",
     .build = foreign::annotate_device_placement,
     .narrow = true},
    {.name = "custom_call.collective-permute-done",
     .build = foreign::collective_done,
     .narrow = true},
    {.name = "custom_call.collective-permute-start",
     .build = foreign::collective_permute_start,
     .narrow = true},
    {.name = "custom_call.control_dep", .build = foreign::control_dep, .narrow = true},
    {.name = "custom_call.dce_sink", .build = foreign::dce_sink, .narrow = true},
    {.name = "custom_call.ragged_all_to_all", .build = formats::ragged_all_to_all_call},
    {.name = "custom_call.reduce-scatter-done", .build = foreign::collective_done, .narrow = true},
    {.name = "custom_call.reduce-scatter-start", .build = foreign::reduce_scatter_start},
    {.name = "custom_call.shape_assertion", .build = foreign::shape_assertion},
    {.name = "custom_call.stablehlo.dynamic_reduce_window",
     .build = foreign::dynamic_reduce_window},
    {.name = "custom_call.stablehlo.dynamic_rng_bit_generator",
     .build = foreign::dynamic_rng_bit_generator},
    {.name = "custom_call.stablehlo.dynamic_top_k", .build = foreign::dynamic_top_k},
    {.name = "func.call",
     .format = formats::call(),
     .properties = {"arg_attrs? callee no_inline? res_attrs?", "callee no_inline?", "callee"},
     .vhlo = {{1, "0.9.0", "", "callee"}}},
    {.name = "func.func",
     .properties = {"arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?",
                    "arg_attrs? function_type res_attrs? sym_name sym_visibility?"},
     .vhlo = {{1, "0.9.0", "", "arg_attrs function_type res_attrs sym_name sym_visibility"}}},
    {.name = "sdy.manual_computation",
     .format = formats::manual_computation(),
     .properties = {"in_shardings manual_axes out_shardings"}},
    {.name = "sdy.mesh", .properties = {"mesh sym_name"}},
    {.name = "sdy.named_computation", .properties = {"in_shardings? name out_shardings?"}},
    {.name = "sdy.propagation_barrier", .properties = {"allowed_direction"}},
    {.name = "sdy.reshard", .properties = {"sharding"}},
    {.name = "sdy.sharding_constraint",
     .format = formats::sharding_constraint(),
     .properties = {"sharding"}},
    {.name = "sdy.sharding_group",
     .format = {.assembly = "{operands} group_id = {group_id}",
                .signature = OpFormat::Signature::kSame},
     .build = foreign::sharding_group,
     .narrow = true,
     .properties = {"group_id"}},
    {.name = "tessera.partitioned_callback",
     .build = foreign::partitioned_callback,
     .narrow = true},
    {.name = "tessera.scan", .format = {.typed_inputs = true}},
};

}  // namespace

std::span<const OpRow> other_rows() { return kOtherRows; }

}  // namespace tessera::interchange
