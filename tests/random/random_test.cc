// jax.random's streams: golden/make_random.py says what each case is.
#include "tessera/random/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "../golden/golden.h"
#include "../numpy/run.h"
#include "tessera/compile/jit.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/random/threefry.h"

namespace tessera {
namespace {

using golden::Json;
using tessera::testing::X64;
using ::testing::HasSubstr;

random::Key key_of(const Json& words) {
  return random::wrap_key_data(Array(Literal::from<uint32_t>(
      std::vector<uint32_t>{words[0].get<uint32_t>(), words[1].get<uint32_t>()}, {2})));
}

// A case's parameters.
struct Call {
  const Json& params;
  const std::map<std::string, Array>& inputs;
  Shape out_shape;
  DType out_dtype;

  bool has(const char* name) const { return params.contains(name) || inputs.count(name); }
  Array number(const char* name, Array otherwise = {}) const {
    if (const auto in = inputs.find(name); in != inputs.end()) return in->second;
    if (!params.contains(name)) return otherwise;
    const Json& v = params[name];
    if (v.is_string()) return v == "inf" ? INFINITY : -INFINITY;
    if (v.is_number_integer()) return v.get<int64_t>();
    return v.get<double>();
  }
  OptionalDType dtype() const {
    if (!params.contains("dtype")) return {};
    return dtype_from_name(params["dtype"].get<std::string>());
  }
  std::optional<Shape> shape() const {
    if (!params.contains("shape")) return {};
    Shape out;
    for (int64_t d : params["shape"]) out.push_back(d);
    return out;
  }
  int64_t integer(const char* name, int64_t otherwise) const {
    return params.contains(name) ? params[name].get<int64_t>() : otherwise;
  }
};

Array sample(const std::string& f, const random::Key& key, const Call& c) {
  const Shape shape = c.shape().value_or(Shape{});
  if (f == "split") {
    Shape num = c.out_shape;
    num.pop_back();
    return random::key_data(random::split(key, num));
  }
  if (f == "fold_in")
    return random::key_data(random::fold_in(key, c.params["data"].get<int64_t>()));
  if (f == "bits") return random::bits(key, shape, c.dtype());
  if (f == "uniform")
    return random::uniform(key, shape, c.dtype(), c.number("minval", 0.0), c.number("maxval", 1.0));
  if (f == "normal") return random::normal(key, shape, c.dtype());
  if (f == "truncated_normal")
    return random::truncated_normal(key, c.number("lower"), c.number("upper"), c.shape(),
                                    c.dtype());
  if (f == "bernoulli") return random::bernoulli(key, c.number("p", 0.5), c.shape());
  if (f == "randint")
    return random::randint(key, shape, c.number("minval"), c.number("maxval"), c.dtype());
  if (f == "gumbel") return random::gumbel(key, shape, c.dtype());
  if (f == "exponential") return random::exponential(key, shape, c.dtype());
  if (f == "laplace") return random::laplace(key, shape, c.dtype());
  if (f == "logistic") return random::logistic(key, shape, c.dtype());
  if (f == "cauchy") return random::cauchy(key, shape, c.dtype());
  if (f == "rademacher") return random::rademacher(key, shape, c.dtype());
  if (f == "categorical")
    return random::categorical(key, c.number("logits"),
                               {.axis = c.integer("axis", -1), .shape = c.shape()});
  if (f == "permutation") {
    if (!c.inputs.count("x")) return random::permutation(key, c.params["x"].get<int64_t>());
    const bool independent =
        c.params.contains("independent") && c.params["independent"].get<bool>();
    return random::permutation(key, c.number("x"),
                               {.axis = c.integer("axis", 0), .independent = independent});
  }
  ADD_FAILURE() << "no function " << f;
  return {};
}

// Numbers of representable values between a and b.
template <class T>
int64_t ulps(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 8, int64_t,
                                  std::conditional_t<sizeof(T) == 4, int32_t, int16_t>>;
  const auto place = [](T x) {
    Bits bits;
    std::memcpy(&bits, &x, sizeof x);
    return bits < 0 ? std::numeric_limits<Bits>::min() - static_cast<int64_t>(bits)
                    : static_cast<int64_t>(bits);
  };
  return std::abs(place(a) - place(b));
}

// How far a sample may be from JAX's: in ulp, and for logarithms of numbers near 1 in units of the
// dtype's epsilon. Nothing where it is made of bits alone.
struct Tolerance {
  int64_t ulps = 0;
  double epsilons = 0;
};

Tolerance tolerance(const std::string& function, DType dtype, bool compiled) {
  static const std::map<std::string, Tolerance> all = {
      {"normal", {3, 0}},      {"truncated_normal", {16, 4}}, {"gumbel", {8, 4}},
      {"exponential", {4, 4}}, {"laplace", {4, 4}},           {"logistic", {16, 4}},
      {"cauchy", {16, 4}}};
  const auto at = all.find(function);
  if (at == all.end()) return {};
  // XLA's erf_inv and log1p are not exact: the naive evaluator's libm is, and so are the kernels in
  // float64.
  if (dtype == float64 || dtype == complex128) return {64, 32};
  if (!compiled) return {16, 8};
  return at->second;
}

template <class T>
bool within(T got, T expected, Tolerance t) {
  const double epsilon = sizeof(T) == 8               ? 0x1p-52
                         : std::is_same_v<T, float>   ? 0x1p-23
                         : std::is_same_v<T, Float16> ? 0x1p-10
                                                      : 0x1p-7;
  return ulps(got, expected) <= t.ulps ||
         std::abs(testing::as_double(got) - testing::as_double(expected)) <= t.epsilons * epsilon;
}

void expect_within(const Literal& got, const Literal& expected, Tolerance t) {
  ASSERT_EQ(got.dtype(), expected.dtype());
  ASSERT_EQ(got.shape(), expected.shape());
  visit_dtype(got.dtype(), [&]<class T>(TypeTag<T>) {
    const T *g = got.data<T>(), *e = expected.data<T>();
    for (int64_t i = 0; i < got.elements(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        ASSERT_EQ(+g[i], +e[i]) << "element " << i;
      } else if constexpr (requires { g[i].real(); }) {
        ASSERT_TRUE(within(g[i].real(), e[i].real(), t) && within(g[i].imag(), e[i].imag(), t))
            << "element " << i;
      } else {
        ASSERT_TRUE(within(g[i], e[i], t))
            << "element " << i << ": " << testing::as_double(g[i]) << ", expected "
            << testing::as_double(e[i]) << ", " << ulps(g[i], e[i]) << " ulp away";
      }
    }
  });
}

class RandomTest : public ::testing::TestWithParam<bool> {};

TEST_P(RandomTest, Streams) {
  const golden::Topic topic("random");
  size_t skipped = 0;
  for (const Json& c : topic["cases"]) {
    const std::string function = c["function"];
    if (function == "choice") {  // needs gather
      ++skipped;
      continue;
    }
    SCOPED_TRACE(c.dump());
    const X64 x64(c["x64"].get<bool>());
    const Literal expected = topic.array(c["out"]);
    std::vector<Literal> inputs{key_of(c["key"]).data.to_host()};
    std::vector<std::string> names;
    for (const auto& [name, reference] : c["inputs"].items()) {
      names.push_back(name);
      inputs.push_back(topic.array(reference));
    }
    const auto call = [&](const testing::Arrays& a) -> testing::Arrays {
      std::map<std::string, Array> by_name;
      for (size_t i = 0; i < names.size(); ++i) by_name[names[i]] = a[i + 1];
      return {
          sample(function, {a[0]}, Call{c["params"], by_name, expected.shape(), expected.dtype()})};
    };
    try {
      const Literal got =
          (GetParam() ? testing::run_eagerly(call, inputs) : testing::run_traced(call, inputs))[0];
      expect_within(got, expected, tolerance(function, expected.dtype(), GetParam()));
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_EQ(skipped, 4u);
}

TEST_P(RandomTest, Blocks) {
  const golden::Topic topic("random");
  for (const Json& block : topic["blocks"]) {
    const auto word = [](const Json& v) { return Literal::scalar(v.get<uint32_t>()); };
    const std::vector<Literal> inputs{word(block["key"][0]), word(block["key"][1]),
                                      word(block["counts"][0]), word(block["counts"][1])};
    const auto hash = [](const testing::Arrays& a) -> testing::Arrays {
      const random::internal::Words out =
          random::internal::threefry2x32({a[0], a[1]}, {a[2], a[3]});
      return {out.high, out.low};
    };
    const std::vector<Literal> got =
        GetParam() ? testing::run_eagerly(hash, inputs) : testing::run_traced(hash, inputs);
    EXPECT_EQ(got[0].data<uint32_t>()[0], block["out"][0].get<uint32_t>());
    EXPECT_EQ(got[1].data<uint32_t>()[0], block["out"][1].get<uint32_t>());
  }
}

INSTANTIATE_TEST_SUITE_P(Random, RandomTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Eager" : "Traced"; });

TEST(RandomKeyTest, Seeds) {
  const golden::Topic topic("random");
  for (const Json& c : topic["seeds"]) {
    SCOPED_TRACE(c.dump());
    const X64 x64(c["x64"].get<bool>());
    const std::string text = c["seed"];
    const auto make = [&] {
      return text[0] == '-' ? random::key(std::stoll(text)) : random::key(std::stoull(text));
    };
    if (c.contains("error")) {
      EXPECT_THROW(make(), UserError);
    } else {
      EXPECT_EQ(to_vector<uint32_t>(random::key_data(make())),
                c["data"].get<std::vector<uint32_t>>());
    }
  }
}

TEST(RandomKeyTest, SeedsOfArrays) {
  EXPECT_EQ(to_vector<uint32_t>(random::key(array(7)).data), (std::vector<uint32_t>{0, 7}));
  EXPECT_EQ(to_vector<uint32_t>(random::key(array(-1)).data),
            (std::vector<uint32_t>{0, 0xffffffff}));
  EXPECT_THROW(random::key(array(1.5)), UserError);
  EXPECT_THROW(random::key(array({1, 2})), UserError);
}

TEST(RandomKeyTest, PrintsAsJax) {
  std::ostringstream out;
  out << random::key(0) << "\n" << random::split(random::key(0), 2);
  EXPECT_EQ(out.str(),
            "Array((), dtype=key<fry>) overlaying:\n[0 0]\n"
            "Array((2,), dtype=key<fry>) overlaying:\n[[1797259609 2579123966]\n [ 928981903 "
            "3453687069]]");
}

TEST(RandomKeyTest, SplitAsBindings) {
  const random::Key key = random::key(0);
  const auto [a, b] = random::split<2>(key);
  EXPECT_EQ(to_vector<uint32_t>(a.data), (std::vector<uint32_t>{1797259609u, 2579123966u}));
  EXPECT_EQ(to_vector<uint32_t>(b.data), (std::vector<uint32_t>{928981903u, 3453687069u}));
  EXPECT_EQ(random::split(key, {2, 3}).shape(), Shape({2, 3}));
  EXPECT_EQ(random::split(key, {2, 3})[1].shape(), Shape({3}));
}

TEST(RandomTest, LongStreams) {
  const golden::Topic topic("random");
  for (const Json& c : topic["long"]) {
    SCOPED_TRACE(c.dump());
    const int64_t count = c["count"];
    const DType dtype = dtype_from_name(c["params"]["dtype"].get<std::string>());
    const Array x = c["function"] == "bits" ? random::bits(key_of(c["key"]), {count}, dtype)
                                            : random::uniform(key_of(c["key"]), {count}, dtype);
    const Literal values = x.to_host();
    uint64_t sum = 0;
    const auto word = [&](int64_t i) -> uint64_t {
      uint32_t out = 0;
      std::memcpy(&out, values.raw() + i * itemsize(dtype), static_cast<size_t>(itemsize(dtype)));
      return out;
    };
    for (int64_t i = 0; i < count; ++i) sum += word(i);
    EXPECT_EQ(std::to_string(sum), c["sum"].get<std::string>());
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(word(count - 4 + i), c["last"][static_cast<size_t>(i)].get<uint64_t>());
  }
}

// The same numbers however they are cut: uneven shards, both dimensions, every function of bits.
TEST(RandomTest, ShardedStreamsAreTheSame) {
  initialize({.devices = "cpu:8"});
  const Mesh mesh(create_device_mesh({2, 4}), {"x", "y"});
  const random::Key key = random::key(42);
  for (const Shape& shape : {Shape{16, 32}, Shape{10, 7}}) {
    for (const PartitionSpec& spec : {P("x", "y"), P("y", None), P(None, joint("x", "y"))}) {
      const auto draw = [&](const random::Key& k) {
        const auto [a, b, c] = random::split<3>(k);
        return std::vector<Array>{random::bits(a, shape), random::uniform(b, shape),
                                  random::randint(c, shape, 0, 1000), random::normal(k, shape)};
      };
      const auto sharded = jit([&](const random::Key& k) {
        return with_sharding_constraint(draw(k), NamedSharding(mesh, spec));
      });
      const std::vector<Array> whole = draw(key), cut = sharded(key);
      for (size_t i = 0; i < whole.size(); ++i) {
        EXPECT_EQ(cut[i].sharding(), Sharding(NamedSharding(mesh, spec)));
        EXPECT_EQ(cut[i].to_host(), whole[i].to_host()) << i << " of " << shape << " as " << spec;
      }
    }
  }
  initialize({.devices = "cpu:1"});
}

void expect_error(const std::function<void()>& f, const char* text) {
  try {
    f();
    ADD_FAILURE() << "no error; expected: " << text;
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), HasSubstr(text));
  }
}

TEST(RandomErrorTest, EachIsAUserError) {
  const random::Key key = random::key(0), keys = random::split(key, 3);
  expect_error([&] { random::normal(keys, {2}); },
               "[random::normal] expected a single key, got an array of keys of shape (3,)");
  expect_error([&] { random::split(keys, 2); }, "[random::split] expected a single key");
  expect_error([&] { random::fold_in(key, -1); },
               "[random::fold_in] expected a number in [0, 2^32)");
  expect_error([&] { random::fold_in(key, uint64_t{1} << 32); },
               "[random::fold_in] expected a number in [0, 2^32)");
  expect_error([&] { random::fold_in(key, array(1.5)); },
               "[random::fold_in] expected an integer scalar");
  expect_error(
      [&] {
        random::wrap_key_data(array({1, 2}));
      },
      "[random::wrap_key_data] expected uint32 words");
  expect_error([&] { key[0]; }, "[key] expected an array of keys");
  expect_error([&] { keys[3]; }, "expected an index in [-3, 3)");
  expect_error([&] { random::bits(key, {2}, float32); },
               "[random::bits] expected an unsigned integer dtype, got float32");
  expect_error([&] { random::uniform(key, {2}, int32); },
               "[random::uniform] expected a floating-point dtype, got int32");
  expect_error([&] { random::uniform(key, {-2}); },
               "[random::uniform] expected extents of at least 0");
  expect_error(
      [&] {
        random::uniform(key, {2}, {}, array({1., 2., 3.}));
      },
      "[random::uniform] expected a shape that broadcasts");
  expect_error([&] { random::normal(key, {2}, bool_); },
               "[random::normal] expected a floating-point or complex dtype, got bool");
  expect_error([&] { random::randint(key, {2}, 0.5, 3); },
               "[random::randint] expected integer bounds");
  expect_error([&] { random::randint(key, {2}, 0, 3, float32); },
               "[random::randint] expected an integer dtype");
  expect_error([&] { random::bernoulli(key, 1); },
               "[random::bernoulli] expected a floating-point probability");
  expect_error(
      [&] {
        random::categorical(key, array({1, 2}));
      },
      "[random::categorical] expected floating-point logits");
  expect_error(
      [&] {
        random::categorical(key, zeros({2, 3}), {.shape = Shape{3}});
      },
      "[random::categorical] expected a shape that ends in the logits' (2,) (without axis 1), got "
      "(3,)");
  expect_error([&] { random::permutation(key, array(1.0)); },
               "[random::permutation] expected at least 1 dimension");
}

}  // namespace
}  // namespace tessera
