#include "tessera/fusion/kernels/half_extrema.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fusion_testing.h"
#include "tessera/ops/core/array_math.h"

namespace tessera::fusion_testing::half_extrema_test {

using namespace array_math;

namespace {

bool computes_integers(const Kernel& kernel) {
  return std::all_of(kernel.nodes.begin(), kernel.nodes.end(),
                     [](const KernelNode& node) { return node.dtype == int16; });
}
bool computes_floats(const Kernel& kernel) {
  return std::none_of(kernel.nodes.begin(), kernel.nodes.end(),
                      [](const KernelNode& node) { return node.dtype == int16; });
}
std::vector<Kernel> kernels_of(const Schedule& s) {
  std::vector<Kernel> out;
  for (const Step& step : s.steps) out.push_back(std::get<KernelStep>(step).kernel);
  return out;
}
std::vector<Kernel> kernels_of(const std::vector<Type>& types,
                               const std::function<Arrays(const Arrays&)>& body) {
  return kernels_of(check(trace(types, body)));
}

TEST(HalfExtrema, ColumnsRowsAndAll) {
  for (DType dtype : {bfloat16, float16})
    for (const Shape& shape : {Shape{40, 100}, Shape{3, 700}, Shape{40, 6}})
      for (const Dims& dims : {Dims{0}, Dims{1}, Dims{0, 1}}) {
        const std::vector<Kernel> kernels =
            kernels_of({array_type(dtype, shape)}, [&](const Arrays& x) {
              return Arrays{lax::reduce_max(x[0], dims), lax::reduce_min(x[0], dims)};
            });
        for (const Kernel& kernel : kernels)
          EXPECT_TRUE(computes_integers(kernel)) << to_string(kernel);
      }
}

// The partial results of blocks are extrema, too.
TEST(HalfExtrema, Blocks) {
  const std::vector<Kernel> kernels =
      kernels_of({array_type(bfloat16, {64, 2048})},
                 [](const Arrays& x) { return Arrays{lax::reduce_max(x[0], {0})}; });
  EXPECT_EQ(kernels.size(), 2u);
  for (const Kernel& kernel : kernels) EXPECT_TRUE(computes_integers(kernel)) << to_string(kernel);
}

TEST(HalfExtrema, ColumnsOfBools) {
  for (const Shape& shape : {Shape{40, 100}, Shape{64, 4096}})
    for (auto* fold : {lax::reduce_or, lax::reduce_and, lax::reduce_max, lax::reduce_min}) {
      const std::vector<Kernel> kernels = kernels_of(
          {array_type(bool_, shape)}, [&](const Arrays& x) { return Arrays{fold(x[0], {0})}; });
      for (const Kernel& kernel : kernels)
        EXPECT_TRUE(std::all_of(kernel.nodes.begin(), kernel.nodes.end(), [](const KernelNode& n) {
          return n.dtype == uint8;
        })) << to_string(kernel);
    }
  // Lanes of rows are folded as masks.
  for (const Kernel& kernel : kernels_of({array_type(bool_, {40, 100})}, [](const Arrays& x) {
         return Arrays{lax::reduce_or(x[0], {1})};
       }))
    EXPECT_TRUE(std::none_of(kernel.nodes.begin(), kernel.nodes.end(), [](const KernelNode& n) {
      return n.dtype == uint8;
    })) << to_string(kernel);
}

TEST(HalfExtrema, KernelsThatStayAsTheyAre) {
  const auto largest = [](const Array& x) { return Arrays{lax::reduce_max(x, {0})}; };
  // Wider floats, elements that are computed, a result that is used, and sums.
  for (const Kernel& kernel :
       kernels_of({f32({40, 100})}, [&](const Arrays& x) { return largest(x[0]); }))
    EXPECT_TRUE(computes_floats(kernel)) << to_string(kernel);
  const Type half = array_type(bfloat16, {40, 100});
  for (const Kernel& kernel :
       kernels_of({half}, [&](const Arrays& x) { return largest(lax::exp(x[0])); }))
    EXPECT_TRUE(computes_floats(kernel)) << to_string(kernel);
  for (const Kernel& kernel :
       kernels_of({half}, [&](const Arrays& x) { return Arrays{lax::exp(largest(x[0])[0])}; }))
    EXPECT_TRUE(computes_floats(kernel)) << to_string(kernel);
  for (const Kernel& kernel :
       kernels_of({half}, [&](const Arrays& x) { return Arrays{lax::reduce_sum(x[0], {0})}; }))
    EXPECT_TRUE(computes_floats(kernel)) << to_string(kernel);
}

// Every pair of all numbers of 16 bits that stand for their neighbours, in both orders: zeros,
// infinities, NaN of both signs and with all payloads at the ends of their range.
TEST(HalfExtrema, EveryKindOfNumber) {
  for (DType dtype : {bfloat16, float16}) {
    const int infinity = dtype == bfloat16 ? 0x7f80 : 0x7c00;
    std::vector<uint16_t> numbers;
    for (int sign : {0, 0x8000})
      for (int bits : {0, 1, 2, 0x3f80, infinity - 1, infinity, infinity + 1, 0x7ffe, 0x7fff})
        numbers.push_back(static_cast<uint16_t>(sign | bits));
    const auto n = static_cast<int64_t>(numbers.size());
    Literal pairs(dtype, {2, n * n});
    auto* bits = reinterpret_cast<uint16_t*>(pairs.mutable_raw());
    for (int64_t i = 0; i < n * n; ++i) {
      bits[i] = numbers[static_cast<size_t>(i / n)];
      bits[n * n + i] = numbers[static_cast<size_t>(i % n)];
    }
    const Literal values = convert_literal(pairs, float32);
    for (bool most : {false, true}) {
      const Function f = trace({array_type(dtype, {2, n * n})}, [&](const Arrays& x) {
        return Arrays{most ? lax::reduce_max(x[0], {0}) : lax::reduce_min(x[0], {0})};
      });
      const Schedule s = fuse(f, Mesh());
      ASSERT_TRUE(computes_integers(kernels_of(s)[0])) << to_string(s);
      const Literal got = convert_literal(ScheduleInterpreter(s).run({{pairs}})[0][0], float32);
      for (int64_t i = 0; i < n * n; ++i) {
        const float a = values.data<float>()[i], b = values.data<float>()[n * n + i];
        const float result = got.data<float>()[i];
        SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << " " << a << " " << b);
        if (std::isnan(a) || std::isnan(b)) {
          EXPECT_TRUE(std::isnan(result)) << result;
        } else if (a == 0 && b == 0) {
          EXPECT_EQ(result, 0);
          EXPECT_EQ(std::signbit(result),
                    most ? std::signbit(a) && std::signbit(b) : std::signbit(a) || std::signbit(b));
        } else {
          EXPECT_EQ(result, most ? std::max(a, b) : std::min(a, b));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::fusion_testing::half_extrema_test
