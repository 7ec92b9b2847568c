// Uses, and the rules that find them: what per-example gradients need to know of an op in addition
// to its derivatives. A use is an op of a linear program that reads a value which all examples of a
// batch share (a parameter's tangent) and whose result differs between examples. The backward pass
// stops at each use and keeps two things per example: the other operands of the use, and the
// cotangent of its result. Norms and weighted sums of per-example gradients are computed from
// these, so no per-example gradient is ever stored (transform/uses.h).
//
//   shared W [p, q], examples x [t, p]:   y = x W   is a use: operands {x}, cotangents {ct_y},
//   and W's gradient of one example is    x' ct_y
//
// Rules are registered with the ops' definitions, like halo rules. If an op has no rule, the whole
// op is one use.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The kind of an input of a linear program: the same for all examples or one for each, and linear
// (a tangent) or not.
enum class Sharing : uint8_t { kShared, kExample, kSharedLinear, kExampleLinear };
constexpr bool is_linear(Sharing s) {
  return s == Sharing::kSharedLinear || s == Sharing::kExampleLinear;
}
constexpr bool is_shared(Sharing s) { return s == Sharing::kShared || s == Sharing::kSharedLinear; }

struct Use {
  std::vector<size_t> inputs;  // the program's linear inputs that it reads, ascending
  // Maps (those inputs..., operands...) to its results; linear in the inputs.
  Function apply;
  std::vector<Array> operands, cotangents;
};
struct Uses {
  std::vector<Use> uses;
  // The cotangents of the program's inputs that are kExampleLinear. Entries of other inputs, and of
  // those whose cotangent is zero, are undefined.
  std::vector<Array> cotangents;
};

// The cotangent of a linear operand as a sum of outer products. For each index d of its `batch`
// dimensions it is a matrix, the sum over t of the outer product of x[d, t, :] and y[d, t, :]. The
// dimensions of the operand are `batch`, `rows` and `columns`, each once, in the order of x and y.
//
//   operand W [p, q] of x [t, p] W:   x {1, t, p}, y {1, t, q} = ct; rows {0}, columns {1}
struct OuterProduct {
  Array x;  // [D, T, P]; with x_is_index, [D, T] of int32: the row that is 1, all others 0
  Array y;  // [D, T, Q]
  bool x_is_index = false;
  Dims batch, rows, columns;
};

// Returns the uses inside a linear op with regions, whose operands are the op's operands. Values
// that the trips of a loop read are one use over all trips.
using UsesFn =
    std::function<Uses(std::span<const Array> cotangents, std::span<const Array> operands,
                       const std::vector<Sharing>&, const OpParams&)>;
// Returns the cotangent of the one linear operand as outer products; nullopt if the op's form does
// not allow it.
using OuterProductFn = std::function<std::optional<OuterProduct>(
    const Array& cotangent, std::span<const Array> operands, const std::vector<bool>& linear,
    const OpParams&)>;

// An op has at most one of these.
struct UseRule {
  UsesFn uses;
  OuterProductFn outer_product;
};

// Registers the rule of an op, and returns whether it had none before. It is called once, in the
// file of the op's definition and after it: while other files are initialized, `def` may not be
// yet.
bool register_use_rule(const OpDef& def, UseRule rule);
// These do the same with a function over the op's own params.
template <class P>
bool register_uses(const OpDef& def, Uses (*uses)(std::span<const Array>, std::span<const Array>,
                                                  const std::vector<Sharing>&, const P&)) {
  return register_use_rule(
      def, {.uses = [uses](std::span<const Array> cotangents, std::span<const Array> operands,
                           const std::vector<Sharing>& sharing, const OpParams& p) {
        return uses(cotangents, operands, sharing, p.as<P>());
      }});
}
template <class P>
bool register_outer_product(
    const OpDef& def, std::optional<OuterProduct> (*product)(const Array&, std::span<const Array>,
                                                             const std::vector<bool>&, const P&)) {
  return register_use_rule(
      def, {.outer_product = [product](const Array& cotangent, std::span<const Array> operands,
                                       const std::vector<bool>& linear, const OpParams& p) {
        return product(cotangent, operands, linear, p.as<P>());
      }});
}

// Returns null if the op has no rule.
const UseRule* find_use_rule(const OpDef& def);

}  // namespace tessera::ops
