// Arithmetic of StableHLO and CHLO that Tessera expresses by other ops.
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/foreign/insert_traced.h"
#include "tessera/interchange/formats/formats.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/bitcast_elements.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"

namespace tessera::interchange::foreign {
namespace {

using namespace array_math;
Array shifted(const Array& x, int bits) {
  return is_signed(x.dtype()) ? lax::shift_right_arithmetic(x, lax::full_like(x, bits))
                              : lax::shift_right_logical(x, lax::full_like(x, bits));
}

// Returns the upper half of the product of two 64-bit integers. With x = xh 2^32 + xl, and xl
// unsigned, none of the sums overflows:
//   t = xl yl >> 32 + xh yl,  u = (t mod 2^32) + xl yh,  result = xh yh + (t >> 32) + (u >> 32)
Array upper_half_of_64(const Array& x, const Array& y) {
  const auto low = [](const Array& a) {
    return lax::bitwise_and(a, lax::full(a.shape(), static_cast<double>(0xffffffffU), a.dtype()));
  };
  const Array xl = low(x), yl = low(y), xh = shifted(x, 32), yh = shifted(y, 32);
  const Array carry = lax::shift_right_logical(xl * yl, lax::full_like(x, 32));
  const Array t = carry + xh * yl;
  const Array u = low(t) + xl * yh;
  return xh * yh + shifted(t, 32) + shifted(u, 32);
}

}  // namespace

void expect_count(const OpReader& reader, size_t count) {
  if (reader.operands.size() != count)
    reader.error(fmt::format("expected {} operand{}, got {}", count, count == 1 ? "" : "s",
                             reader.operands.size()));
}

Values square(OpReader& reader) {
  expect_count(reader, 1);
  return reader.insert(mul_op, NoParams{}, Values{reader.operands[0], reader.operands[0]});
}

Values mulhi(OpReader& reader) {
  expect_count(reader, 2);
  const Type type = reader.type(reader.operands[0]);
  if (!is_integer(type.dtype) || !reader.type(reader.operands[1]).same_array(type))
    reader.error(fmt::format("expected two integers of one type, got {} and {}", type,
                             reader.type(reader.operands[1])));
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) -> std::vector<Array> {
        if (itemsize(type.dtype) == 8) return {upper_half_of_64(x[0], x[1])};
        const DType wide = is_signed(type.dtype) ? int64 : uint64;
        const Array product =
            lax::convert_element_type(x[0], wide) * lax::convert_element_type(x[1], wide);
        return {lax::convert_element_type(shifted(product, bit_width(type.dtype)), type.dtype)};
      },
      "mulhi");
}

// CHLO has a tan that is older than StableHLO's.
Values tan(OpReader& reader) {
  expect_count(reader, 1);
  return reader.insert(tan_op, NoParams{}, reader.operands);
}

// The parts of a real number are the number itself and zero.
Values real(OpReader& reader) {
  expect_count(reader, 1);
  return is_complex(reader.type(reader.operands[0]).dtype)
             ? reader.insert(real_op, real_op.params, reader.operands)
             : reader.operands;
}
Values imag(OpReader& reader) {
  expect_count(reader, 1);
  const Type type = reader.type(reader.operands[0]);
  if (is_complex(type.dtype)) return reader.insert(imag_op, imag_op.params, reader.operands);
  const Literal zero = convert_literal(Literal::scalar(0.0), type.dtype);
  return reader.insert(constant_op, ConstantParams{zero, type.shape}, {});
}

// A function of scalars is applied to each element by applying its ops to whole arrays.
Values map(OpReader& reader) {
  reader.text.take("dimensions");
  if (reader.text.regions.size() != 1 || reader.operands.empty())
    reader.error("expected operands and the region that computes one element");
  const FunctionRef body = formats::plain_body(reader.text.regions[0]);
  const Shape shape = reader.type(reader.operands[0]).shape;
  if (body->inputs.size() != reader.operands.size() || body->outputs.size() != 1)
    reader.error(
        fmt::format("expected a region of {} arguments and one result", reader.operands.size()));
  for (size_t k = 0; k < body->inputs.size(); ++k)
    if (!reader.type(reader.operands[k]).same_array({body->type(body->inputs[k]).dtype, shape}) ||
        body->type(body->inputs[k]).rank() != 0)
      reader.error(
          fmt::format("expected operand {} to be of shape {} and the dtype of the "
                      "region's argument, a scalar, got {}",
                      k, shape, reader.type(reader.operands[k])));
  return append_ops(*body, reader.operands, [&](const Op& op, const Values& operands) {
    if (const ConstantParams* constant = as_constant(op)) {
      ConstantParams p = *constant;
      p.value = p.value.reshaped({});
      p.shape = shape;
      return reader.insert(constant_op, p, {});
    }
    if (!std::holds_alternative<Pointwise>(op.def->lower))
      reader.error(fmt::format("expected a region of elementwise ops, got {}.{}", op.def->dialect,
                               op.def->name));
    return reader.insert(*op.def, op.params, operands);
  });
}

// If the dtypes have different widths, elements are split or joined, which takes several ops.
Values bitcast_convert(OpReader& reader) {
  expect_count(reader, 1);
  if (reader.result_types.empty()) reader.error("expected the type of the result");
  const Type operand = reader.operand_types()[0];
  const DType dtype = reader.result_types[0].dtype;
  if (bit_width(operand.dtype) == bit_width(dtype))
    return reader.insert(bitcast_convert_op, BitcastParams{dtype}, reader.operands);
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) { return std::vector{bitcast_elements(x[0], dtype)}; },
      "bitcast_convert");
}

}  // namespace tessera::interchange::foreign
