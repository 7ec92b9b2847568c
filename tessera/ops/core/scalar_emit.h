// Formulas over the scalar language: Real and Complex wrap nodes of an ExprBuilder, so that an
// emitter reads like mathematics. Complex elementary functions are written here once, by real
// parts; of complex numbers, code generation knows only arithmetic, selection and parts.
#pragma once

#include "tessera/ir/scalar_op.h"

namespace tessera::ops::emit {

struct Bool {
  ExprBuilder* b;
  Expr e;
};

// A floating-point node.
struct Real {
  ExprBuilder* b;
  Expr e;

  Real number(double value) const { return {b, b->number(b->dtype_of(e), value)}; }
  Real apply(ScalarOp op) const { return {b, b->apply(op, b->dtype_of(e), {e})}; }
  Real apply(ScalarOp op, Real other) const {
    return {b, b->apply(op, b->dtype_of(e), {e, other.e})};
  }
  Bool compare(ScalarOp op, Real other) const { return {b, b->apply(op, bool_, {e, other.e})}; }
};

inline Real operator+(Real x, Real y) { return x.apply(ScalarOp::kAdd, y); }
inline Real operator-(Real x, Real y) { return x.apply(ScalarOp::kSub, y); }
inline Real operator*(Real x, Real y) { return x.apply(ScalarOp::kMul, y); }
inline Real operator/(Real x, Real y) { return x.apply(ScalarOp::kDiv, y); }
inline Real operator+(Real x, double c) { return x + x.number(c); }
inline Real operator-(Real x, double c) { return x - x.number(c); }
inline Real operator*(Real x, double c) { return x * x.number(c); }
inline Real operator+(double c, Real x) { return x.number(c) + x; }
inline Real operator-(double c, Real x) { return x.number(c) - x; }
inline Real operator*(double c, Real x) { return x.number(c) * x; }
inline Real operator/(double c, Real x) { return x.number(c) / x; }
inline Real operator-(Real x) { return x.apply(ScalarOp::kNeg); }
inline Bool operator<(Real x, Real y) { return x.compare(ScalarOp::kLt, y); }
inline Bool operator>(Real x, Real y) { return x.compare(ScalarOp::kGt, y); }
inline Bool operator>=(Real x, Real y) { return x.compare(ScalarOp::kGe, y); }
inline Bool operator==(Real x, Real y) { return x.compare(ScalarOp::kEq, y); }
inline Bool operator<(Real x, double c) { return x < x.number(c); }
inline Bool operator>(Real x, double c) { return x > x.number(c); }
inline Bool operator==(Real x, double c) { return x == x.number(c); }
inline Bool operator&(Bool x, Bool y) {
  return {x.b, x.b->apply(ScalarOp::kAnd, bool_, {x.e, y.e})};
}
inline Bool operator!(Bool x) { return {x.b, x.b->apply(ScalarOp::kNot, bool_, {x.e})}; }
inline Bool operator|(Bool x, Bool y) {
  return {x.b, x.b->apply(ScalarOp::kOr, bool_, {x.e, y.e})};
}
inline Real select(Bool p, Real x, Real y) {
  return {p.b, p.b->apply(ScalarOp::kSelect, p.b->dtype_of(x.e), {p.e, x.e, y.e})};
}

struct Complex {
  Real re, im;
};
Complex parts(ExprBuilder& b, Expr complex);
Expr join(Complex z);
inline Complex select(Bool p, Complex x, Complex y) {
  return {select(p, x.re, y.re), select(p, x.im, y.im)};
}

// Returns |z| without intermediate overflow or underflow.
Real abs(Complex z);
Complex div(Complex x, Complex y);
Complex max(Complex x, Complex y);  // by the real parts, then by the imaginary ones
Complex min(Complex x, Complex y);
Complex pow(Complex x, Complex y);
Complex atan2(Complex y, Complex x);
Complex sign(Complex z);
Complex sqrt(Complex z);
Complex rsqrt(Complex z);
Complex cbrt(Complex z);
Complex exp(Complex z);
Complex expm1(Complex z);
Complex log(Complex z);
Complex log1p(Complex z);
Complex logistic(Complex z);
Complex sin(Complex z);
Complex cos(Complex z);
Complex tan(Complex z);
Complex sinh(Complex z);
Complex cosh(Complex z);
Complex tanh(Complex z);
Complex asin(Complex z);
Complex acos(Complex z);
Complex atan(Complex z);
Complex asinh(Complex z);
Complex acosh(Complex z);
Complex atanh(Complex z);

}  // namespace tessera::ops::emit
