// Compares rotations with JAX: golden/make_calls_spatial.py; random rotations, identities, errors.
#include "tessera/scipy/spatial/transform.h"

#include "../errors.h"
#include "../numpy/calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::transform_test {
namespace {

using scipy::spatial::transform::Rotation;
using scipy::spatial::transform::Slerp;
using test::expect_error;

Rotation of(const Array& q) { return Rotation::from_quat(q); }

TEST(Rotation, AsInJax) {
  test::CallTable table = {
      TESSERA_CALL("from_quat", of(a[0]).as_matrix()),
      TESSERA_CALL("from_matrix", Rotation::from_matrix(a[0]).as_matrix()),
      TESSERA_CALL("from_rotvec", Rotation::from_rotvec(a[0]).as_quat()),
      TESSERA_CALL("as_rotvec", of(a[0]).as_rotvec()),
      TESSERA_CALL("from_mrp", Rotation::from_mrp(a[0]).as_matrix()),
      TESSERA_CALL("as_mrp", of(a[0]).as_mrp()),
      TESSERA_CALL("apply", of(a[0]).apply(a[1])),
      TESSERA_CALL("apply_inverse", of(a[0]).apply(a[1], {.inverse = true})),
      TESSERA_CALL("product", (of(a[0]) * of(a[1])).as_matrix()),
      TESSERA_CALL("inv", of(a[0]).inv().as_matrix()),
      TESSERA_CALL("magnitude", of(a[0]).magnitude()),
      TESSERA_CALL("mean", of(a[0]).mean(array({1.0, 2.0, 1.0, 0.5})).as_matrix()),
      TESSERA_CALL("slerp", Slerp(arange(4.0), of(a[0]))(a[1]).as_matrix()),
  };
  for (const char* seq : {"xyz", "zyx", "ZXZ", "YZX", "xyx"}) {
    table[std::string("from_euler_") + seq] = [seq](const test::Arrays& a) -> test::Arrays {
      return {Rotation::from_euler(seq, a[0]).as_matrix()};
    };
    table[std::string("as_euler_") + seq] = [seq](const test::Arrays& a) -> test::Arrays {
      return {of(a[0]).as_euler(seq)};
    };
  }
  test::check_calls("calls_spatial", "transform", table);
}

TEST(Rotation, TheThirdAngleIsZeroWhereItIsNotDetermined) {
  const Rotation r = Rotation::from_euler("xyz", array({0.3f, static_cast<float>(M_PI / 2), 0.2f}));
  const std::vector<float> angles = to_vector<float>(r.as_euler("xyz"));
  EXPECT_NEAR(angles[1], M_PI / 2, 1e-3);
  const Array again = Rotation::from_euler("xyz", r.as_euler("xyz")).as_matrix();
  EXPECT_LT(max(abs(again - r.as_matrix())).item<double>(), 1e-3);
}

TEST(Rotation, AnglesInDegrees) {
  const Rotation r = Rotation::from_euler("y", array({90.0f, 30.0f}), {.degrees = true});
  const std::vector<float> v = to_vector<float>(r.as_rotvec({.degrees = true}));
  EXPECT_NEAR(v[1], 90, 1e-4);
  EXPECT_NEAR(v[4], 30, 1e-4);
}

TEST(Rotation, IdentitiesAndRandomOnes) {
  EXPECT_EQ(to_vector<float>(Rotation::identity().as_rotvec()), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(Rotation::identity(3).quat.shape(), (Shape{3, 4}));
  EXPECT_TRUE(Rotation::identity().single());
  const Rotation r = Rotation::random(random::key(0), 10);
  EXPECT_LT(max(abs(sum(square(r.quat), {.axis = -1}) - 1)).item<double>(), 1e-6);
  EXPECT_EQ(Rotation::concatenate({r, Rotation::identity()}).quat.shape(), (Shape{11, 4}));
  EXPECT_EQ(to_vector<float>(Rotation::identity().as_quat({.scalar_first = true})),
            (std::vector<float>{1, 0, 0, 0}));
}

TEST(Rotation, ErrorsSayWhatIsExpected) {
  const Array v = ones(3), q = ones(4), t = arange(3.0f);
  expect_error([&] { of(v); }, "[Rotation::from_quat] expected real numbers of shape (..., 4)");
  expect_error([&] { Rotation::from_matrix(v); }, "[Rotation::from_matrix] expected real matrices");
  expect_error([&] { Rotation::from_rotvec(q); }, "[Rotation::from_rotvec] expected real numbers");
  expect_error([&] { Rotation::from_mrp(q); }, "[Rotation::from_mrp] expected real numbers");
  expect_error([&] { Rotation::from_euler("xw", v); },
               "[Rotation::from_euler] expected up to three");
  expect_error([&] { Rotation::from_euler("xY", v); },
               "[Rotation::from_euler] expected up to three");
  expect_error([&] { Rotation::from_euler("xyz", q); },
               "[Rotation::from_euler] expected real numbers");
  expect_error([&] { of(q).as_euler("xxy"); }, "[Rotation::as_euler] expected three axes");
  expect_error([&] { of(q).apply(q); },
               "[Rotation::apply] expected real numbers of shape (..., 3)");
  expect_error([&] { of(q).mean(v); }, "[Rotation::mean] expected one weight a rotation");
  expect_error([&] { Rotation::identity(-1); }, "[Rotation::identity] expected num >= 0");
  expect_error([&] { Rotation::random(random::key(0), -1); },
               "[Rotation::random] expected num >= 0");
  expect_error([&] { Slerp(t, of(q)); }, "[Slerp] expected a time for each");
  expect_error([&] { Slerp(-t, Rotation::identity(3)); }, "[Slerp] expected ascending times");
}

}  // namespace
}  // namespace tessera::transform_test
