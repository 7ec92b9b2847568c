// Ops that become library calls or indexed loads: compiled, on one device and sharded, they have
// the results of their naive evaluation.
#include <cmath>

#include "tessera/ir/format.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/convert.h"
#include "tests/compile/devices.h"

namespace tessera::library_ops_test {

using namespace ops;

namespace {

class LibraryOps : public DevicesTest {};

void expect_near(const Literal& got, const Literal& want, double tolerance) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  const DType wide = is_complex(want.dtype()) ? complex128 : float64;
  const Literal a = convert_literal(got, wide), b = convert_literal(want, wide);
  const int64_t n = a.elements() * (is_complex(wide) ? 2 : 1);
  const auto *p = reinterpret_cast<const double*>(a.raw()),
             *q = reinterpret_cast<const double*>(b.raw());
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(q[i])) {
      ASSERT_TRUE(std::isnan(p[i])) << "element " << i;
    } else if (p[i] != q[i]) {
      ASSERT_NEAR(p[i], q[i], tolerance * (1 + std::abs(q[i]))) << "element " << i;
    }
  }
}

double tolerance_of(DType dtype) {
  return dtype == bfloat16 ? 3e-2 : dtype == float16 ? 4e-3 : is_inexact(dtype) ? 2e-5 : 0;
}

Literal filled(const Type& type, int64_t seed) {
  Literal out(float64, type.shape);
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<double>()[i] = static_cast<double>((i * 37 + seed * 11) % 101) / 16 - 3;
  return convert_literal(out, type.dtype);
}

void for_each_sample(auto visit) {
  for (const OpDef* def : all_ops()) {
    const auto* library = std::get_if<Library>(&def->lower);
    if (!library || library->kind == LibraryKind::kDot || !def->samples) continue;
    for (const Sample& sample : def->samples()) {
      std::vector<Literal> x = sample.literals;
      for (size_t k = x.size(); k < sample.operands.size(); ++k)
        x.push_back(filled(sample.operands[k], static_cast<int64_t>(k)));
      std::string label(def->name);
      for (const Literal& l : x) label += fmt::format(" {}{}", l.dtype(), l.shape());
      SCOPED_TRACE(label);
      visit(*def, sample.params, x);
    }
  }
}

TEST_F(LibraryOps, CompiledIsEvaluated) {
  int tested = 0;
  for_each_sample([&](const OpDef& def, const OpParams& params, const std::vector<Literal>& x) {
    std::vector<Array> arrays;
    for (const Literal& l : x) arrays.push_back(Array(l));
    const std::vector<Array> got = bind_op(def, params, arrays);
    const std::vector<Literal> want = def.evaluate(x, params);
    ASSERT_EQ(got.size(), want.size());
    for (size_t r = 0; r < want.size(); ++r)
      expect_near(got[r].to_host(), want[r], tolerance_of(want[r].dtype()));
    ++tested;
  });
  EXPECT_GT(tested, 30);
}

// Each dimension of each operand is sharded over two or four devices.
TEST_F(LibraryOps, ShardedIsEvaluated) {
  int tested = 0;
  for_each_sample([&](const OpDef& def, const OpParams& params, const std::vector<Literal>& x) {
    const std::vector<Literal> want = def.evaluate(x, params);
    for (size_t k = 0; k < x.size(); ++k) {
      for (int64_t d = 0; d < x[k].shape().rank(); ++d) {
        if (x[k].shape()[d] < 2 || x[k].shape()[d] % 2) continue;
        std::vector<DimSpec> dims(static_cast<size_t>(d));
        dims.emplace_back(x[k].shape()[d] % 4 ? "x" : "y");
        std::vector<Array> arrays;
        for (const Literal& l : x) arrays.push_back(Array(l));
        arrays[k] = device_put(arrays[k], on24(PartitionSpec(dims)));
        const std::vector<Array> got =
            jit([&](const std::vector<Array>& a) { return bind_op(def, params, a); })(arrays);
        for (size_t r = 0; r < want.size(); ++r) {
          SCOPED_TRACE(fmt::format("operand {} dimension {} result {}", k, d, r));
          expect_near(got[r].to_host(), want[r], 2 * tolerance_of(want[r].dtype()));
        }
        ++tested;
      }
    }
  });
  EXPECT_GT(tested, 40);
}

}  // namespace
}  // namespace tessera::library_ops_test
