#include "tessera/interchange/programs/count_loops.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "tessera/control/control.h"
#include "tessera/control/control_flow_ops.h"
#include "tessera/interchange/programs/inline_calls.h"
#include "tessera/interchange/programs/known_scalars.h"
#include "tessera/interchange/programs/map_regions.h"
#include "tessera/interchange/programs/row_access.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::interchange {
namespace {

// An integer scalar of a loop has a value in each trip. If there are more than this many values in
// all, no scalar is followed.
constexpr int64_t kMaxNumbers = int64_t{1} << 24;

int64_t count_scalars(const Function& f) {
  return std::count_if(f.types.begin(), f.types.end(),
                       [](const Type& t) { return t.rank() == 0 && !is_inexact(t.dtype); });
}

using Known = std::vector<std::optional<Literal>>;  // values of the inputs, [1], or unknown

Function count_loops_in(const Function& f, const Known& known);

// Replaces a broadcast number by a constant, since constants are no residuals of a derivative. JAX
// broadcasts every scalar.
void spread_constants(Function& f) {
  std::vector<const Op*> maker(f.types.size(), nullptr);
  for (Op& op : f.ops) {
    for (ValueId v : op.results) maker[v] = &op;
    if (op.def != &broadcast_in_dim_op || !maker[op.operands[0]]) continue;
    const ConstantParams* constant = as_constant(*maker[op.operands[0]]);
    if (!constant || !constant->is_splat()) continue;
    ConstantParams spread = *constant;
    spread.shape = f.type(op.results[0]).shape;
    op.def = &constant_op;
    op.params = spread;
    op.operands.clear();
  }
}

// Returns the same function without calls and with constants of the shapes that ops read.
Function inlined(const Function& f) {
  Function out = without_calls(f);
  spread_constants(out);
  return out;
}

// Returns how often `step` is added to `start` until the comparison with `bound` fails, which is
// the number of trips. Returns nullopt if a value leaves [low, high] before that.
std::optional<int64_t> trips(__int128 start, __int128 step, Comparison direction, __int128 bound,
                             __int128 low, __int128 high) {
  __int128 count = 0;
  const auto up_to = [&](__int128 distance, __int128 by) {  // both up
    if (distance <= 0) return std::optional<__int128>(0);
    return by > 0 ? std::optional((distance + by - 1) / by) : std::nullopt;
  };
  std::optional<__int128> found;
  switch (direction) {
    case Comparison::kLt:
      found = up_to(bound - start, step);
      break;
    case Comparison::kLe:
      found = up_to(bound - start + 1, step);
      break;
    case Comparison::kGt:
      found = up_to(start - bound, -step);
      break;
    case Comparison::kGe:
      found = up_to(start - bound + 1, -step);
      break;
    case Comparison::kNe:
      if (start == bound) {
        found = 0;
      } else if (step != 0 && (bound - start) % step == 0 && (bound - start) / step > 0) {
        found = (bound - start) / step;
      }
      break;
    case Comparison::kEq:
      if (start != bound) {
        found = 0;
      } else if (step != 0) {
        found = 1;
      }
      break;
  }
  if (!found) return std::nullopt;
  count = *found;
  const __int128 end = start + count * step;
  if (end < low || end > high || count > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return static_cast<int64_t>(count);
}

Comparison swapped(Comparison direction) {
  switch (direction) {
    case Comparison::kLt:
      return Comparison::kGt;
    case Comparison::kLe:
      return Comparison::kGe;
    case Comparison::kGt:
      return Comparison::kLt;
    case Comparison::kGe:
      return Comparison::kLe;
    case Comparison::kEq:
    case Comparison::kNe:
      return direction;
  }
  return direction;
}

// A carried integer to which every trip adds the same number.
struct Counter {
  int64_t start, step;
};

// A while loop whose regions have no calls.
class WhileLoop {
 public:
  // `starts`: the known values of the operands.
  WhileLoop(const WhileParams& p, Known starts)
      : starts_(std::move(starts)), cond_(inlined(*p.cond)), body_(inlined(*p.body)) {
    Known invariant(starts_.size());
    for (size_t k = 0; k < starts_.size(); ++k)
      if (body_.outputs[k] == body_.inputs[k]) invariant[k] = starts_[k];
    body_ = count_loops_in(body_, invariant);
    for (size_t k = 0; k < starts_.size(); ++k)
      if (is_invariant(k)) invariant[k] = starts_[k];
    known_ = std::move(invariant);
    const std::vector<int> producers = body_.producers();
    const KnownScalars scalars(body_, 1, known_);
    for (size_t k = 0; k < starts_.size(); ++k)
      counters_.push_back(find_counter(k, producers, scalars));
    trips_ = find_trips();
  }

  const Function& cond() const { return cond_; }
  const Function& body() const { return body_; }
  const std::optional<int64_t>& trips() const { return trips_; }
  bool is_invariant(size_t k) const { return body_.outputs[k] == body_.inputs[k]; }

  // Returns the known values of the inputs in each trip.
  Known tables() const {
    Known out(known_.size());
    for (size_t k = 0; k < out.size(); ++k) {
      if (counters_[k])
        out[k] = counted_lanes(body_.type(body_.inputs[k]).dtype, counters_[k]->start,
                               counters_[k]->step, *trips_);
      else if (known_[k])
        out[k] = in_lanes(known_[k]->reshaped({}), *trips_);
    }
    return out;
  }

 private:
  std::optional<Counter> find_counter(size_t k, const std::vector<int>& producers,
                                      const KnownScalars& scalars) const {
    const ValueId in = body_.inputs[k], out = body_.outputs[k];
    if (!starts_[k] || !is_integer(body_.type(in).dtype) || producers[out] < 0) return std::nullopt;
    const Op& op = body_.ops[producers[out]];
    std::optional<int64_t> step;
    if (op.def == &add_op && op.operands[0] == in) {
      step = scalars.number(op.operands[1]);
    } else if (op.def == &add_op && op.operands[1] == in) {
      step = scalars.number(op.operands[0]);
    } else if (op.def == &sub_op && op.operands[0] == in) {
      step = scalars.number(op.operands[1]);
      if (step) step = -*step;
    }
    const auto start = numbers_of(*starts_[k]);
    if (!step || !start) return std::nullopt;
    return Counter{start->front(), *step};
  }

  std::optional<int64_t> find_trips() const {
    const int at = cond_.producers()[cond_.outputs[0]];
    if (at < 0 || cond_.ops[at].def != &compare_op) return std::nullopt;
    const Op& op = cond_.ops[at];
    const auto& p = op.params.as<CompareParams>();
    const KnownScalars scalars(cond_, 1, known_);
    for (size_t side : {0, 1}) {
      const auto input = std::find(cond_.inputs.begin(), cond_.inputs.end(), op.operands[side]);
      if (input == cond_.inputs.end()) continue;
      const std::optional<Counter>& counter =
          counters_[static_cast<size_t>(input - cond_.inputs.begin())];
      const std::optional<int64_t> bound = scalars.number(op.operands[1 - side]);
      const DType dtype = cond_.type(*input).dtype;
      if (!counter || !bound || p.type != default_compare_type(dtype)) continue;
      const int64_t bits = 8 * itemsize(dtype) - (is_signed(dtype) ? 1 : 0);
      const __int128 high = (__int128{1} << bits) - 1, low = is_signed(dtype) ? -high - 1 : 0;
      return interchange::trips(counter->start, counter->step,
                                side == 0 ? p.direction : swapped(p.direction), *bound, low, high);
    }
    return std::nullopt;
  }

  const Known starts_;
  Function cond_, body_;
  Known known_;  // values of the body's inputs that are the same in every trip
  std::vector<std::optional<Counter>> counters_;
  std::optional<int64_t> trips_;
};

// The part of the scan that a carried value of the while becomes.
enum class Role : uint8_t { kConstant, kCarry, kStacked };

// A read or write of rows in the body.
struct Access {
  size_t carried;
  const Op* op;
  RowAccess rows;
};

// Adds to a function the scan for a loop whose number of trips is known.
class CountedLoop {
 public:
  CountedLoop(const WhileLoop& loop, Function& out, const ValueIds& operands, const Op& op)
      : loop_(loop), body_(loop.body()), out_(out), operands_(operands), source_(op.source) {
    for (size_t k = 0; k < operands_.size(); ++k)
      roles_.push_back(loop_.is_invariant(k) ? Role::kConstant : Role::kCarry);
    const int64_t trips = *loop_.trips();
    if (trips > 0 && trips <= kMaxNumbers / std::max<int64_t>(count_scalars(body_), 1))
      find_accesses();
    int64_t down = 0;
    for (const auto* list : {&reads_, &writes_})
      for (const Access& access : *list) down += access.rows.descending ? 1 : -1;
    reverse_ = down > 0;
  }

  ValueIds append() {
    if (*loop_.trips() == 0) return operands_;
    build_body();
    ScanParams p{.body = std::make_shared<const Function>(remove_dead_ops(scan_)),
                 .length = *loop_.trips(),
                 .num_consts = static_cast<int64_t>(consts_.size()),
                 .num_carry = 0,
                 .reverse = reverse_};
    ValueIds inputs(consts_);
    for (size_t k = 0; k < roles_.size(); ++k) {
      if (roles_[k] != Role::kCarry) continue;
      inputs.push_back(operands_[k]);
      ++p.num_carry;
    }
    const AddOp one = [this](const OpDef& def, OpParams params, ValueIds operands) {
      return add(def, std::move(params), std::move(operands))[0];
    };
    for (const Access& read : reads_)
      inputs.push_back(
          append_rows(read.rows, *loop_.trips(), reverse_, out_, operands_[read.carried], one));
    const ValueIds results = add(scan_op, std::move(p), inputs);
    size_t next = 0;
    ValueIds out = operands_;  // a constant is its operand
    for (size_t k = 0; k < roles_.size(); ++k)
      if (roles_[k] == Role::kCarry) out[k] = results[next++];
    for (const Access& write : writes_)
      out[write.carried] = append_written(write.rows, *loop_.trips(), reverse_, out_,
                                          operands_[write.carried], results[next++], one);
    return out;
  }

 private:
  void find_accesses() {
    const KnownScalars scalars(body_, *loop_.trips(), loop_.tables());
    std::vector<int> uses(body_.types.size(), 0);
    for (const Op& op : body_.ops)
      for (ValueId v : op.operands) ++uses[v];
    for (ValueId v : body_.outputs) ++uses[v];
    for (const Op& op : body_.ops) {
      const std::optional<RowAccess> rows = row_access(body_, op, scalars);
      if (!rows) continue;
      const auto input = std::find(body_.inputs.begin(), body_.inputs.end(), op.operands[0]);
      if (input == body_.inputs.end()) continue;
      const auto k = static_cast<size_t>(input - body_.inputs.begin());
      if (!rows->writes && roles_[k] == Role::kConstant) {
        reads_.push_back({k, &op, *rows});
      } else if (rows->writes && rows->is_contiguous() && body_.outputs[k] == op.results[0] &&
                 uses[*input] == 1 && uses[op.results[0]] == 1) {
        writes_.push_back({k, &op, *rows});
        roles_[k] = Role::kStacked;
      }
    }
    std::sort(writes_.begin(), writes_.end(),
              [](const Access& a, const Access& b) { return a.carried < b.carried; });
  }

  const Access* access_of(const std::vector<Access>& list, const Op& op) const {
    for (const Access& access : list)
      if (access.op == &op) return &access;
    return nullptr;
  }

  // Returns whether the op reshapes [...] to [1, ...], or the inverse.
  bool adds_or_drops_first_dim(const Op& op) const {
    if (op.def != &reshape_op && op.def != &broadcast_in_dim_op) return false;
    Shape from = body_.type(op.operands[0]).shape, to = body_.type(op.results[0]).shape;
    if (op.def == &broadcast_in_dim_op) {
      int64_t next = 1;
      for (int64_t d : op.params.as<BroadcastParams>().dims)
        if (d != next++) return false;
    }
    if (from.rank() > to.rank()) std::swap(from, to);
    if (to.rank() != from.rank() + 1 || to[0] != 1) return false;
    to.erase(to.begin());
    return from == to;
  }

  // Makes the body of the scan: (constants that are read, carry, rows) -> (carry, rows).
  void build_body() {
    scan_.name = body_.name;
    ValueIds inputs(body_.inputs.size(), -1), reads(reads_.size(), -1);
    for (Role role : {Role::kConstant, Role::kCarry})
      for (size_t k = 0; k < roles_.size(); ++k) {
        if (roles_[k] != role || (role == Role::kConstant && !is_read(k))) continue;
        inputs[k] = scan_.add_input(body_.type(body_.inputs[k]));
        if (role == Role::kConstant) consts_.push_back(operands_[k]);
      }
    for (size_t r = 0; r < reads_.size(); ++r) {
      Type row = body_.type(reads_[r].op->results[0]);
      row.shape = row_shape(reads_[r].rows, body_.type(reads_[r].op->operands[0]).shape);
      reads[r] = scan_.add_input(std::move(row));
    }
    ValueIds rows(writes_.size(), -1);
    // For values [1, ...] or [...] of the body: the value of the scan's body that has the same
    // elements as [...].
    ValueIds row_of(body_.types.size(), -1);
    const auto keep = [&](const Op& op, ValueIds operands) {
      return scan_.add_op(copy_of(op, op.params, std::move(operands)), body_.types_of(op.results));
    };
    const auto as = [&](const Shape& shape, ValueId v) {
      Type type = scan_.type(v);
      if (type.shape == shape) return v;
      type.shape = shape;
      return scan_.add_op(reshape_op, ReshapeParams{shape}, {v}, {&type, 1})[0];
    };
    ValueIds outputs = append_ops(body_, inputs, [&](const Op& op, ValueIds operands) -> ValueIds {
      if (const Access* read = access_of(reads_, op)) {
        const ValueId row = reads[static_cast<size_t>(read - reads_.data())];
        if (read->rows.block == 1) row_of[op.results[0]] = row;
        return {as(body_.type(op.results[0]).shape, row)};
      }
      if (const Access* write = access_of(writes_, op)) {
        const ValueId known = row_of[op.operands[1]];
        rows[static_cast<size_t>(write - writes_.data())] =
            as(row_shape(write->rows, body_.type(op.results[0]).shape),
               known >= 0 ? known : operands[1]);
        return {-1};
      }
      if (adds_or_drops_first_dim(op)) {
        ValueId& row = row_of[op.operands[0]];
        const bool drops = body_.type(op.results[0]).rank() < body_.type(op.operands[0]).rank();
        if (drops && row >= 0) return {row};
        if (!drops) row_of[op.results[0]] = operands[0];
      }
      return keep(op, std::move(operands));
    });
    for (size_t k = 0; k < roles_.size(); ++k)
      if (roles_[k] == Role::kCarry) scan_.outputs.push_back(outputs[k]);
    scan_.outputs.insert(scan_.outputs.end(), rows.begin(), rows.end());
  }

  // Returns whether constant k is read by an op that stays, or is a carry.
  bool is_read(size_t k) const {
    const ValueId v = body_.inputs[k];
    for (const Op& op : body_.ops)
      if (!access_of(reads_, op) &&
          std::find(op.operands.begin(), op.operands.end(), v) != op.operands.end())
        return true;
    for (size_t r = 0; r < roles_.size(); ++r)
      if (roles_[r] == Role::kCarry && body_.outputs[r] == v) return true;
    return false;
  }

  ValueIds add(const OpDef& def, OpParams params, ValueIds operands) {
    const std::vector<Type> types = out_.types_of(operands);
    params = retyped_params(def, types, params);
    const std::vector<Type> results = infer_types(def, types, params);
    return out_.add_op(def, std::move(params), std::move(operands), results, source_);
  }

  const WhileLoop& loop_;
  const Function& body_;
  Function& out_;
  const ValueIds operands_;
  const std::string source_;
  std::vector<Role> roles_;  // of each carried value
  std::vector<Access> reads_, writes_;
  bool reverse_ = false;
  Function scan_;
  ValueIds consts_;
};

Function count_loops_in(const Function& function, const Known& known) {
  const Function f = inlined(function);
  const KnownScalars scalars(f, 1, known);
  return remove_dead_ops(rewritten(f, [&](Function& out, const ValueIds& inputs) {
    return append_ops(f, inputs, [&](const Op& op, ValueIds operands) {
      const auto keep = [&](OpParams params) {
        return out.add_op(copy_of(op, std::move(params), std::move(operands)),
                          f.types_of(op.results));
      };
      if (op.def != &while_op) return keep(map_regions(op, count_loops));
      Known starts;
      for (ValueId v : op.operands) {
        const Literal* start = scalars.find(v);
        starts.push_back(start ? std::optional(*start) : std::nullopt);
      }
      const WhileLoop loop(op.params.as<WhileParams>(), std::move(starts));
      if (loop.trips()) return CountedLoop(loop, out, operands, op).append();
      return keep(WhileParams{std::make_shared<const Function>(count_loops(loop.cond())),
                              std::make_shared<const Function>(loop.body())});
    });
  }));
}

}  // namespace

Function count_loops(const Function& function) {
  return count_loops_in(function, Known(function.inputs.size()));
}

bool is_sharded(const ParsedModule& module) {
  return std::any_of(module.meshes.begin(), module.meshes.end(),
                     [](const Mesh& mesh) { return mesh.size() > 1; });
}

}  // namespace tessera::interchange
