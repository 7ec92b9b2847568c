#include "tessera/interchange/refine_shapes.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/narrow.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ir/op_def.h"

namespace tessera::interchange {
namespace {

constexpr int64_t kMaxKnownElements = 1 << 10;
constexpr int kMaxDepth = 100;

// The most values that one query may compute. A value with several uses is computed at each of
// them.
constexpr int kMaxSteps = 10000;

// Computes values of functions whose inputs have these values.
struct Evaluation {
  using Inputs = std::vector<std::optional<Literal>>;
  int steps = 0;

  std::optional<Literal> value_of(const Function& f, const Inputs& inputs, ValueId value,
                                  int depth) {
    if (++steps > kMaxSteps || depth > kMaxDepth || f.type(value).elements() > kMaxKnownElements)
      return std::nullopt;
    if (const auto it = std::find(f.inputs.begin(), f.inputs.end(), value); it != f.inputs.end()) {
      const auto i = static_cast<size_t>(it - f.inputs.begin());
      return i < inputs.size() ? inputs[i] : std::nullopt;
    }
    // The search starts at the end, since most values are used soon after they are computed.
    const auto op = std::find_if(f.ops.rbegin(), f.ops.rend(), [&](const Op& one) {
      return std::find(one.results.begin(), one.results.end(), value) != one.results.end();
    });
    if (op == f.ops.rend() || op->def->effect) return std::nullopt;
    const auto* called = std::get_if<Inlined>(&op->def->lower);
    if (!called && !op->def->evaluate) return std::nullopt;
    Inputs operands;
    for (const ValueId v : op->operands) {
      operands.push_back(value_of(f, inputs, v, depth + 1));
      if (!called && !operands.back()) return std::nullopt;
    }
    const auto r = static_cast<size_t>(std::find(op->results.begin(), op->results.end(), value) -
                                       op->results.begin());
    if (called) {
      const FunctionRef function = called->callee(op->params);
      return value_of(*function, operands, function->outputs[r], depth + 1);
    }
    std::vector<Literal> known;
    for (std::optional<Literal>& operand : operands) known.push_back(*std::move(operand));
    return op->def->evaluate(known, op->params)[r];
  }
};

}  // namespace

bool is_readable(const Shape& shape) {
  __int128 elements = 1;
  for (const int64_t extent : shape) {
    elements *= std::max<int64_t>(extent, 1);
    if (extent < 0 || elements > kMaxElements) return false;
  }
  return true;
}

bool is_open(const Type& written) {
  return std::find(written.shape.begin(), written.shape.end(), kOpenExtent) != written.shape.end();
}

bool fits(const Type& written, const Type& actual) {
  if (written.dtype != actual.dtype || written.rank() != actual.rank()) return false;
  for (size_t d = 0; d < written.shape.size(); ++d)
    if (written.shape[d] != actual.shape[d] && written.shape[d] != kOpenExtent) return false;
  return true;
}

Type refined(Type written, const Shape& shape) {
  TESSERA_CHECK(shape.rank() == written.rank(), "{} as {}", written.shape, shape);
  for (size_t d = 0; d < shape.size(); ++d)
    if (written.shape[d] == kOpenExtent) written.shape[d] = shape[d];
  return written;
}

std::optional<Literal> constant_value(const Function& f, ValueId value) {
  return Evaluation().value_of(f, {}, value, 0);
}

std::optional<Dims> constant_dims(const Function& f, ValueId value) {
  const Type& type = f.type(value);
  if (!is_integer(type.dtype) || is_narrow(type.dtype) || type.rank() > 1) return std::nullopt;
  const std::optional<Literal> literal = constant_value(f, value);
  if (!literal) return std::nullopt;
  const bool splat = literal->shape().empty();
  Dims out;
  visit_dtype(literal->dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T>)
      for (int64_t i = 0; i < type.elements(); ++i)
        out.push_back(static_cast<int64_t>(literal->data<T>()[splat ? 0 : i]));
  });
  return out;
}

}  // namespace tessera::interchange
