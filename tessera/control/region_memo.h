// A memo of the transformed regions (derivatives, batchings) of loops and branches, each of which
// is made once.
//
// A rule of a loop transforms its body several times: first to find which carries have a tangent
// (or are mapped), then for the loop that it binds. If each of these walked the body again, nested
// loops would take a time that is exponential in their depth. So a transformed region is kept as a
// closed Function, which is bound when it is requested again. JAX does the same with jaxprs; its
// key is the jaxpr and the mask of nonzero tangents.
//
// It is used between the rules of scan, while and case and the transforms.
#pragma once

#include <memory>

#include "tessera/control/control_flow_ops.h"
#include "tessera/transform/derivative.h"

namespace tessera::control {

class RegionMemo;

// Every rule that transforms a region has a scope. The outermost scope of a thread owns the memo
// and destroys it.
class RegionMemoScope {
 public:
  RegionMemoScope();
  ~RegionMemoScope();
  RegionMemoScope(const RegionMemoScope&) = delete;
  RegionMemoScope& operator=(const RegionMemoScope&) = delete;

 private:
  std::unique_ptr<RegionMemo> mine_;  // null if there is an outer scope
};

// The transforms of transform/ for regions, which capture nothing. A region is transformed once for
// each combination of mask (or dims), operand types, and named axes in scope.
JvpResult jvp_region(const FunctionRef& region, std::span<const Array> primals,
                     std::span<const Array> tangents);
LinearizedFunction linearize_region(const FunctionRef& region, std::span<const Array> primals,
                                    const std::vector<bool>& has_tangent);
BatchResult batch_region(const FunctionRef& region, std::span<const Array> operands,
                         std::span<const int> dims);

// Returns which results of jvp_region() would have a tangent for operands of these types.
std::vector<bool> jvp_nonzero(const FunctionRef& region, std::span<const Type> types,
                              const std::vector<bool>& has_tangent);

// Which results of linearize_region() would have a tangent, and the types of its residuals.
struct RegionTangents {
  std::vector<bool> nonzero;
  std::vector<Type> residuals;
};
RegionTangents region_tangents(const FunctionRef& region, std::span<const Type> types,
                               const std::vector<bool>& has_tangent);

// Returns the mapped dimensions of the results that batch_region() would return for operands of
// these types.
std::vector<int> batched_dims(const FunctionRef& region, std::span<const Type> types,
                              std::span<const int> dims);

}  // namespace tessera::control
