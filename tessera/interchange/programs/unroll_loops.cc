#include "tessera/interchange/programs/unroll_loops.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "tessera/control/control_flow_ops.h"
#include "tessera/control/multiply_after_loops.h"
#include "tessera/interchange/programs/count_loops.h"
#include "tessera/interchange/programs/inline_calls.h"
#include "tessera/interchange/programs/known_scalars.h"
#include "tessera/interchange/programs/map_regions.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::interchange {
namespace {

constexpr int64_t kMaxTrips = 8, kMaxOps = 512;
// How many elements an array may have that is computed here. In a sharded program a device would
// take its part of the constant, and each device computes that part itself, except of keys.
constexpr int64_t kSmallElements = 64, kSmallElementsIfSharded = 8;

// Returns whether kernels compute the op where its result is read, in any trip.
bool fuses(const Op& op) {
  if (op.results.size() != 1) return false;
  if (const ConstantParams* constant = as_constant(op))
    return constant->is_splat() || constant->value.elements() <= kSmallElements;
  return std::holds_alternative<Pointwise>(op.def->lower) || op.def == &iota_op ||
         op.def == &broadcast_in_dim_op || op.def == &reshape_op || op.def == &slice_op;
}

// Returns the number of trips of a loop whose carried scalars start with these values, or nullopt
// if it is not known or larger than kMaxTrips.
std::optional<int64_t> trips_of(const Function& cond, const Function& body,
                                std::vector<std::optional<Literal>> scalars) {
  for (int64_t trips = 0; trips <= kMaxTrips; ++trips) {
    const std::optional<int64_t> again = KnownScalars(cond, 1, scalars).number(cond.outputs[0]);
    if (!again) return std::nullopt;
    if (*again == 0) return trips;
    const KnownScalars results(body, 1, std::move(scalars));
    scalars.clear();
    for (ValueId v : body.outputs) {
      const Literal* value = results.find(v);
      scalars.push_back(value ? std::optional(*value) : std::nullopt);
    }
  }
  return std::nullopt;
}

class LoopUnroller {
 public:
  LoopUnroller(Function& out, int64_t small) : out_(out), small_(small) {}

  ValueIds append(const Function& f, const ValueIds& values) {
    const KnownScalars scalars(f, 1, std::vector<std::optional<Literal>>(f.inputs.size()));
    return append_ops(f, values, [&](const Op& op, ValueIds operands) {
      if (op.def != &while_op) return keep(op, with_unrolled_regions(op), std::move(operands), f);
      const auto& p = op.params.as<WhileParams>();
      const Function cond = without_calls(*p.cond), body = without_calls(unrolled(*p.body));
      if (const std::optional<int64_t> trips = short_trips(cond, body, op, scalars)) {
        for (int64_t trip = 0; trip < *trips; ++trip) operands = append_trip(body, operands);
        return operands;
      }
      return keep(op, with_unrolled_regions(op), std::move(operands), f);
    });
  }

 private:
  Function unrolled(const Function& f) const {
    return rewritten(f, [&](Function& out, const ValueIds& inputs) {
      return LoopUnroller(out, small_).append(f, inputs);
    });
  }
  OpParams with_unrolled_regions(const Op& op) const {
    return map_regions(op, [this](const Function& region) { return unrolled(region); });
  }
  bool is_small(const Type& type) const {
    return type.elements() <= small_ && (is_integer(type.dtype) || type.dtype == bool_);
  }

  // Returns the number of trips if the loop is to be unrolled.
  static std::optional<int64_t> short_trips(const Function& cond, const Function& body,
                                            const Op& op, const KnownScalars& scalars) {
    const auto ops = static_cast<int64_t>(body.ops.size());
    if (ops > kMaxOps || !std::all_of(body.ops.begin(), body.ops.end(), fuses)) return std::nullopt;
    std::vector<std::optional<Literal>> starts;
    for (ValueId v : op.operands) {
      const Literal* start = scalars.find(v);
      starts.push_back(start ? std::optional(*start) : std::nullopt);
    }
    const std::optional<int64_t> trips = trips_of(cond, body, std::move(starts));
    return trips && *trips * ops <= kMaxOps ? trips : std::nullopt;
  }

  ValueIds append_trip(const Function& body, const ValueIds& carried) {
    return append_ops(body, carried, [&](const Op& op, ValueIds operands) {
      return keep(op, op.params, std::move(operands), body);
    });
  }

  // Adds an op of `f`, or the constant that it computes.
  ValueIds keep(const Op& op, OpParams params, ValueIds operands, const Function& f) {
    std::optional<Literal> value = known_value(op, operands, f);
    const std::vector<Type> types = f.types_of(op.results);
    if (!value) return out_.add_op(copy_of(op, std::move(params), std::move(operands)), types);
    const ValueIds made = as_constant(op)
                              ? out_.add_op(*op.def, params, {}, types, op.source)
                              : out_.add_op(constant_op, constant_params(*value, types[0].weak), {},
                                            types, op.source);
    known_.emplace(made[0], std::move(*value));
    return made;
  }

  // Returns the result of an op on small arrays of integers that are known.
  std::optional<Literal> known_value(const Op& op, const ValueIds& operands,
                                     const Function& f) const {
    if (!fuses(op) || !is_small(f.type(op.results[0])) || !op.def->evaluate) return std::nullopt;
    std::vector<Literal> values;
    for (ValueId v : operands) {
      const auto found = known_.find(v);
      if (found == known_.end()) return std::nullopt;
      values.push_back(found->second);
    }
    std::vector<Literal> results = op.def->evaluate(values, op.params);
    return std::move(results[0]);
  }

  Function& out_;
  const int64_t small_;  // how many elements an array may have that is computed here
  std::unordered_map<ValueId, Literal> known_;  // by the values of out_
};

}  // namespace

Function unroll_loops(const Function& function, bool is_sharded) {
  const int64_t small = is_sharded ? kSmallElementsIfSharded : kSmallElements;
  return rewritten(function, [&](Function& out, const ValueIds& inputs) {
    return LoopUnroller(out, small).append(function, inputs);
  });
}

Function with_loops_rewritten(const ParsedModule& module) {
  Function unrolled = unroll_loops(module.main, is_sharded(module));
  if (!is_sharded(module) && !has_products_in_while_loops(unrolled)) return unrolled;
  Function counted = count_loops(unrolled);
  return is_sharded(module) || sums_products_in_loops(counted) ? counted : unrolled;
}

}  // namespace tessera::interchange
