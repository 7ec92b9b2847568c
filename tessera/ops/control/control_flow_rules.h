// Derivatives, transposes and batching of loops and branches, and how the rules (and the user's
// scan) make one: the carry's variance over manual axes is found by tracing until it stays.
#pragma once

#include "tessera/ops/control/control_flow_ops.h"
#include "tessera/ops/control/region_transforms.h"

namespace tessera::ops::control_flow {

// A scan whose body is a callable: (consts..., carry..., slices...) -> (carry..., y...). It may be
// called several times, and may capture. Results: the last carry..., every y stacked.
struct ScanSpec {
  std::vector<Array> consts, carry, xs;
  int64_t length = 0;
  bool reverse = false;
};
std::vector<Array> make_scan(const ScanSpec& spec, const FlatFn& body);

// A while loop of callables: cond(carry...) -> a bool, body(carry...) -> carry....
std::vector<Array> make_while(std::vector<Array> carry, const FlatFn& cond, const FlatFn& body);

// Branches of callables, all over `operands`; results vary over what any branch's result does.
std::vector<Array> make_case(const Array& index, const std::vector<FlatFn>& branches,
                             const std::vector<Array>& operands);

// x typed as varying over at least `axes`.
Array cast_varying(const Array& x, const AxisNames& axes);
// Zeros of this dtype and shape, typed as varying likewise.
Array zero_of(const Type& type);

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

}  // namespace tessera::ops::control_flow
