// Samples of the ops with regions, which the definitions in call_ops.cc, checkpoint.cc,
// control_flow_ops.cc, custom_derivative.cc and manual_boundary.cc name. The regions are built op
// by op.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ops/core/op.h"

namespace tessera::control::samples {

std::vector<Sample> while_samples();
std::vector<Sample> scan_samples();
std::vector<Sample> case_samples();
std::vector<Sample> call_samples();
std::vector<Sample> manual_computation_samples();
std::vector<Sample> full_to_shard_samples();
std::vector<Sample> shard_to_full_samples();
std::vector<Sample> custom_jvp_samples();
std::vector<Sample> custom_vjp_samples();
std::vector<Sample> checkpoint_samples();

}  // namespace tessera::control::samples
