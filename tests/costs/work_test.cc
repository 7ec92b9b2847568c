// Compares the work of programs with numbers computed by hand.
#include "work.h"

#include <gtest/gtest.h>

#include "tessera/tessera.h"
#include "tessera/trace/trace.h"

namespace tessera::costs::work_test {

using namespace tracing;

namespace {

using Arrays = std::vector<Array>;

Function function_of(const std::vector<Shape>& shapes, const FlatFn& body) {
  std::vector<Type> types;
  for (const Shape& shape : shapes) types.push_back({.dtype = float32, .shape = shape});
  return trace_function(body, types).function;
}
double work_of(const std::vector<Shape>& shapes, const FlatFn& body) {
  return naive_operations(function_of(shapes, body));
}

TEST(Work, OfAnOpIsWhatItTouchesOrItsArithmetic) {
  EXPECT_EQ(work_of({{100}}, [](const Arrays& x) { return Arrays{sin(x[0])}; }), 200 + 100);
  const double product =
      work_of({{10, 20}, {20, 30}}, [](const Arrays& x) { return Arrays{matmul(x[0], x[1])}; });
  EXPECT_GE(product, 2 * 10 * 20 * 30);
  EXPECT_LE(product, 2 * 10 * 20 * 30 + 10000);
}

TEST(Work, SlicesReadWhatTheyReturn) {
  const auto of = [](int64_t n) {
    return work_of({{n}}, [](const Arrays& x) {
      return Arrays{lax::dynamic_slice(x[0], std::vector<Array>{Array(Literal::scalar(3))}, {4})};
    });
  };
  EXPECT_EQ(of(100), of(100000));
}

Arrays loop(const Arrays& x, bool keeps) {
  return scan(
             [&](const Arrays& c, const Array& i) {
               const Array place = expand_dims(c[1], 0);
               const Array updated = lax::dynamic_update_slice(c[0], place, std::vector<Array>{i});
               return std::pair(Arrays{updated, c[1] + (keeps ? sum(c[0]) : c[1])}, Arrays{});
             },
             x, lax::iota(int32, {10}, 0))
      .first;
}

// An iteration that updates its carry, and one that also reads the carry afterwards.
TEST(Work, UpdatesWriteWhatTheyChange) {
  const auto of = [](int64_t n, bool keeps) {
    return work_of({{n}, {}}, [&](const Arrays& x) { return loop(x, keeps); });
  };
  // The array is copied into the loop once, and the result is read.
  EXPECT_NEAR(of(2000, false) - of(1000, false), 3 * 1000, 1);
  // Ten iterations each make the sum and the copy.
  EXPECT_GT(of(2000, true) - of(1000, true), 20 * 1000);
  // An argument may not be changed in place.
  const auto argument = [](int64_t n) {
    return work_of({{n}, {1}}, [](const Arrays& x) {
      return Arrays{
          lax::dynamic_update_slice(x[0], x[1], std::vector<Array>{Array(Literal::scalar(3))})};
    });
  };
  EXPECT_GE(argument(2000) - argument(1000), 2 * 1000);
}

TEST(Work, LoopsCountTheirTripsAndBranchesTheirLargestWay) {
  const auto of = [](int64_t trips) {
    return work_of({{100}}, [&](const Arrays& x) {
      return Arrays{fori_loop(
          0, trips, [](const Array&, const Array& c) { return sin(c); }, x[0])};
    });
  };
  EXPECT_NEAR((of(40) - of(20)) / (of(20) - of(10)), 2, 1e-9);
  const double both = work_of({{100}, {}}, [](const Arrays& x) {
    return Arrays{cond(
        x[1] > 0, [](const Array& v) { return sin(cos(sin(v))); },
        [](const Array& v) { return sin(v); }, x[0])};
  });
  EXPECT_GE(both, 3 * 200);
  EXPECT_LT(both, 4 * 200 + 110);
}

TEST(Work, TextCountsRegions) {
  const auto of = [](int ops) {
    return text_size(function_of({{4}}, [&](const Arrays& x) {
      return Arrays{fori_loop(
          0, 3,
          [&](const Array&, Array c) {
            for (int k = 0; k < ops; ++k) c = sin(c);
            return c;
          },
          x[0])};
    }));
  };
  EXPECT_EQ(of(30) - of(20), 2 * 10);
}

}  // namespace
}  // namespace tessera::costs::work_test
