// Derivatives, transposes and batching of loops and branches (control_flow_ops.cc).
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/control/control_flow_ops.h"
#include "tessera/ops/core/use_rule.h"

namespace tessera::control {

JvpResult jvp_while(std::span<const Array> primals, std::span<const Array> tangents,
                    const WhileParams& p);
LinearizeResult linearize_while(std::span<const Array> primals,
                                const std::vector<bool>& has_tangent, const WhileParams& p);
BatchResult batch_while(std::span<const Array> operands, std::span<const int> dims,
                        const WhileParams& p);

JvpResult jvp_scan(std::span<const Array> primals, std::span<const Array> tangents,
                   const ScanParams& p);
LinearizeResult linearize_scan(std::span<const Array> primals, const std::vector<bool>& has_tangent,
                               const ScanParams& p);
std::vector<Array> transpose_scan(std::span<const Array> cotangents,
                                  std::span<const Array> operands, const std::vector<bool>& linear,
                                  const ScanParams& p);
Uses uses_scan(std::span<const Array> cotangents, std::span<const Array> operands,
               const std::vector<Sharing>& sharing, const ScanParams& p);
BatchResult batch_scan(std::span<const Array> operands, std::span<const int> dims,
                       const ScanParams& p);

JvpResult jvp_case(std::span<const Array> primals, std::span<const Array> tangents,
                   const CaseParams& p);
LinearizeResult linearize_case(std::span<const Array> primals, const std::vector<bool>& has_tangent,
                               const CaseParams& p);
std::vector<Array> transpose_case(std::span<const Array> cotangents,
                                  std::span<const Array> operands, const std::vector<bool>& linear,
                                  const CaseParams& p);
BatchResult batch_case(std::span<const Array> operands, std::span<const int> dims,
                       const CaseParams& p);

}  // namespace tessera::control
