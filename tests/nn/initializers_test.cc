// Compares numbers with jax.nn.initializers (golden/make_modules.py).
#include "tessera/nn/initializers.h"

#include <map>

#include "../golden/golden.h"
#include "../numpy/run.h"
#include "tessera/base/error.h"
#include "tessera/numpy/creation.h"

namespace tessera::initializers_test {
namespace {

using tessera::test::expect_close;
using ::testing::HasSubstr;
using namespace initializers;

Initializer by_name(const std::string& name) {
  const std::map<std::string, Initializer> all{
      {"zeros", initializers::zeros()},
      {"ones", initializers::ones()},
      {"constant", constant(0.3)},
      {"normal", normal()},
      {"uniform", uniform()},
      {"truncated_normal", truncated_normal(0.5, -1, 1.5)},
      {"lecun_normal", lecun_normal()},
      {"lecun_uniform", lecun_uniform()},
      {"glorot_normal", glorot_normal()},
      {"glorot_uniform", glorot_uniform()},
      {"he_normal", he_normal()},
      {"he_uniform", he_uniform()},
      {"embed", embed_normal()},
      {"fan_out", variance_scaling(2, Fan::kOut, Distribution::kNormal)},
      {"orthogonal", orthogonal()},
      {"orthogonal_scaled", orthogonal(2.5, 0)},
      {"delta_orthogonal", delta_orthogonal()},
      {"fan_geo_avg",
       variance_scaling(2, Fan::kGeometric, Distribution::kUniform, {.batch = {0}})}};
  return all.at(name);
}

TEST(Initializers, AreJaxs) {
  const golden::Topic topic("modules");
  int n = 0;
  for (const golden::Json& c : topic["initializers"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    const Shape shape = golden::dims(c["shape"]);
    const DType dtype = dtype_from_name(c["dtype"].get<std::string>());
    const tessera::test::X64 x64(dtype == float64);
    const Array got = by_name(name)(random::key(c["seed"].get<int>()), shape, dtype);
    // The tolerance is 4 units in the last place: 3 for the normal numbers, 1 for the product.
    // Uniform numbers are equal.
    const bool exact = name.find("uniform") != std::string::npos || name == "constant";
    // Half-precision normals are compared on the scale of their distribution, as in random_test.cc.
    if (name.find("orthogonal") != std::string::npos) {
      const double tolerance = dtype == float64 ? 1e-12 : 1e-5;
      expect_close(got.to_host(), topic.array(c["out"]), tolerance, tolerance);
    } else if (dtype == bfloat16) {
      expect_close(got.to_host(), topic.array(c["out"]), exact ? 0 : 0x1p-7, exact ? 0 : 4e-3);
    } else {
      expect_close(got.to_host(), topic.array(c["out"]), exact ? 0 : 4 * 0x1p-23, 0);
    }
    ++n;
  }
  EXPECT_EQ(n, 68);
}

TEST(Initializers, TheDTypeIsTheDefaultOfFloats) {
  const random::Key key = random::key(0);
  const Array x = he_normal()(key, {3, 4});
  EXPECT_EQ(x.dtype(), float32);
  EXPECT_EQ(x.to_host(), he_normal()(key, {3, 4}, float32).to_host());
  const tessera::test::X64 x64(true);
  EXPECT_EQ(he_normal()(key, {3, 4}).dtype(), float64);
}

TEST(Initializers, RefuseWhatTheyCannotScale) {
  const auto error = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  const random::Key key = random::key(0);
  EXPECT_THAT(error([&] { he_normal()(key, {3}, float32); }), HasSubstr("at least 2 dimensions"));
  EXPECT_THAT(error([&] { he_normal()(key, {3, 2}, complex64); }), HasSubstr("complex64"));
  EXPECT_THAT(error([&] { normal()(key, {3, 2}, int32); }), HasSubstr("int32"));
  EXPECT_THAT(error([&] { orthogonal()(key, {3}, float32); }), HasSubstr("at least 2 dimensions"));
  EXPECT_THAT(error([&] {
                orthogonal()(key, {3, 2}, bfloat16);
              }),
              HasSubstr("expected a float32 or float64 matrix"));
  EXPECT_THAT(error([&] { orthogonal(1, 2)(key, {3, 2}, float32); }), HasSubstr("[-2, 2)"));
  EXPECT_THAT(error([&] {
                delta_orthogonal()(key, {3, 2}, float32);
              }),
              HasSubstr("a kernel of 3 to 5 dimensions"));
  EXPECT_THAT(error([&] {
                delta_orthogonal()(key, {3, 3, 2}, float32);
              }),
              HasSubstr("no more inputs than outputs"));
  EXPECT_EQ(he_normal()(key, {0, 2}, float32).shape(), (Shape{0, 2}));
}

}  // namespace
}  // namespace tessera::initializers_test
