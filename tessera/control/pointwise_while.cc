#include "tessera/control/pointwise_while.h"

#include "tessera/control/control_flow_rules.h"
#include "tessera/control/make_control_flow.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/derivative.h"

namespace tessera::control {
namespace {

using namespace array_math;

// Returns whether the carries in `mask` are real arrays of one shape, and all floating-point values
// that depend on them are computed element by element.
bool is_pointwise(const Function& body, const std::vector<bool>& mask) {
  std::optional<Shape> shape;
  std::vector<char> depends(body.types.size(), false);
  for (size_t k = 0; k < mask.size(); ++k) {
    if (!mask[k]) continue;
    const Type& type = body.type(body.inputs[k]);
    if (!is_floating(type.dtype) || (shape && *shape != type.shape)) return false;
    shape = type.shape;
    depends[body.inputs[k]] = true;
  }
  for (const Op& op : body.ops) {
    bool reads = false;
    for (ValueId v : op.operands) reads = reads || depends[v];
    if (!reads) continue;
    for (ValueId v : op.results) {
      const Type& type = body.type(v);
      if (!is_inexact(type.dtype)) continue;
      if (!std::holds_alternative<Pointwise>(op.def->lower) || !is_floating(type.dtype) ||
          type.shape != *shape)
        return false;
      depends[v] = true;
    }
  }
  return true;
}

}  // namespace

// The loop carries, in addition to each masked carry, its derivatives by the initial carries that
// have tangents.
std::optional<LinearizeResult> linearize_pointwise_while(std::span<const Array> primals,
                                                         const std::vector<bool>& has_tangent,
                                                         const std::vector<bool>& mask,
                                                         const WhileParams& p) {
  if (!is_pointwise(*p.body, mask)) return std::nullopt;
  const size_t n = primals.size();
  std::vector<size_t> starts, masked;
  for (size_t k = 0; k < n; ++k) {
    if (has_tangent[k]) starts.push_back(k);
    if (mask[k]) masked.push_back(k);
  }
  std::vector<Array> carry(primals.begin(), primals.end());
  for (size_t i : starts)
    for (size_t j : masked) {
      const Array zero = zero_of(primals[j].type());
      carry.push_back(i == j ? lax::full_like(zero, 1) : zero);
    }
  const auto first = [n](const std::vector<Array>& x) {
    return std::vector<Array>(x.begin(), x.begin() + static_cast<int64_t>(n));
  };
  const std::vector<Array> results = make_while(
      carry, [&](const std::vector<Array>& x) { return inline_function(*p.cond, first(x)); },
      [&](const std::vector<Array>& x) {
        std::vector<Array> out;
        size_t next = n;
        for (size_t s = 0; s < starts.size(); ++s) {
          std::vector<Array> t(n);
          for (size_t j : masked) t[j] = x[next++];
          const JvpResult at = jvp_function(*p.body, first(x), t);
          if (s == 0) out = at.primals;
          for (size_t j : masked)
            out.push_back(at.tangents[j].defined() ? at.tangents[j]
                                                   : zero_of(at.primals[j].type()));
        }
        return out;
      });
  auto tangents = [=](std::span<const Array> given) {
    std::vector<Array> out(n);
    size_t next = n;
    for (size_t i : starts)
      for (size_t j : masked) {
        const Array term = given[i] * results[next++];
        out[j] = out[j].defined() ? out[j] + term : term;
      }
    return out;
  };
  return LinearizeResult{first(results), tangents};
}

}  // namespace tessera::control
