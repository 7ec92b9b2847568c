// Text of stablehlo.reduce_precision.
#include <charconv>

#include "tessera/interchange/formats/formats.h"
#include "tessera/ops/core/reduce_precision.h"

namespace tessera::interchange::formats {
namespace {

OpText write_rounding(const Op& op, const Function&) {
  const auto& p = op.params.as<ReducePrecisionParams>();
  OpText text;
  text.attributes = {{"exponent_bits", TextAttr::Integer{p.exponent_bits, 32}},
                     {"mantissa_bits", TextAttr::Integer{p.mantissa_bits, 32}}};
  return text;
}

// %0, format = e5m10
void print_rounding(const OpText&, const Op& op, const Function&, OpWriter& writer) {
  const auto& p = op.params.as<ReducePrecisionParams>();
  writer.write(" ");
  writer.write_operand(0);
  writer.write(fmt::format(", format = e{}m{}", p.exponent_bits, p.mantissa_bits));
  writer.write_extra();
  writer.write_signature();
}
void parse_rounding(OpScanner& scanner, OpReader& reader) {
  reader.operands.push_back(scanner.operand());
  scanner.expect(",");
  scanner.expect("format");
  scanner.expect("=");
  const std::string format = scanner.word();
  const size_t m = format.find('m');
  int64_t exponent = -1, mantissa = -1;
  const auto number = [&](size_t begin, size_t end, int64_t& to) {
    const auto [at, error] = std::from_chars(format.data() + begin, format.data() + end, to);
    return error == std::errc() && at == format.data() + end;
  };
  if (format.empty() || format[0] != 'e' || m == std::string::npos || !number(1, m, exponent) ||
      !number(m + 1, format.size(), mantissa))
    scanner.error("expected a format, as e5m10, got '" + format + "'");
  reader.text.attributes = {{"exponent_bits", TextAttr::Integer{exponent, 32}},
                            {"mantissa_bits", TextAttr::Integer{mantissa, 32}}};
  scanner.extra(reader.text);
  scanner.signature(reader);
}

}  // namespace

OpFormat reduce_precision() {
  return {.write = write_rounding, .print = print_rounding, .parse = parse_rounding};
}

}  // namespace tessera::interchange::formats
