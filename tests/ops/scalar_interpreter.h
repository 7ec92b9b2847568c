// Interprets what emitters write, on whole host arrays: every node holds its value for all elements
// of the result at once. Code generation also reads the scalar language; the two agree because both
// agree with evaluate.
#pragma once

#include "tests/ops/apply_scalar.h"

namespace tessera::testing_ops {

using namespace ops;

class ScalarInterpreter final : public ExprBuilder {
 public:
  explicit ScalarInterpreter(Shape shape) : shape_(std::move(shape)) {}

  // Adds an operand: an array of the result's shape, or a scalar that is read for every element.
  Expr operand(const Literal& x) { return add(x.shape() == shape_ ? x : spread(x)); }
  const Literal& value(Expr e) const { return nodes_[e.id]; }

  using ExprBuilder::apply;
  Expr apply(ScalarOp op, DType result, std::span<const Expr> args) override {
    verify_scalar_op(op, result, dtypes(args));
    TESSERA_CHECK(
        op != ScalarOp::kConvert || !(is_complex(result) || is_complex(dtype_of(args[0]))),
        "complex numbers are converted by parts");
    Literal out(result, shape_);
    std::vector<Scalar> x(args.size());
    for (int64_t i = 0; i < out.elements(); ++i) {
      for (size_t k = 0; k < args.size(); ++k) x[k] = element(value(args[k]), i);
      const Scalar one = apply_scalar(op, result, x);
      TESSERA_CHECK(one.dtype == result, "{} gives {}, not {}", scalar_op_name(op), one.dtype,
                    result);
      const auto item = static_cast<size_t>(itemsize(result));
      std::memcpy(out.mutable_raw() + static_cast<size_t>(i) * item, one.bytes.data(), item);
    }
    return add(std::move(out));
  }
  Expr constant(DType dtype, const void* bytes) override {
    Literal one(dtype, {});
    std::memcpy(one.mutable_raw(), bytes, static_cast<size_t>(itemsize(dtype)));
    return add(spread(one));
  }
  Expr index(int dim, DType dtype) override {
    Literal out(int64, shape_);
    const Dims strides = row_major_strides(shape_);
    for (int64_t i = 0; i < out.elements(); ++i)
      out.mutable_data<int64_t>()[i] = i / strides[dim] % shape_[dim];
    return add(convert_literal(out, dtype));
  }
  DType dtype_of(Expr e) const override { return value(e).dtype(); }

 private:
  Expr add(Literal x) {
    nodes_.push_back(std::move(x));
    return {static_cast<int>(nodes_.size()) - 1};
  }
  Literal spread(const Literal& scalar) const {
    TESSERA_CHECK(scalar.elements() == 1 && scalar.shape().empty(), "{} under {}", scalar.shape(),
                  shape_);
    Literal out(scalar.dtype(), shape_);
    const auto item = static_cast<size_t>(itemsize(scalar.dtype()));
    for (int64_t i = 0; i < out.elements(); ++i)
      std::memcpy(out.mutable_raw() + i * item, scalar.raw(), item);
    return out;
  }

  std::vector<DType> dtypes(std::span<const Expr> args) const {
    std::vector<DType> out;
    for (Expr e : args) out.push_back(dtype_of(e));
    return out;
  }
  static Scalar element(const Literal& x, int64_t i) {
    Scalar out{.dtype = x.dtype()};
    const auto item = static_cast<size_t>(itemsize(x.dtype()));
    std::memcpy(out.bytes.data(), x.raw() + static_cast<size_t>(i) * item, item);
    return out;
  }

  Shape shape_;
  std::vector<Literal> nodes_;
};

}  // namespace tessera::testing_ops
