// Installs tracing and the transforms for the rules of ops with regions.
#include "tessera/ops/control/region_transforms.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/batch.h"
#include "tessera/transform/derivative.h"
#include "tessera/transform/uses.h"

namespace tessera::transforms {
namespace {

[[maybe_unused]] const bool installed =
    (install_region_transforms({.trace = trace_function,
                                .apply = inline_function,
                                .jvp = jvp_function,
                                .linearize = linearize_function,
                                .linearize_with = linearize_function_with,
                                .transpose = transpose_function,
                                .uses = transpose_to_uses,
                                .batch = batch_function}),
     true);

}  // namespace
}  // namespace tessera::transforms
