#include "tessera/eigen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <optional>

#include "tests/errors.h"

namespace tessera::eigen_test {
namespace {

using test::expect_error;
using ::testing::ElementsAre;

TEST(EigenMaps, ShowArraysAndKeepTheirMemory) {
  std::optional<Array> x = from_host(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  const float* data = view<float>(*x).data();
  const eigen::MatrixView<float> m = eigen::matrix<float>(*x);
  x.reset();
  EXPECT_EQ(m.data(), data);
  EXPECT_EQ(m(1, 0), 4);
  const Eigen::VectorXf product = m * Eigen::Vector3f(1, 0, 1);
  EXPECT_THAT(product, ElementsAre(4, 10));
  const eigen::VectorView<float> v = eigen::vector<float>(from_host(std::vector<float>{3, 4}));
  EXPECT_EQ(v.norm(), 5);
  const eigen::MatrixView<float> copy = m;
  EXPECT_EQ(copy.data(), data);
}

TEST(EigenMaps, MatricesBecomeArrays) {
  Eigen::MatrixXf m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  const Array x = eigen::from_eigen(m);
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_THAT(to_vector<float>(x), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(to_vector<float>(eigen::from_eigen(m.transpose() * 2)),
              ElementsAre(2, 8, 4, 10, 6, 12));
  EXPECT_EQ(eigen::from_eigen(Eigen::Vector3f(1, 2, 3)).shape(), Shape{3});
  EXPECT_EQ(eigen::from_eigen(Eigen::MatrixXf(0, 3)).shape(), (Shape{0, 3}));
}

TEST(EigenMaps, MatricesThatMoveAreNotCopied) {
  eigen::RowMajorMatrix<float> m(2, 2);
  m << 1, 2, 3, 4;
  const float* data = m.data();
  const Array x = eigen::adopt(std::move(m));
  EXPECT_EQ(view<float>(x).data(), data);
  eigen::Vector<float> v = Eigen::Vector3f(1, 2, 3);
  const Array y = eigen::adopt(std::move(v));
  EXPECT_THAT(to_vector<float>(y), ElementsAre(1, 2, 3));
}

TEST(EigenMaps, Errors) {
  const Array x = zeros({2, 2}), v = zeros({2});
  expect_error([&] { eigen::matrix<float>(v); },
               "[eigen::matrix] expected an array of two dimensions, got the shape (2,)");
  expect_error([&] { eigen::vector<float>(x); },
               "[eigen::vector] expected an array of one dimension, got the shape (2, 2)");
  expect_error([&] { eigen::matrix<double>(x); }, "[view] expected the C++ type of the elements");
}

}  // namespace
}  // namespace tessera::eigen_test
