#include "tessera/control/multiply_after_loops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "tessera/base/contains.h"
#include "tessera/control/control_flow_ops.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/format.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::control {
namespace {

// How much a loop may stack in addition, whatever it stacks already.
constexpr int64_t kStackedBytes = int64_t{16} << 20;

bool moves_elements(const Op& op) { return op.def == &reshape_op || op.def == &transpose_op; }

// A product in the body, and what becomes of it before it is added to the carry.
struct Term {
  const Op* dot = nullptr;
  std::vector<const Op*> then;  // in the order of the computation
  bool negative = false;
};

// The rows of all trips of an operand of a product: an array that the loop reads or stacks by rows,
// and the ops that make the operand of a row.
struct Rows {
  enum class Kind : uint8_t { kScanned, kStacked, kNew };
  Kind kind = Kind::kNew;
  size_t index = 0;             // of the scanned operand, or of the stacked result
  ValueId value = -1;           // the value of the body that has the elements of the row
  std::vector<const Op*> then;  // ops that move elements, in the order of the computation
};

// A carry that the loop does not need.
struct Sum {
  size_t carry;
  DType dtype;  // the one in which the products are added
  std::vector<Term> terms;
  std::vector<std::array<Rows, 2>> operands;  // of each term's product
};

// Finds the sums of products in a scan.
class SumFinder {
 public:
  SumFinder(const ScanParams& p, int64_t least_bytes)
      : p_(p),
        least_bytes_(least_bytes),
        b_(*p.body),
        maker_(b_.producers()),
        uses_(b_.types.size(), 0) {
    for (const Op& op : b_.ops)
      for (ValueId v : op.operands) ++uses_[v];
    for (ValueId v : b_.outputs) ++uses_[v];
    const size_t rows = static_cast<size_t>(p.num_consts + p.num_carry);
    int64_t bytes = 0;
    for (size_t k = rows; k < b_.inputs.size(); ++k) bytes += b_.type(b_.inputs[k]).bytes();
    for (size_t r = static_cast<size_t>(p.num_carry); r < b_.outputs.size(); ++r)
      bytes += b_.type(b_.outputs[r]).bytes();
    left_ = std::max(bytes * p.length, kStackedBytes);
    varies_.assign(b_.types.size(), false);
    for (size_t k = static_cast<size_t>(p.num_consts); k < b_.inputs.size(); ++k)
      varies_[b_.inputs[k]] = true;
    for (const Op& op : b_.ops)
      for (ValueId v : op.results)
        varies_[v] = op.def->effect || std::any_of(op.operands.begin(), op.operands.end(),
                                                   [&](ValueId x) { return varies_[x]; });
  }

  std::vector<Sum> find() {
    std::vector<Sum> out;
    if (p_.length < 2) return out;
    for (size_t k = 0; k < static_cast<size_t>(p_.num_carry); ++k)
      if (std::optional<Sum> sum = sum_of(k)) out.push_back(std::move(*sum));
    return out;
  }

  // Returns the values of the body that the loop has to stack in addition.
  const std::vector<ValueId>& stacked() const { return stacked_; }
  // Returns whether a factor (or, with `divides`, a divisor) of products may be applied to their
  // sum instead. A factor of integers must be the same in each trip. One of floats must be a
  // constant that makes nothing smaller: otherwise the sum could overflow before it is made
  // smaller.
  bool is_factor(ValueId v, bool divides = false) const {
    if (is_integer(b_.type(v).dtype)) return !divides && is_repeatable(v);
    const Op* op = maker_[v] < 0 ? nullptr : &b_.ops[maker_[v]];
    while (op && op->operands.size() == 1 && is_repeatable(v)) {
      v = op->operands[0];
      op = maker_[v] < 0 ? nullptr : &b_.ops[maker_[v]];
    }
    const ConstantParams* constant = op ? as_constant(*op) : nullptr;
    if (!constant || !constant->is_splat() || is_complex(constant->value.dtype())) return false;
    const double size = std::abs(convert_literal(constant->value, float64).data<double>()[0]);
    return divides ? size > 0 && size <= 1 : size >= 1 && std::isfinite(size);
  }

 private:
  // Returns whether a value is the same in each trip, and can be computed again after the loop.
  bool is_repeatable(ValueId v) const {
    if (varies_[v]) return false;
    if (maker_[v] < 0) return true;
    const Op& op = b_.ops[maker_[v]];
    return (as_constant(op) || op.def == &broadcast_in_dim_op || op.def == &convert_op ||
            op.def == &reshape_op) &&
           std::all_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId x) { return is_repeatable(x); });
  }

  std::optional<Sum> sum_of(size_t k) {
    const ValueId carry = b_.inputs[static_cast<size_t>(p_.num_consts) + k];
    const Type& type = b_.type(carry);
    if (uses_[carry] != 1 || type.bytes() < least_bytes_) return std::nullopt;
    Sum sum{.carry = k, .dtype = accumulation_dtype(type.dtype), .terms = {}, .operands = {}};
    bool found = false;  // the carry
    if (!add_terms(b_.outputs[k], carry, false, sum, found) || !found || sum.terms.empty())
      return std::nullopt;
    std::vector<ValueId> added;
    int64_t bytes = 0;
    for (const Term& term : sum.terms) {
      std::array<Rows, 2>& operands = sum.operands.emplace_back();
      for (size_t side : {0, 1}) {
        const ValueId v = term.dot->operands[side];
        if (!varies_[v]) return std::nullopt;
        operands[side] = rows_of(v);
        if (operands[side].kind != Rows::Kind::kNew || contains(stacked_, v) || contains(added, v))
          continue;
        added.push_back(v);
        bytes += b_.type(v).bytes();
      }
    }
    if (bytes > type.bytes() || bytes * p_.length > left_) return std::nullopt;
    left_ -= bytes * p_.length;
    stacked_.insert(stacked_.end(), added.begin(), added.end());
    return sum;
  }

  // Adds the terms of `v` to the sum, and sets `found` if one of them is the carry. Returns false
  // if v is not a sum of products and the carry, each of them read once.
  bool add_terms(ValueId v, ValueId carry, bool negative, Sum& sum, bool& found) const {
    if (v == carry) {
      found = true;
      return !negative;
    }
    if (maker_[v] < 0 || uses_[v] != 1) return false;
    const Op& op = b_.ops[maker_[v]];
    if (op.def == &add_op || op.def == &sub_op)
      return add_terms(op.operands[0], carry, negative, sum, found) &&
             add_terms(op.operands[1], carry, negative != (op.def == &sub_op), sum, found);
    Term term{.negative = negative};
    if (!follow(v, sum.dtype, term)) return false;
    std::reverse(term.then.begin(), term.then.end());
    sum.terms.push_back(std::move(term));
    return true;
  }

  // Finds the product from which linear ops make `v`. Returns false if there is none.
  bool follow(ValueId v, DType dtype, Term& term) const {
    while (maker_[v] >= 0 && uses_[v] == 1) {
      const Op& op = b_.ops[maker_[v]];
      if (accumulation_dtype(b_.type(v).dtype) != dtype) return false;
      if (op.def == &dot_general_op) {
        term.dot = &op;
        const auto& p = op.params.as<DotParams>();
        return p.sum == DotSum::kAny && p.lhs_examples < 0 && p.rhs_examples < 0;
      }
      size_t from = 0;
      if (op.def == &mul_op && is_factor(op.operands[0])) {
        from = 1;
      } else if (op.def == &mul_op || op.def == &div_op) {
        if (!is_factor(op.operands[1], op.def == &div_op)) return false;
      } else if (op.def == &convert_op) {
        if (!is_floating(b_.type(op.operands[0]).dtype)) return false;
      } else if (op.def != &neg_op && !moves_elements(op)) {
        return false;
      }
      term.then.push_back(&op);
      v = op.operands[from];
    }
    return false;
  }

  ValueId without_reshapes(ValueId v) const {
    while (maker_[v] >= 0 && b_.ops[maker_[v]].def == &reshape_op)
      v = b_.ops[maker_[v]].operands[0];
    return v;
  }

  Rows rows_of(ValueId operand) const {
    Rows out;
    for (ValueId v = operand;; v = b_.ops[maker_[v]].operands[0]) {
      out.value = v;
      const auto input = std::find(b_.inputs.begin(), b_.inputs.end(), v);
      const auto place = static_cast<size_t>(input - b_.inputs.begin());
      if (input != b_.inputs.end() && place >= static_cast<size_t>(p_.num_consts + p_.num_carry)) {
        out.kind = Rows::Kind::kScanned;
        out.index = place;
        break;
      }
      const ValueId source = without_reshapes(v);
      const auto stacked = std::find_if(b_.outputs.begin() + p_.num_carry, b_.outputs.end(),
                                        [&](ValueId y) { return without_reshapes(y) == source; });
      if (stacked != b_.outputs.end()) {
        out.kind = Rows::Kind::kStacked;
        out.index = static_cast<size_t>(stacked - b_.outputs.begin());
        break;
      }
      if (maker_[v] < 0 || !moves_elements(b_.ops[maker_[v]]))
        return {.kind = Rows::Kind::kNew, .index = 0, .value = operand, .then = {}};
      out.then.push_back(&b_.ops[maker_[v]]);
    }
    std::reverse(out.then.begin(), out.then.end());
    return out;
  }

  const ScanParams& p_;
  const int64_t least_bytes_;
  const Function& b_;
  const std::vector<int> maker_;
  std::vector<int> uses_;
  std::vector<char> varies_;  // whether a value may differ from trip to trip
  int64_t left_ = 0;          // how many bytes may be stacked
  std::vector<ValueId> stacked_;
};

// Returns the params of an op that moves elements of a row, for the rows of all trips.
OpParams with_trips(const Op& op, int64_t trips) {
  if (op.def == &reshape_op) {
    Shape shape = op.params.as<ReshapeParams>().shape;
    shape.insert(shape.begin(), trips);
    return ReshapeParams{shape};
  }
  Dims permutation{0};
  for (int64_t d : op.params.as<TransposeParams>().permutation) permutation.push_back(d + 1);
  return TransposeParams{permutation};
}

DotParams contracting_trips(DotParams p, DType result) {
  for (Dims* dims : {&p.lhs_batch, &p.rhs_batch, &p.lhs_contract, &p.rhs_contract})
    for (int64_t& d : *dims) ++d;
  p.lhs_contract.insert(p.lhs_contract.begin(), 0);
  p.rhs_contract.insert(p.rhs_contract.begin(), 0);
  p.result = result;
  return p;
}

// Adds to a function a scan without the sums, and then the sums.
class SumsAfterLoop {
 public:
  SumsAfterLoop(const Function& f, const Op& op, const ScanParams& p, Function& out,
                const ValueIds& operands)
      : f_(f),
        op_(op),
        p_(p),
        b_(*p.body),
        maker_(b_.producers()),
        out_(out),
        operands_(operands) {}

  // Returns the values of the scan's results. `is_zero`: whether a carry starts with zeros.
  ValueIds append(const SumFinder& finder, const std::vector<Sum>& sums,
                  const std::function<bool(size_t carry)>& is_zero) {
    const auto carries = static_cast<size_t>(p_.num_carry);
    std::vector<char> summed(carries, false);
    for (const Sum& sum : sums) summed[sum.carry] = true;
    const ValueIds left = append_scan(finder.stacked(), summed);
    ValueIds results;
    size_t next = 0;
    for (size_t r = 0; r < b_.outputs.size(); ++r)
      results.push_back(r < carries && summed[r] ? -1 : left[next++]);
    for (ValueId v : finder.stacked()) stacked_[v] = left[next++];
    results_ = results;
    for (const Sum& sum : sums) results[sum.carry] = append_sum(sum, is_zero(sum.carry));
    return results;
  }

 private:
  ValueIds append_scan(const std::vector<ValueId>& stacked, const std::vector<char>& summed) {
    const auto consts = static_cast<size_t>(p_.num_consts), carries = summed.size();
    Function body = b_;
    body.inputs.clear();
    body.outputs.clear();
    std::vector<size_t> places;  // the operands of the inputs
    for (size_t k = 0; k < b_.inputs.size(); ++k) {
      if (k >= consts && k < consts + carries && summed[k - consts]) continue;
      body.inputs.push_back(b_.inputs[k]);
      places.push_back(k);
    }
    for (size_t r = 0; r < b_.outputs.size(); ++r)
      if (r >= carries || !summed[r]) body.outputs.push_back(b_.outputs[r]);
    body.outputs.insert(body.outputs.end(), stacked.begin(), stacked.end());
    body = remove_dead_ops(body);
    std::vector<char> read(body.types.size(), false);
    for (const Op& op : body.ops)
      for (ValueId v : op.operands) read[v] = true;
    for (ValueId v : body.outputs) read[v] = true;
    ScanParams p{.length = p_.length, .reverse = p_.reverse};
    ValueIds operands;
    std::vector<ValueId> inputs;
    for (size_t k = 0; k < places.size(); ++k) {
      const bool carried = places[k] >= consts && places[k] < consts + carries;
      if (!carried && !read[body.inputs[k]]) continue;
      if (places[k] < consts) ++p.num_consts;
      if (carried) ++p.num_carry;
      inputs.push_back(body.inputs[k]);
      operands.push_back(operands_[places[k]]);
    }
    body.inputs = std::move(inputs);
    p.body = std::make_shared<const Function>(remove_dead_ops(body));
    return add_all(scan_op, std::move(p), std::move(operands));
  }

  ValueId append_sum(const Sum& sum, bool starts_with_zeros) {
    const Type& type = f_.type(op_.results[sum.carry]);
    const ValueId start = operands_[static_cast<size_t>(p_.num_consts) + sum.carry];
    ValueId total = starts_with_zeros ? -1 : in_dtype(start, sum.dtype);
    for (size_t t = 0; t < sum.terms.size(); ++t) {
      const Term& term = sum.terms[t];
      const ValueId x = append_term(term, sum.operands[t], sum.dtype);
      if (total >= 0) {
        total = add(term.negative ? sub_op : add_op, {}, {total, x});
      } else {
        total = term.negative ? add(neg_op, {}, {x}) : x;
      }
    }
    // Zeros may vary over more manual axes than the products.
    if (out_.type(total).varying != type.varying)
      total = add(add_op, {}, {in_dtype(start, sum.dtype), total});
    if (out_.type(total).dtype != type.dtype || out_.type(total).weak != type.weak)
      total = add(convert_op, ConvertParams{type.dtype, type.weak}, {total});
    TESSERA_CHECK(out_.type(total) == type, "[multiply_after_loops] a sum of {} became {}",
                  describe(type), describe(out_.type(total)));
    return total;
  }

  ValueId append_term(const Term& term, const std::array<Rows, 2>& operands, DType dtype) {
    ValueId x = add(dot_general_op, contracting_trips(term.dot->params.as<DotParams>(), dtype),
                    {append_rows(operands[0]), append_rows(operands[1])});
    for (const Op* op : term.then) {
      if (op->def == &convert_op) continue;  // all is computed in one dtype
      ValueIds inputs(op->operands.size(), x);
      for (size_t k = 0; inputs.size() == 2 && k < 2; ++k)
        if (!from_product(op->operands[k], term))
          inputs[k] = in_dtype(append_factor(op->operands[k]), dtype);
      x = add(*op->def, op->params, std::move(inputs));
    }
    return x;
  }
  // Returns whether a value of the body is computed from the term's product, or is a factor.
  bool from_product(ValueId v, const Term& term) const {
    if (maker_[v] < 0) return false;
    const Op* op = &b_.ops[maker_[v]];
    return op == term.dot || std::find(term.then.begin(), term.then.end(), op) != term.then.end();
  }

  ValueId append_rows(const Rows& rows) {
    ValueId x = rows.kind == Rows::Kind::kScanned   ? operands_[rows.index]
                : rows.kind == Rows::Kind::kStacked ? results_[rows.index]
                                                    : stacked_.at(rows.value);
    Shape shape = b_.type(rows.value).shape;
    shape.insert(shape.begin(), p_.length);
    if (out_.type(x).shape != shape) x = add(reshape_op, ReshapeParams{shape}, {x});
    for (const Op* op : rows.then) x = add(*op->def, with_trips(*op, p_.length), {x});
    return x;
  }

  ValueId append_factor(ValueId v) {
    if (maker_[v] < 0) {
      const auto input = std::find(b_.inputs.begin(), b_.inputs.end(), v);
      return operands_[static_cast<size_t>(input - b_.inputs.begin())];
    }
    const Op& op = b_.ops[maker_[v]];
    ValueIds inputs;
    for (ValueId x : op.operands) inputs.push_back(append_factor(x));
    return add(*op.def, op.params, std::move(inputs));
  }

  ValueId in_dtype(ValueId v, DType dtype) {
    return out_.type(v).dtype == dtype ? v : add(convert_op, ConvertParams{dtype}, {v});
  }
  ValueId add(const OpDef& def, OpParams params, ValueIds operands) {
    return add_all(def, std::move(params), std::move(operands))[0];
  }
  ValueIds add_all(const OpDef& def, OpParams params, ValueIds operands) {
    const std::vector<Type> types = out_.types_of(operands);
    params = retyped_params(def, types, params);
    const std::vector<Type> results = infer_types(def, types, params);
    return out_.add_op(def, std::move(params), std::move(operands), results, op_.source);
  }

  const Function& f_;
  const Op& op_;
  const ScanParams& p_;
  const Function& b_;
  const std::vector<int> maker_;
  Function& out_;
  const ValueIds operands_;  // in out_
  ValueIds results_;
  std::map<ValueId, ValueId> stacked_;  // by the values of the body
};

// Returns whether `v` is a constant of zeros.
bool is_zero(const Function& f, const std::vector<int>& maker, ValueId v) {
  while (maker[v] >= 0 && f.ops[maker[v]].def == &broadcast_in_dim_op)
    v = f.ops[maker[v]].operands[0];
  if (maker[v] < 0) return false;
  const ConstantParams* constant = as_constant(f.ops[maker[v]]);
  return constant && constant->is_splat() &&
         constant->value == Literal(constant->value.dtype(), Shape{});
}

}  // namespace

Function multiply_after_loops(const Function& f, int64_t least_bytes) {
  if (std::none_of(f.ops.begin(), f.ops.end(), is_control_flow)) return f;
  const std::vector<int> maker = f.producers();
  return remove_dead_ops(rewritten(f, [&](Function& out, const ValueIds& inputs) {
    return append_ops(f, inputs, [&](const Op& op, ValueIds operands) -> ValueIds {
      OpParams params = map_control_regions(
          op, [&](const Function& region) { return multiply_after_loops(region, least_bytes); });
      if (op.def == &scan_op) {
        const auto& p = params.as<ScanParams>();
        SumFinder finder(p, least_bytes);
        const std::vector<Sum> sums = finder.find();
        const auto starts_with_zeros = [&](size_t carry) {
          return is_zero(f, maker, op.operands[static_cast<size_t>(p.num_consts) + carry]);
        };
        if (!sums.empty())
          return SumsAfterLoop(f, op, p, out, operands).append(finder, sums, starts_with_zeros);
      }
      return out.add_op(copy_of(op, std::move(params), std::move(operands)),
                        f.types_of(op.results));
    });
  }));
}

bool sums_products_in_loops(const Function& function, int64_t least_bytes) {
  return std::any_of(function.ops.begin(), function.ops.end(), [&](const Op& op) {
    return holds_within(op, [&](const Op& loop) {
      return loop.def == &scan_op &&
             !SumFinder(loop.params.as<ScanParams>(), least_bytes).find().empty();
    });
  });
}

bool has_products_in_while_loops(const Function& function) {
  const auto is_product = [](const Op& op) { return op.def == &dot_general_op; };
  return std::any_of(function.ops.begin(), function.ops.end(), [&](const Op& op) {
    return holds_within(op, [&](const Op& loop) {
      return loop.def == &while_op && holds_within(loop, is_product);
    });
  });
}

}  // namespace tessera::control
