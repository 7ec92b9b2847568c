// Tests the rules of ops on every op's samples: jvp against finite differences, transpose against
// the inner product, batch against a loop.
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/factor/eig.h"
#include "tessera/ops/factor/eigh.h"
#include "tessera/ops/factor/svd.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::rules_test {

using namespace ops;

namespace {

class RulesTest : public HostTest {};

bool is_array_op(const OpDef& def) {
  return def.samples && def.evaluate && !std::holds_alternative<CollectiveLowering>(def.lower) &&
         is_computed(def.lower);
}

// Returns whether the values have no ties and no NaNs, so that a function may have a slope there.
bool is_smooth(const Literal& x) {
  const Literal wide = convert_literal(x, complex128);
  const std::vector<std::complex<double>> values(
      wide.data<std::complex<double>>(), wide.data<std::complex<double>>() + wide.elements());
  return std::all_of(values.begin(), values.end(), [&](std::complex<double> v) {
    return std::isfinite(std::abs(v)) && std::count(values.begin(), values.end(), v) == 1;
  });
}

// Returns whether the factors are not unique, so that rules need not follow LAPACK's choice, as in
// JAX (tests/ops/factor_test.cc): phases of complex eigenvectors and singular vectors, and the
// signs of those of `eig`. Singular vectors beyond the rank have no derivative.
bool has_free_vectors(const OpDef& def, const Sample& sample) {
  if (&def == &eig_op) return true;
  if (&def != &eigh_op && &def != &svd_op) return false;
  const Shape& shape = sample.operands[0].shape;
  const bool beyond = &def == &svd_op && sample.params.as<SvdParams>().full_matrices &&
                      shape.back() != shape[shape.rank() - 2];
  return is_complex(sample.operands[0].dtype) || beyond;
}

// Returns the op's samples with floats in float64 and complex128, which give finite differences
// enough digits.
std::vector<Sample> wide_samples(const OpDef& def) {
  std::vector<Sample> out;
  for (Sample sample : def.samples()) {
    bool wide = true;
    for (Type& t : sample.operands) {
      if (t.dtype == float32) t.dtype = float64;
      if (t.dtype == complex64) t.dtype = complex128;
      wide = wide && (!is_inexact(t.dtype) || itemsize(real_dtype(t.dtype)) == 8);
    }
    // Chosen floats may have ties and NaNs, where there is no slope. Chosen integers stay: they are
    // starts.
    for (Literal& x : sample.literals) {
      std::mt19937 rng(6);
      if (!is_inexact(x.dtype())) continue;
      const DType wider = is_complex(x.dtype()) ? complex128 : float64;
      x = is_smooth(x) ? convert_literal(x, wider)
                       : random_literal(Type{.dtype = wider, .shape = x.shape()}, rng);
    }
    try {
      for (const Type& t : def.infer(sample.operands, sample.params))
        wide = wide && (!is_inexact(t.dtype) || itemsize(real_dtype(t.dtype)) == 8);
    } catch (const UserError&) {
      continue;  // its params fix the dtype
    }
    if (wide && !sample.operands.empty()) out.push_back(sample);
  }
  return out;
}

std::vector<Array> arrays(const std::vector<Literal>& literals) {
  return {literals.begin(), literals.end()};
}

// Returns x + h t, or x for an operand without a tangent.
std::vector<Literal> moved(const std::vector<Literal>& x, const std::vector<Array>& t, double h) {
  std::vector<Literal> out = x;
  for (size_t k = 0; k < x.size(); ++k) {
    if (!t[k].defined()) continue;
    const Array step = lax::mul(t[k], lax::full_like(t[k], h));
    out[k] = lax::add(Array(x[k]), step).to_host();
  }
  return out;
}

std::vector<Array> random_tangents(const std::vector<Literal>& x, std::mt19937& rng) {
  std::vector<Array> out;
  for (const Literal& l : x) {
    const Type type{.dtype = l.dtype(), .shape = l.shape()};
    out.push_back(is_inexact(l.dtype()) ? Array(random_literal(type, rng, -1, 1)) : Array());
  }
  return out;
}

TEST_F(RulesTest, JvpsAreFiniteDifferences) {
  int tested = 0;
  for (const OpDef* def : all_ops()) {
    if (!def->jvp || !is_array_op(*def)) continue;
    if (def->name == "reduce_precision") continue;  // a step function; its tangent is JAX's
    std::mt19937 rng(3);
    for (const Sample& sample : wide_samples(*def)) {
      if (has_free_vectors(*def, sample)) continue;
      std::string fields;
      for (const Attribute& a : sample.params.fields())
        if (const auto* name = std::get_if<std::string>(&a)) fields += " " + *name;
      SCOPED_TRACE(fmt::format("{} {}{}", def->name, describe(sample.operands[0]), fields));
      const std::vector<Literal> x = sample_operands(sample, rng);
      std::vector<Array> t = random_tangents(x, rng);
      JvpResult result;
      try {
        result = def->jvp(arrays(x), t, sample.params);
      } catch (const UserError& e) {  // initial values of reduce, scalars, may need none
        EXPECT_THAT(e.what(), ::testing::HasSubstr("without a tangent"));
        for (size_t k = 0; k < x.size(); ++k)
          if (x[k].shape().empty()) t[k] = Array();
        result = def->jvp(arrays(x), t, sample.params);
      }
      const std::vector<Literal> plain = def->evaluate(x, sample.params);
      const double h = 1e-6;
      const std::vector<Literal> up = def->evaluate(moved(x, t, h), sample.params);
      const std::vector<Literal> down = def->evaluate(moved(x, t, -h), sample.params);
      for (size_t r = 0; r < plain.size(); ++r) {
        EXPECT_LE(largest_error(result.primals[r].to_host(), plain[r]), 1e-14);
        if (!is_inexact(plain[r].dtype())) {
          EXPECT_FALSE(result.tangents[r].defined());
          continue;
        }
        const Literal a = convert_literal(up[r], complex128),
                      b = convert_literal(down[r], complex128);
        const Literal tangent = result.tangents[r].defined()
                                    ? convert_literal(result.tangents[r].to_host(), complex128)
                                    : Literal(complex128, plain[r].shape());
        ASSERT_EQ(tangent.shape(), plain[r].shape());
        for (int64_t i = 0; i < a.elements(); ++i) {
          const auto slope =
              (a.data<std::complex<double>>()[i] - b.data<std::complex<double>>()[i]) / (2 * h);
          const auto value = tangent.data<std::complex<double>>()[i];
          EXPECT_LE(std::abs(slope - value), 2e-6 * (1 + std::abs(slope))) << "element " << i;
        }
        ++tested;
      }
    }
  }
  EXPECT_GT(tested, 150);
}

// Returns Re(sum(a * b)), the pairing of tangents and cotangents; complex ones are linear maps of
// complex numbers.
double paired(const Array& a, const Array& b) {
  const Literal x = convert_literal(a.to_host(), complex128),
                y = convert_literal(b.to_host(), complex128);
  EXPECT_EQ(x.shape(), y.shape());
  double sum = 0;
  for (int64_t i = 0; i < x.elements(); ++i)
    sum += (x.data<std::complex<double>>()[i] * y.data<std::complex<double>>()[i]).real();
  return sum;
}

// Returns whether a gather reads outside of its operand. It reads the nearest element there and
// drops the cotangent, as in JAX, so that its transpose is not the adjoint.
bool reads_outside(const OpDef& def, const OpParams& params, std::span<const Literal> x) {
  if (&def != &gather_op) return false;
  const IndexedWindows windows =
      gather_windows(params.as<GatherParams>(), x[0].shape(), x[1].shape());
  const Literal inside = lax::windows_inside(windows, Array(x[1])).to_host();
  return !std::all_of(inside.data<bool>(), inside.data<bool>() + inside.elements(),
                      [](bool b) { return b; });
}

TEST_F(RulesTest, TransposesKeepInnerProducts) {
  int tested = 0;
  for (const OpDef* def : all_ops()) {
    if (!def->transpose || !def->jvp || !is_array_op(*def)) continue;
    if (def->name == "reduce_precision") continue;  // JAX calls it linear, but rounding is not
    std::mt19937 rng(4);
    for (const Sample& sample : wide_samples(*def)) {
      const std::vector<Literal> x = sample_operands(sample, rng);
      const std::vector<Array> all_tangents = random_tangents(x, rng);
      if (reads_outside(*def, sample.params, x)) continue;
      for (size_t k = 0; k < x.size(); ++k) {
        if (!all_tangents[k].defined()) continue;
        SCOPED_TRACE(
            fmt::format("{} {} in operand {}", def->name, describe(sample.operands[0]), k));
        std::vector<Array> t(x.size()), operands = arrays(x);
        t[k] = all_tangents[k];
        std::vector<bool> linear(x.size());
        linear[k] = true;
        JvpResult forward;
        try {
          forward = def->jvp(operands, t, sample.params);
        } catch (const UserError& e) {  // no tangent for it (reduce's initial value)
          EXPECT_THAT(e.what(), ::testing::HasSubstr("without a tangent"));
          continue;
        }
        const Array& out = forward.tangents[0];
        if (!out.defined()) continue;
        const Array ct(random_literal(out.type(), rng, -1, 1));
        // No transpose rule needs the value of an operand in which its op is linear.
        operands[k] = abstract_array(x[k].shape(), x[k].dtype());
        std::vector<Array> back;
        try {
          back = def->transpose(std::vector<Array>{ct}, operands, linear, sample.params);
        } catch (const InternalError&) {
          continue;  // not linear in this operand (a divisor)
        }
        ASSERT_EQ(back.size(), x.size());
        ASSERT_TRUE(back[k].defined());
        EXPECT_EQ(back[k].dtype(), x[k].dtype());
        const double expected = paired(ct, out);
        EXPECT_NEAR(paired(back[k], t[k]), expected, 1e-10 * (1 + std::abs(expected)));
        ++tested;
      }
    }
  }
  EXPECT_GT(tested, 60);
}

Array example(const Array& x, int dim, int64_t n) {
  if (dim < 0) return x;
  Dims start(x.shape().size(), 0), limit = x.shape();
  start[dim] = n;
  limit[dim] = n + 1;
  return lax::squeeze(lax::slice(x, start, limit), {dim});
}

TEST_F(RulesTest, BatchesAreLoops) {
  constexpr int64_t kSize = 3;
  int tested = 0;
  for (const OpDef* def : all_ops()) {
    if (!def->batch || !is_array_op(*def)) continue;
    std::mt19937 rng(5);
    for (const Sample& sample : def->samples()) {
      if (sample.operands.empty()) continue;
      const std::vector<Literal> one = sample_operands(sample, rng);
      // Each operand is batched by itself, along its first and its last dimension; then all of
      // them, along different dimensions.
      std::vector<std::vector<int>> choices;
      for (size_t k = 0; k < one.size(); ++k) {
        for (int64_t at : {int64_t{0}, one[k].shape().rank()}) {
          choices.emplace_back(one.size(), -1);
          choices.back()[k] = static_cast<int>(at);
        }
      }
      choices.emplace_back();
      for (size_t k = 0; k < one.size(); ++k)
        choices.back().push_back(k % 2 ? static_cast<int>(one[k].shape().rank()) : 0);
      for (const std::vector<int>& dims : choices) {
        SCOPED_TRACE(fmt::format("{} {}, operand 0 mapped at {}", def->name,
                                 describe(sample.operands[0]), dims[0]));
        std::vector<Array> operands;
        for (size_t k = 0; k < one.size(); ++k) {
          Type type{.dtype = one[k].dtype(), .shape = one[k].shape()};
          if (dims[k] >= 0) type.shape.insert(type.shape.begin() + dims[k], kSize);
          operands.push_back(dims[k] >= 0
                                 ? Array(random_literal(type, rng, sample.low, sample.high))
                                 : Array(one[k]));
        }
        BatchResult batched;
        try {
          batched = def->batch(operands, dims, sample.params);
        } catch (const UserError& e) {
          EXPECT_THAT(e.what(), ::testing::HasSubstr("the same for every example of vmap"));
          continue;
        }
        for (int64_t n = 0; n < kSize; ++n) {
          std::vector<Literal> own;
          for (size_t k = 0; k < operands.size(); ++k)
            own.push_back(example(operands[k], dims[k], n).to_host());
          const std::vector<Literal> expected = def->evaluate(own, sample.params);
          for (size_t r = 0; r < expected.size(); ++r) {
            const Literal got = example(batched.results[r], batched.dims[r], n).to_host();
            EXPECT_EQ(got.dtype(), expected[r].dtype());
            EXPECT_LE(largest_error(got, expected[r]), 8 * epsilon(expected[r].dtype()));
          }
        }
        ++tested;
      }
    }
  }
  EXPECT_GT(tested, 1000);
}

// Derivatives at values that samples do not have.
TEST_F(RulesTest, DerivativesAtTheEdges) {
  auto tangent = [](const OpDef& def, double x, double y, double tx, double ty) {
    const std::vector<Array> operands{Array(Literal::scalar(x)), Array(Literal::scalar(y))};
    const std::vector<Array> tangents{Array(Literal::scalar(tx)), Array(Literal::scalar(ty))};
    return def.jvp(operands, tangents, NoParams{}).tangents[0].item<double>();
  };
  EXPECT_EQ(tangent(max_op, 1, 1, 1, 0), 0.5);
  EXPECT_EQ(tangent(min_op, 1, 1, 0, 1), 0.5);
  EXPECT_EQ(tangent(max_op, 2, 1, 1, 0), 1);
  EXPECT_EQ(tangent(max_op, 2, 1, 0, 1), 0);
  EXPECT_EQ(tangent(pow_op, 0, 2, 1, 0), 0);
  EXPECT_EQ(tangent(pow_op, 0, 0, 1, 0), 0);
  EXPECT_EQ(tangent(pow_op, 0, 1, 1, 0), 1);
  EXPECT_EQ(tangent(pow_op, 0, 2, 0, 1), 0);
  EXPECT_EQ(tangent(rem_op, -7, 2, 0, 1), 3);
  const std::vector<Array> x{Array(Literal::scalar(-3.25))}, t{Array(Literal::scalar(1.0))};
  EXPECT_NEAR(digamma_op.jvp(x, t, NoParams{}).tangents[0].item<double>(), 19.4740850680822, 1e-6);
}

TEST_F(RulesTest, IntegerPow) {
  const Array x(literal<double>({3}, {2, -3, 0.5}));
  auto values = [](const Array& a) {
    const Literal l = a.to_host();
    return std::vector<double>(l.data<double>(), l.data<double>() + l.elements());
  };
  EXPECT_EQ(values(lax::integer_pow(x, 5)), (std::vector<double>{32, -243, 0.03125}));
  EXPECT_EQ(values(lax::integer_pow(x, 0)), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(values(lax::integer_pow(x, -2)), (std::vector<double>{0.25, 1 / 9.0, 4}));
  EXPECT_EQ(values(lax::reciprocal(x)), (std::vector<double>{0.5, -1 / 3.0, 2}));
  EXPECT_EQ(values(lax::square(x)), (std::vector<double>{4, 9, 0.25}));
}

}  // namespace
}  // namespace tessera::testing_ops::rules_test
