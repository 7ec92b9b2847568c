// stablehlo.rng_bit_generator, read from programs (rng_bits.h has the generators).
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/foreign/insert_traced.h"
#include "tessera/interchange/foreign/rng_bits.h"
#include "tessera/interchange/refine_shapes.h"

namespace tessera::interchange::foreign {
namespace {

RngAlgorithm read_algorithm(OpReader& reader) {
  const auto name = std::get<std::string>(from_text(
      reader.require("rng_algorithm"), Attribute(std::string("DEFAULT")), "rng_algorithm", reader));
  const auto names = enum_names(RngAlgorithm{});
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<RngAlgorithm>(i);
  reader.error(fmt::format("expected the algorithm DEFAULT, PHILOX or THREE_FRY, got {}", name));
  return RngAlgorithm::kDefault;
}

}  // namespace

Values rng_bit_generator(OpReader& reader) {
  const RngAlgorithm algorithm = read_algorithm(reader);
  if (reader.operands.size() != 1 || reader.result_types.size() != 2)
    reader.error("expected a state, and the types of two results");
  const Type state = reader.operand_types()[0], bits = static_result(reader, 1);
  if (!takes_state(algorithm, state))
    reader.error(
        fmt::format("expected a state of uint64[2], or uint64[3] for Philox, got {}; bitcast "
                    "it",
                    describe(state)));
  if (!is_integer(bits.dtype))
    reader.error(
        fmt::format("expected bits as integers, got {}; bitcast them", dtype_name(bits.dtype)));
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) {
        return rng_bits(algorithm, x[0], bits.shape, bits.dtype);
      },
      "rng_bit_generator");
}

}  // namespace tessera::interchange::foreign
