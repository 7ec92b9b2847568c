#include "tessera/ops/structural/sort_order.h"

#include <algorithm>
#include <cmath>

#include "tessera/ir/op_def.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/select.h"

namespace tessera::ops {
namespace {

// What is known of a value that the comparator computes.
struct Term {
  enum class Kind : uint8_t {
    kUnknown,
    kKey,     // `key` of one of the two elements
    kNumber,  // the constant `number`
    kIsZero,  // whether `key` of one of the two elements is a zero
    kIsNan,   // whether `key` of one of the two elements is a NaN
    kBefore,  // whether all keys of `equal` are equal and a is before b by `order`, if there is one
  };
  Kind kind = Kind::kUnknown;
  bool second = false;  // whether it is of element b
  SortKey key = {};
  double number = 0;
  std::vector<SortKey> equal = {};
  SortOrder order = {};

  bool is_kind(Kind k) const { return kind == k; }
  bool is_equality() const { return is_kind(Kind::kBefore) && order.empty(); }
  bool is_order() const { return is_kind(Kind::kBefore) && equal.empty() && !order.empty(); }
};

// Returns whether both are of the same part of the same element, whether or not zeros or NaNs were
// made equal.
bool same_source(const Term& x, const Term& y) {
  return x.second == y.second && x.key.operand == y.key.operand && x.key.part == y.key.part;
}

// Returns whether the keys are the same, apart from their order and directions: then being equal in
// all of them means the same.
bool same_keys(std::vector<SortKey> x, std::vector<SortKey> y) {
  for (SortKey& key : x) key.descending = false;
  for (SortKey& key : y) key.descending = false;
  return std::is_permutation(x.begin(), x.end(), y.begin(), y.end());
}

bool is_positive_nan(double x) { return std::isnan(x) && !std::signbit(x); }

class OrderReader {
 public:
  explicit OrderReader(const Function& f) : f_(f), terms_(f.types.size()) {}

  std::optional<SortOrder> run() {
    for (size_t i = 0; i < f_.inputs.size(); ++i) {
      Term& term = terms_[f_.inputs[i]];
      term.kind = Term::Kind::kKey;
      term.second = i % 2 == 1;
      term.key.operand = static_cast<int>(i / 2);
    }
    for (const Op& op : f_.ops)
      if (op.results.size() == 1) terms_[op.results[0]] = read(op);
    const Term& result = terms_[f_.outputs[0]];
    if (!result.is_order()) return std::nullopt;
    return result.order;
  }

 private:
  const Term& operand(const Op& op, size_t k) const { return terms_[op.operands[k]]; }

  Term read(const Op& op) const {
    static const OpDef* const real = find_op("stablehlo", "real");
    static const OpDef* const imaginary = find_op("stablehlo", "imag");
    if (const ConstantParams* constant = as_constant(op)) return read_constant(*constant);
    if (op.def == real) return read_part(op, KeyPart::kReal);
    if (op.def == imaginary) return read_part(op, KeyPart::kImaginary);
    if (op.def == &compare_op) return read_compare(op);
    if (op.def == &select_op) return read_select(operand(op, 0), operand(op, 1), operand(op, 2));
    if (op.def == &bitwise_and_op) return read_and(operand(op, 0), operand(op, 1));
    if (op.def == &bitwise_or_op) {
      const Term either = read_or(operand(op, 0), operand(op, 1));
      return either.is_kind(Term::Kind::kBefore) ? either : read_or(operand(op, 1), operand(op, 0));
    }
    return {};
  }

  static Term read_constant(const ConstantParams& constant) {
    const Literal& value = constant.value;
    if (value.elements() != 1 || !is_floating(value.dtype())) return {};
    return {.kind = Term::Kind::kNumber,
            .number = convert_literal(value, float64).data<double>()[0]};
  }

  Term read_part(const Op& op, KeyPart part) const {
    Term out = operand(op, 0);
    if (!out.is_kind(Term::Kind::kKey) || !is_complex(f_.type(op.operands[0]).dtype)) return {};
    out.key.part = part;
    return out;
  }

  Term read_compare(const Op& op) const {
    const CompareParams& p = op.params.as<CompareParams>();
    const Term &x = operand(op, 0), &y = operand(op, 1);
    const DType dtype = f_.type(op.operands[0]).dtype;
    if (is_complex(dtype)) return {};
    const bool ieee = is_floating(dtype) && p.type != CompareType::kTotalOrder;
    if (ieee && p.direction == Comparison::kEq) {
      if (x.is_kind(Term::Kind::kKey) && y.is_kind(Term::Kind::kNumber) && y.number == 0)
        return {.kind = Term::Kind::kIsZero, .second = x.second, .key = x.key};
      if (y.is_kind(Term::Kind::kKey) && x.is_kind(Term::Kind::kNumber) && x.number == 0)
        return {.kind = Term::Kind::kIsZero, .second = y.second, .key = y.key};
    }
    if (!x.is_kind(Term::Kind::kKey) || !y.is_kind(Term::Kind::kKey)) return {};
    if (ieee && p.direction == Comparison::kNe && same_source(x, y))
      return {.kind = Term::Kind::kIsNan, .second = x.second, .key = x.key};
    if (x.second == y.second || x.key != y.key) return {};
    return compared(x.key, ieee, p.direction, x.second);
  }

  // Returns the meaning of a comparison of a key of one element with the same key of the other.
  static Term compared(SortKey key, bool ieee, Comparison direction, bool swapped) {
    if (ieee) {
      key.equal_zeros = true;
      key.nans = NanOrder::kUnordered;
    }
    switch (direction) {
      case Comparison::kEq:
        return {.kind = Term::Kind::kBefore, .equal = {key}};
      case Comparison::kLt:
      case Comparison::kGt:
        key.descending = (direction == Comparison::kGt) != swapped;
        return {.kind = Term::Kind::kBefore, .order = {key}};
      case Comparison::kNe:
      case Comparison::kLe:
      case Comparison::kGe:
        break;
    }
    return {};
  }

  static Term read_select(const Term& pred, const Term& on_true, const Term& on_false) {
    if (pred.is_kind(Term::Kind::kIsZero) || pred.is_kind(Term::Kind::kIsNan)) {
      if (!on_true.is_kind(Term::Kind::kNumber) || !on_false.is_kind(Term::Kind::kKey) ||
          !same_source(pred, on_false))
        return {};
      Term out = on_false;
      if (pred.is_kind(Term::Kind::kIsZero)) {
        if (on_true.number != 0) return {};
        out.key.equal_zeros = true;
      } else {
        if (!is_positive_nan(on_true.number)) return {};
        out.key.nans = NanOrder::kLargest;
      }
      return out;
    }
    if (!pred.is_equality() || !on_true.is_order() || !on_false.is_order() ||
        !same_keys(pred.equal, on_false.order))
      return {};
    Term out = on_false;
    out.order.insert(out.order.end(), on_true.order.begin(), on_true.order.end());
    return out;
  }

  static Term read_and(const Term& x, const Term& y) {
    if (!x.is_kind(Term::Kind::kBefore) || !y.is_kind(Term::Kind::kBefore)) return {};
    if (!x.order.empty() && !y.order.empty()) return {};
    Term out = x;
    out.equal.insert(out.equal.end(), y.equal.begin(), y.equal.end());
    if (out.order.empty()) out.order = y.order;
    return out;
  }

  // Reads before(x) or (equal(x) and before(y)); both may be restricted to elements with equal
  // keys.
  static Term read_or(const Term& first, const Term& later) {
    if (!first.is_kind(Term::Kind::kBefore) || !later.is_kind(Term::Kind::kBefore)) return {};
    if (first.order.empty() || later.order.empty()) return {};
    std::vector<SortKey> equal = first.equal;
    equal.insert(equal.end(), first.order.begin(), first.order.end());
    if (!same_keys(equal, later.equal)) return {};
    Term out = first;
    out.order.insert(out.order.end(), later.order.begin(), later.order.end());
    return out;
  }

  const Function& f_;
  std::vector<Term> terms_;
};

}  // namespace

SortOrder default_order(int64_t num_keys, bool descending, bool total_order,
                        std::span<const DType> dtypes) {
  SortOrder order;
  for (int64_t k = 0; k < num_keys; ++k) {
    SortKey key{.operand = static_cast<int>(k), .descending = descending};
    if (is_inexact(dtypes[k]) && !total_order) {
      key.equal_zeros = true;
      key.nans = NanOrder::kLargest;
    }
    if (is_complex(dtypes[k])) {
      for (KeyPart part : {KeyPart::kReal, KeyPart::kImaginary}) {
        key.part = part;
        order.push_back(key);
      }
    } else {
      order.push_back(key);
    }
  }
  return order;
}

std::optional<SortOrder> order_of(const Function& comparator) {
  return OrderReader(comparator).run();
}

std::optional<Function> strict_comparison(const Function& comparator) {
  if (comparator.ops.size() != 1 || comparator.ops[0].def != &compare_op ||
      comparator.outputs[0] != comparator.ops[0].results[0])
    return std::nullopt;
  Function out = comparator;
  CompareParams p = out.ops[0].params.as<CompareParams>();
  if (p.direction != Comparison::kLe && p.direction != Comparison::kGe) return std::nullopt;
  p.direction = p.direction == Comparison::kLe ? Comparison::kLt : Comparison::kGt;
  out.ops[0].params = p;
  return out;
}

}  // namespace tessera::ops
