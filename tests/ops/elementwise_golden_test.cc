// Compares the naive evaluation of elementwise ops with JAX and with exact values
// (tests/golden/make_elementwise.py).
#include "tessera/ops/core/elementwise.h"
#include "tests/golden/golden.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::elementwise_golden_test {

using namespace ops;

namespace {

const golden::Topic& topic() {
  static const golden::Topic instance("elementwise");
  return instance;
}

const OpDef* elementwise_op(const std::string& name) {
  if (name == "conjugate") return find_op("chlo", "conj");
  if (name == "nextafter") return find_op("chlo", "next_after");
  const OpDef* op = find_op("stablehlo", name);
  return op ? op : find_op("chlo", name);
}

// Returns the error in units of the last place of `dtype` at the exact value; subnormal results
// have the smallest unit.
double ulps(double value, double exact, DType dtype) {
  if (value == exact || (std::isnan(value) && std::isnan(exact))) return 0;
  if (!std::isfinite(value) || !std::isfinite(exact)) {
    // A number beyond the largest one is rounded to infinity.
    const double rounded =
        dtype == float32 ? static_cast<double>(static_cast<float>(exact)) : exact;
    return value == rounded ? 0 : INFINITY;
  }
  const int bits = dtype == float32 ? 24 : 53, least = dtype == float32 ? -149 : -1074;
  const int exponent = exact == 0 ? least : std::max(std::ilogb(exact) - bits + 1, least);
  return std::abs(value - exact) / std::ldexp(1.0, exponent);
}

double largest_ulps(const Literal& value, const Literal& exact) {
  EXPECT_EQ(value.shape(), exact.shape());
  const Literal a = convert_literal(value, float64), b = convert_literal(exact, float64);
  double worst = 0;
  for (int64_t i = 0; i < a.elements(); ++i)
    worst = std::max(worst, ulps(a.data<double>()[i], b.data<double>()[i], value.dtype()));
  return worst;
}

// Returns whether x is subnormal. JAX on a CPU flushes such inputs and results to zero.
bool is_subnormal(double x, DType dtype) {
  const bool narrow_exponent = dtype == float16;
  const double least = dtype == float64 ? 0x1p-1022 : narrow_exponent ? 0x1p-14 : 0x1p-126;
  return is_floating(dtype) && x != 0 && std::abs(x) < least;
}

// Expects equal values at every element where neither the inputs nor the value are subnormal.
void expect_equal_to_jax(const Literal& value, const Literal& jax,
                         const std::vector<Literal>& inputs) {
  ASSERT_EQ(value.dtype(), jax.dtype());
  ASSERT_EQ(value.shape(), jax.shape());
  const Literal a = convert_literal(value, complex128), b = convert_literal(jax, complex128);
  for (int64_t i = 0; i < a.elements(); ++i) {
    auto subnormal = [&](const Literal& x) {
      const Literal wide = convert_literal(x, complex128);
      const auto at = wide.data<std::complex<double>>()[i];
      return is_subnormal(at.real(), real_dtype(x.dtype())) ||
             is_subnormal(at.imag(), real_dtype(x.dtype()));
    };
    if (subnormal(value) || std::any_of(inputs.begin(), inputs.end(), subnormal)) continue;
    EXPECT_EQ(relative_error(a.data<std::complex<double>>()[i], b.data<std::complex<double>>()[i]),
              0)
        << "element " << i;
  }
}

TEST(ElementwiseGolden, UnaryFunctionsAreExactButForRounding) {
  int tested = 0;
  for (const auto& [name, by_dtype] : topic()["unary"]["functions"].items()) {
    const OpDef* op = elementwise_op(name);
    if (!op) continue;  // exp2, log2, log10: compositions
    for (const auto& [dtype, entry] : by_dtype.items()) {
      SCOPED_TRACE(name + " " + dtype);
      const Literal x = topic().array(topic()["unary"]["inputs"][dtype.c_str()]);
      const std::vector<Literal> operands{x};
      const Literal value = op->evaluate(operands, NoParams{})[0];
      const double worst = largest_ulps(value, topic().array(entry["reference"]));
      // Results are computed in double: float32 results have only the rounding error, float64
      // results that of the C library.
      EXPECT_LE(worst, dtype == "float32" ? 0.51 : 8);
      ++tested;
    }
  }
  EXPECT_GE(tested, 60);
}

TEST(ElementwiseGolden, BinaryFunctions) {
  const auto& binary = topic()["binary"];
  const std::vector<Literal> operands{topic().array(binary["lhs"]), topic().array(binary["rhs"])};
  int tested = 0;
  for (const auto& [name, entry] : binary["functions"].items()) {
    const OpDef* op = elementwise_op(name);
    if (!op) continue;  // hypot, mod, ...: compositions of numpy/
    SCOPED_TRACE(name);
    const Literal value = op->evaluate(operands, NoParams{})[0];
    if (entry.contains("reference")) {
      EXPECT_LE(largest_ulps(value, topic().array(entry["reference"])), 0.51);
    } else {
      expect_equal_to_jax(value, topic().array(entry["jax"]), operands);
    }
    ++tested;
  }
  EXPECT_EQ(tested, 10);
}

Comparison direction_of(const std::string& name) {
  const auto names = enum_names(Comparison{});
  const auto at = std::find(names.begin(), names.end(), name);
  TESSERA_CHECK(at != names.end(), "{}", name);
  return static_cast<Comparison>(at - names.begin());
}

TEST(ElementwiseGolden, Comparisons) {
  const auto& binary = topic()["binary"];
  const std::vector<Literal> operands{topic().array(binary["lhs"]), topic().array(binary["rhs"])};
  for (const auto& [name, entry] : binary["compare"].items()) {
    const CompareParams params{direction_of(name), CompareType::kFloat};
    SCOPED_TRACE(name);
    expect_equal_to_jax(compare_op.evaluate(operands, params)[0], topic().array(entry), operands);
  }
}

TEST(ElementwiseGolden, Integers) {
  int tested = 0;
  for (const auto& [dtype, group] : topic()["integer"].items()) {
    const std::vector<Literal> both{topic().array(group["lhs"]), topic().array(group["rhs"])};
    const std::vector<Literal> one{both[0]};
    for (const auto& [name, entry] : group["binary"].items()) {
      SCOPED_TRACE(name + " " + dtype);
      const OpDef* op = elementwise_op(name);
      if (op) {
        EXPECT_EQ(op->evaluate(both, NoParams{})[0], topic().array(entry));
      } else if (name.size() == 2) {
        const CompareParams params{direction_of(name), default_compare_type(both[0].dtype())};
        EXPECT_EQ(compare_op.evaluate(both, params)[0], topic().array(entry));
      } else {
        continue;  // floor_divide, mod
      }
      ++tested;
    }
    for (const auto& [name, entry] : group["unary"].items()) {
      const OpDef* op = elementwise_op(name);
      if (!op || (name == "abs" && is_unsigned(one[0].dtype()))) continue;
      EXPECT_EQ(op->evaluate(one, NoParams{})[0], topic().array(entry)) << name << " " << dtype;
      ++tested;
    }
    if (!group.contains("shift")) continue;
    const auto& shift = group["shift"];
    const std::vector<Literal> shifted{topic().array(shift["value"]),
                                       topic().array(shift["amount"])};
    for (const char* name : {"shift_left", "shift_right_logical", "shift_right_arithmetic"}) {
      EXPECT_EQ(elementwise_op(name)->evaluate(shifted, NoParams{})[0], topic().array(shift[name]))
          << name << " " << dtype;
      ++tested;
    }
  }
  EXPECT_GT(tested, 150);
}

TEST(ElementwiseGolden, Conversions) {
  for (const auto& entry : topic()["convert"]) {
    SCOPED_TRACE(entry["from"].get<std::string>() + " to " + entry["to"].get<std::string>());
    const Literal from = topic().array(entry["input"]), to = topic().array(entry["output"]);
    expect_equal_to_jax(convert_literal(from, to.dtype()), to, {from});
  }
}

class GoldenHostTest : public HostTest {};

TEST_F(GoldenHostTest, Bitcasts) {
  for (const auto& entry : topic()["bitcast"]) {
    const Literal to = topic().array(entry["output"]);
    EXPECT_EQ(lax::bitcast_convert_type(Array(topic().array(entry["input"])), to.dtype()).to_host(),
              to)
        << entry["from"] << " to " << entry["to"];
  }
}

TEST_F(GoldenHostTest, ClampAndSelect) {
  for (const auto& entry : topic()["ternary"]) {
    const OpDef* op = elementwise_op(entry["name"]);
    EXPECT_EQ(largest_error(op->evaluate(topic().arrays(entry["inputs"]), NoParams{})[0],
                            topic().array(entry["output"])),
              0)
        << entry;
  }
}

TEST_F(GoldenHostTest, Exp2) {
  const Literal x = topic().array(topic()["unary"]["inputs"]["float32"]);
  const Literal exact =
      topic().array(topic()["unary"]["functions"]["exp2"]["float32"]["reference"]);
  EXPECT_LE(largest_ulps(lax::exp2(Array(x)).to_host(), exact), 0.51);
}

TEST(ElementwiseGolden, ComplexFunctions) {
  int tested = 0;
  for (const auto& [dtype, group] : topic()["complex"].items()) {
    const Literal lhs = topic().array(group["lhs"]), rhs = topic().array(group["rhs"]);
    for (const char* arity : {"unary", "binary"}) {
      for (const auto& [name, entry] : group[arity].items()) {
        const OpDef* op = elementwise_op(name);
        ASSERT_TRUE(op) << name;
        SCOPED_TRACE(name + " " + dtype);
        std::vector<Literal> operands{lhs};
        if (arity[0] == 'b') operands.push_back(rhs);
        const Literal value = convert_literal(op->evaluate(operands, NoParams{})[0], complex128);
        const Literal exact = convert_literal(topic().array(entry["reference"]), complex128);
        for (int64_t i = 0; i < value.elements(); ++i) {
          const auto a = value.data<std::complex<double>>()[i],
                     b = exact.data<std::complex<double>>()[i];
          // A result that overflows, or has an infinite part or a NaN, is not compared with the
          // exact value.
          if (!std::isfinite(a.real()) || !std::isfinite(a.imag()) || !std::isfinite(b.real()) ||
              !std::isfinite(b.imag()))
            continue;
          EXPECT_LE(relative_error(a, b), 16 * epsilon(lhs.dtype())) << "element " << i;
        }
        ++tested;
      }
    }
  }
  EXPECT_EQ(tested, 2 * 22);
}

// Arithmetic of two-byte floats is JAX's: in float32, then rounded.
TEST(ElementwiseGolden, TwoByteFloatsAreRoundedOnce) {
  const std::vector<Literal> half{convert_literal(literal<float>({2}, {1.0f, 2048.0f}), float16),
                                  convert_literal(literal<float>({2}, {0x1p-11f, 1.0f}), float16)};
  EXPECT_EQ(add_op.evaluate(half, NoParams{})[0],
            convert_literal(literal<float>({2}, {1.0f, 2048.0f}), float16));
  const std::vector<Literal> brain{convert_literal(literal<float>({1}, {1.0f}), bfloat16),
                                   convert_literal(literal<float>({1}, {0x1.8p-8f}), bfloat16)};
  EXPECT_EQ(add_op.evaluate(brain, NoParams{})[0],
            convert_literal(literal<float>({1}, {1 + 0x1p-7f}), bfloat16));
}

}  // namespace
}  // namespace tessera::testing_ops::elementwise_golden_test
