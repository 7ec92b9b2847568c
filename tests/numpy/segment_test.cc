// Folds of segments, lexsort and the functions that skip NaNs, compared with JAX:
// golden/make_segment.py.
#include "tessera/numpy/segment.h"

#include <gmock/gmock.h>

#include "../errors.h"
#include "../golden/golden.h"
#include "run.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/control/control.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/quantile.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/sorting.h"

namespace tessera::segment_test {

using namespace ops;

namespace {

using golden::Json;
using tessera::test::Arrays;
using tessera::test::error_of;
using tessera::test::expect_close;
using tessera::test::run_eagerly;
using tessera::test::run_traced;
using tessera::test::X64;
using ::testing::HasSubstr;

using Function = std::function<Array(const Array&)>;

const golden::Topic& topic() {
  static const golden::Topic& topic = *new golden::Topic("segment");
  return topic;
}

// Compares f(x), evaluated naively, with `want`; compiled too if `compiled`.
void expect_value(const Function& f, const Literal& x, const Json& want, bool compiled) {
  const auto run = [&](const Arrays& a) { return Arrays{f(a[0])}; };
  expect_close(run_traced(run, {x})[0], topic().array(want));
  if (compiled) expect_close(run_eagerly(run, {x})[0], topic().array(want));
}

void expect_gradient(const Function& f, const Literal& x, const Json& want) {
  if (want.is_null()) return;
  const auto loss = [&](const Array& v) {
    const Array out = f(v);
    const Array weights = cos(arange(static_cast<double>(out.size())));
    return sum(out * reshape(astype(weights, out.dtype()), out.shape()));
  };
  const auto run = [&](const Arrays& a) { return Arrays{grad(loss)(a[0])}; };
  expect_close(run_traced(run, {x})[0], topic().array(want));
}

Array segment(const std::string& name, const Array& x, const Array& ids, OrNone<int64_t> n,
              const SegmentOptions& options) {
  const auto f = name == "segment_sum"    ? segment_sum
                 : name == "segment_prod" ? segment_prod
                 : name == "segment_max"  ? segment_max
                                          : segment_min;
  return f(x, ids, n, options);
}

SegmentOptions segment_options(const Json& c) {
  SegmentOptions out{.indices_are_sorted = c.value("indices_are_sorted", false),
                     .unique_indices = c.value("unique_indices", false)};
  if (c.contains("bucket_size")) out.bucket_size = c["bucket_size"].get<int64_t>();
  if (c.contains("mode")) out.mode = IndexMode::kClip;
  return out;
}

TEST(Segments, AreJaxs) {
  const X64 x64(true);
  size_t tested = 0;
  for (const Json& c : topic()["segments"]) {
    SCOPED_TRACE(c.dump());
    const Array ids(topic().array(c["ids"]));
    OrNone<int64_t> n;
    if (!c["num_segments"].is_null()) n = c["num_segments"].get<int64_t>();
    const Function f = [&](const Array& x) {
      return segment(c["name"], x, ids, n, segment_options(c["options"]));
    };
    const Literal x = topic().array(c["x"]);
    expect_value(f, x, c["out"], x.dtype() == float32 || !c["options"].empty());
    expect_gradient(f, x, c["grad"]);
    ++tested;
  }
  EXPECT_GT(tested, 90u);
}

TEST(Segments, UnderVmap) {
  const Array x = reshape(arange(12.0), {2, 6}),
              ids = array({{0, 1, 1, 0, 2, 7}, {2, 2, 0, 1, 1, 1}});
  const auto f = [](const Array& v, const Array& i) { return segment_sum(v, i, 3); };
  EXPECT_EQ(to_vector<float>(vmap(f)(x, ids)), (std::vector<float>{3, 3, 4, 8, 30, 13}));
}

TEST(Segments, Refuse) {
  const Array x = ones({3, 2});
  EXPECT_THAT(error_of([&] {
                segment_sum(x, array({0, 1}));
              }),
              HasSubstr("[segment_sum] expected an array and one segment id for each of its rows, "
                        "got float32[3,2] and int32[2]"));
  EXPECT_THAT(error_of([&] {
                segment_max(Array(1.f), array({0, 1}));
              }),
              HasSubstr("[segment_max]"));
  EXPECT_THAT(error_of([&] { segment_min(x, ones(3)); }),
              HasSubstr("[segment_min] expected integer segment ids, got float32[3]"));
  EXPECT_THAT(error_of([&] {
                segment_sum(x, array({0, 1, 2}), -1);
              }),
              HasSubstr("expected num_segments of 0 or more, got -1"));
  EXPECT_THAT(error_of([&] {
                segment_sum(x, array({0, 1, 2}), 3, {.bucket_size = 0});
              }),
              HasSubstr("expected a bucket_size of 1 or more"));
  EXPECT_THAT(error_of([&] {
                segment_sum(x > 0, array({0, 1, 2}));
              }),
              HasSubstr("[segment_sum] expected numbers, got bool[3,2]"));
  EXPECT_THAT(error_of([&] {
                segment_max(astype(x, complex64), array({0, 1, 2}));
              }),
              HasSubstr("[segment_max] expected real arrays"));
  EXPECT_THAT(error_of([&] {
                segment_sum(zeros({0, 2}), zeros(0, int32));
              }),
              HasSubstr("expected num_segments for an empty array"));
  EXPECT_THAT(error_of([&] {
                jit([&](const Array& ids) { return segment_sum(x, ids); })(array({0, 1, 2}));
              }),
              HasSubstr("[segment_sum] expected num_segments for traced segment ids"));
  EXPECT_THAT(error_of([&] {
                grad([](const Array& v) { return sum(segment_prod(v, array({0, 0, 1}), 2)); })(x);
              }),
              HasSubstr("unique_indices"));
}

TEST(Lexsort, IsJaxs) {
  const X64 x64(true);
  for (const Json& c : topic()["lexsort"]) {
    SCOPED_TRACE(c.dump());
    const int64_t axis = c["axis"];
    const auto run = [&](const Arrays& a) { return Arrays{lexsort(a, axis)}; };
    expect_close(run_traced(run, topic().arrays(c["keys"]))[0], topic().array(c["out"]));
    expect_close(run_eagerly(run, topic().arrays(c["keys"]))[0], topic().array(c["out"]));
  }
  EXPECT_EQ(lexsort({Array(3)}).item<int>(), 0);
}

TEST(Lexsort, Refuses) {
  EXPECT_THAT(error_of([] { lexsort({}); }), HasSubstr("[lexsort] expected at least one key"));
  EXPECT_THAT(error_of([] {
                lexsort({ones(2), ones(3)});
              }),
              HasSubstr("[lexsort] expected keys of one shape, got float32[2] and float32[3]"));
  EXPECT_THAT(error_of([] { lexsort({ones(2)}, 1); }), HasSubstr("[lexsort]"));
}

Axes axes_of(const Json& axis) {
  if (axis.is_null()) return None;
  if (axis.is_number()) return axis.get<int64_t>();
  Dims out;
  for (int64_t d : axis) out.push_back(d);
  return out;
}

QuantileMethod method_of(const Json& method) {
  if (method.is_null() || method == "linear") return QuantileMethod::kLinear;
  if (method == "lower") return QuantileMethod::kLower;
  if (method == "higher") return QuantileMethod::kHigher;
  if (method == "midpoint") return QuantileMethod::kMidpoint;
  return method == "nearest" ? QuantileMethod::kNearest : QuantileMethod::kInvertedCdf;
}

Array skip_nans(const Json& c, const Array& x) {
  const std::string name = c["name"];
  const bool keepdims = c["keepdims"];
  if (name.starts_with("nanarg")) {
    ArgOptions options{.keepdims = keepdims};
    if (!c["axis"].is_null()) options.axis = c["axis"].get<int64_t>();
    return name == "nanargmax" ? nanargmax(x, options) : nanargmin(x, options);
  }
  if (name.starts_with("nancum")) {
    CumulativeOptions options;
    if (!c["axis"].is_null()) options.axis = c["axis"].get<int64_t>();
    return name == "nancumsum" ? nancumsum(x, options) : nancumprod(x, options);
  }
  const Axes axes = axes_of(c["axis"]);
  if (name == "nanmedian") return nanmedian(x, {.axis = axes, .keepdims = keepdims});
  const Array q(topic().array(c["q"]));
  const QuantileOptions options{axes, keepdims, method_of(c["method"])};
  return name == "nanquantile" ? nanquantile(x, q, options) : nanpercentile(x, q, options);
}

TEST(SkippingNan, IsJaxs) {
  const X64 x64(true);
  size_t tested = 0;
  for (const Json& c : topic()["nan"]) {
    SCOPED_TRACE(c.dump());
    const Function f = [&](const Array& x) { return skip_nans(c, x); };
    const Literal x = topic().array(c["x"]);
    expect_value(f, x, c["out"], x.dtype() == float32);
    expect_gradient(f, x, c["grad"]);
    ++tested;
  }
  EXPECT_GT(tested, 70u);
}

}  // namespace
}  // namespace tessera::segment_test
