#include "tessera/ops/linear/dot_general.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/ir/factors.h"
#include "tessera/ops/core/op.h"
#include "tests/golden/golden.h"

namespace tessera::dot_general_test {

using namespace ops;

namespace {

using testing::HasSubstr;

TEST(DotGeneral, Golden) {
  const golden::Topic topic("ops");
  int count = 0;
  for (const golden::Json& c : topic["programs"]) {
    const golden::Json& attributes = c["attributes"];
    if (!attributes.contains("lhs_contracting_dimensions")) continue;
    SCOPED_TRACE(c["name"].get<std::string>());
    const std::vector<Literal> x = topic.arrays(c["inputs"]), want = topic.arrays(c["outputs"]);
    const DotParams p{golden::dims(attributes["lhs_batching_dimensions"]),
                      golden::dims(attributes["rhs_batching_dimensions"]),
                      golden::dims(attributes["lhs_contracting_dimensions"]),
                      golden::dims(attributes["rhs_contracting_dimensions"]), want[0].dtype()};
    const std::vector<Type> types{{x[0].dtype(), x[0].shape()}, {x[1].dtype(), x[1].shape()}};
    const Literal got = dot_general_op.evaluate(x, p)[0];
    const Type inferred = dot_general_op.infer(types, p)[0];
    EXPECT_EQ(inferred.shape, want[0].shape());
    ASSERT_EQ(got.shape(), want[0].shape());
    ASSERT_EQ(got.dtype(), want[0].dtype());
    if (got.dtype() == float32) {
      for (int64_t i = 0; i < got.elements(); ++i) {
        const float a = got.data<float>()[i], b = want[0].data<float>()[i];
        if (!std::isfinite(b)) {
          EXPECT_TRUE(std::isnan(b) ? std::isnan(a) : a == b) << i;
        } else {
          EXPECT_NEAR(a, b, c["exact"].get<bool>() ? 0 : 1e-4) << i;
        }
      }
    } else {
      EXPECT_TRUE(got == want[0]);
    }
    ++count;
  }
  EXPECT_GE(count, 22);
}

TEST(DotGeneral, Factors) {
  const std::vector<Type> types{{float32, {2, 4, 3}}, {float32, {3, 5, 2}}};
  const DotParams p{{0}, {2}, {2}, {0}};
  const std::vector<Type> result = dot_general_op.infer(types, p);
  EXPECT_EQ(result[0].shape, (Shape{2, 4, 5}));
  EXPECT_EQ(to_string(dot_general_op.factors(types, result, p)),
            "([i, j, l], [l, k, i])->([i, j, k]) {i=2, j=4, k=5, l=3} reduction={l}");
  EXPECT_EQ(dot_general_op.flops(types, result, p), 2.0 * 2 * 4 * 5 * 3);
}

TEST(DotGeneral, TypesWeaknessAndVariance) {
  Type a{float32, {2, 3}}, b{float32, {3, 4}};
  a.weak = true;
  a.varying = {"x"};
  b.varying = {"y"};
  const Type c = dot_general_op.infer(std::vector{a, b}, DotParams{{}, {}, {1}, {0}, float64})[0];
  EXPECT_EQ(c.dtype, float64);
  EXPECT_FALSE(c.weak);
  EXPECT_EQ(c.varying, (AxisNames{"x", "y"}));
  EXPECT_EQ(accumulation_dtype(bfloat16), float32);
  EXPECT_EQ(accumulation_dtype(int8), int8);
}

TEST(DotGeneral, Errors) {
  auto expect_error = [](ErrorKind kind, const std::string& fragment, const Type& lhs,
                         const Type& rhs, const DotParams& p) {
    try {
      dot_general_op.infer(std::vector{lhs, rhs}, p);
      FAIL() << "nothing was thrown";
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(fragment));
    }
  };
  const Type x{float32, {2, 3}}, y{float32, {3, 4}}, i{int32, {3, 4}}, b{bool_, {2, 3}};
  expect_error(ErrorKind::kType, "float32[2,3] and int32[3,4]; convert one of them (C13)", x, i,
               {{}, {}, {1}, {0}});
  expect_error(ErrorKind::kType, "expected numbers, got bool[2,3]", b, b, {{}, {}, {1}, {1}});
  expect_error(ErrorKind::kType, "expected a result dtype of the kind of float32[2,3], got int32",
               x, y, {{}, {}, {1}, {0}, int32});
  expect_error(ErrorKind::kShape, "got (0,) and () (C1)", x, y, {{0}, {}, {1}, {0}});
  expect_error(ErrorKind::kShape, "got (1,) and () (C2)", x, y, {{}, {}, {1}, {}});
  expect_error(ErrorKind::kShape, "got batch (1,) and contracting (1,) (C3)", x, y,
               {{1}, {1}, {1}, {0}});
  expect_error(ErrorKind::kShape, "got batch (0,) and contracting (0,) (C4)", x, y,
               {{0}, {0}, {1}, {0}});
  expect_error(ErrorKind::kShape,
               "expected dimensions of lhs in [0, 2), got (2,) for float32[2,3] (C5)", x, y,
               {{2}, {1}, {1}, {0}});
  expect_error(ErrorKind::kShape,
               "expected dimensions of lhs in [0, 2), got (-1,) for float32[2,3] (C6)", x, y,
               {{}, {}, {-1}, {0}});
  expect_error(ErrorKind::kShape, "(C7)", x, y, {{0}, {5}, {1}, {0}});
  expect_error(ErrorKind::kShape, "(C8)", x, y, {{}, {}, {1}, {2}});
  expect_error(ErrorKind::kShape,
               "got 2 (dimension 0 of float32[2,3]) and 4 (dimension 1 of float32[3,4]) (C9)", x, y,
               {{0}, {1}, {1}, {0}});
  expect_error(ErrorKind::kShape,
               "expected equal contracting dimensions, got 2 (dimension 0 of float32[2,3]) and 3",
               x, y, {{}, {}, {0}, {0}});
}

}  // namespace
}  // namespace tessera::dot_general_test
