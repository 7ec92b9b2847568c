// The streams of jax.random: golden/make_random.py describes the cases.
#include "tessera/random/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/random/threefry.h"

namespace tessera::random_test {
namespace {

using golden::Json;
using tessera::test::Call;
using tessera::test::expect_error;
using tessera::test::expect_within;
using tessera::test::key_of;
using tessera::test::sample;
using tessera::test::tolerance;
using tessera::test::X64;

class RandomTest : public ::testing::TestWithParam<bool> {};

// Tests every case of a topic, traced and evaluated or eagerly.
void expect_cases(const char* name, bool eagerly) {
  const golden::Topic topic(name);
  for (const Json& c : topic["cases"]) {
    const std::string function = c["function"];
    SCOPED_TRACE(c.dump());
    const X64 x64(c["x64"].get<bool>());
    const Literal expected = topic.array(c["out"]);
    std::vector<Literal> inputs{key_of(c["key"]).data.to_host()};
    std::vector<std::string> names;
    for (const auto& [name, reference] : c["inputs"].items()) {
      names.push_back(name);
      inputs.push_back(topic.array(reference));
    }
    const auto call = [&](const test::Arrays& a) -> test::Arrays {
      std::map<std::string, Array> by_name;
      for (size_t i = 0; i < names.size(); ++i) by_name[names[i]] = a[i + 1];
      return {
          sample(function, {a[0]}, Call{c["params"], by_name, expected.shape(), expected.dtype()})};
    };
    try {
      const Literal got =
          (eagerly ? test::run_eagerly(call, inputs) : test::run_traced(call, inputs))[0];
      expect_within(got, expected, tolerance(function, expected.dtype(), eagerly));
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

TEST_P(RandomTest, Streams) { expect_cases("random", GetParam()); }
TEST_P(RandomTest, Samplers) { expect_cases("samplers", GetParam()); }

// One element and few elements are rounded like many. golden/make_many_keys.py describes the cases.
TEST(RandomStreams, OfManyKeys) {
  const golden::Topic topic("many_keys");
  for (const Json& c : topic["cases"]) {
    SCOPED_TRACE(c.dump());
    const X64 x64(c["x64"].get<bool>());
    const Literal all = topic.array(c["out"]);
    const std::map<std::string, Array> no_inputs;
    const auto shape = c["params"]["shape"].get<std::vector<int64_t>>();
    Literal expected(all.dtype(), Shape(shape));
    const std::byte* row = all.raw();
    for (const Json& key : topic["keys"]) {
      std::copy_n(row, expected.bytes(), expected.mutable_raw());
      row += expected.bytes();
      const Call call{c["params"], no_inputs, expected.shape(), expected.dtype()};
      const std::string function = c["function"];
      const Literal got = sample(function, key_of(key), call).to_host();
      expect_within(got, expected, tolerance(function, expected.dtype(), true));
    }
  }
}

TEST_P(RandomTest, Blocks) {
  const golden::Topic topic("random");
  for (const Json& block : topic["blocks"]) {
    const auto word = [](const Json& v) { return Literal::scalar(v.get<uint32_t>()); };
    const std::vector<Literal> inputs{word(block["key"][0]), word(block["key"][1]),
                                      word(block["counts"][0]), word(block["counts"][1])};
    const auto hash = [](const test::Arrays& a) -> test::Arrays {
      const random::internal::Words out =
          random::internal::threefry2x32({a[0], a[1]}, {a[2], a[3]});
      return {out.high, out.low};
    };
    const std::vector<Literal> got =
        GetParam() ? test::run_eagerly(hash, inputs) : test::run_traced(hash, inputs);
    EXPECT_EQ(got[0].data<uint32_t>()[0], block["out"][0].get<uint32_t>());
    EXPECT_EQ(got[1].data<uint32_t>()[0], block["out"][1].get<uint32_t>());
  }
}

INSTANTIATE_TEST_SUITE_P(Random, RandomTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Eager" : "Traced"; });

TEST(RandomSizes, ThatOverflowAreUserErrors) {
  const int64_t n = int64_t{1} << 40, huge = int64_t{1} << 62;
  const random::Key key = random::key(0);
  const char* text = "at most 2^60";
  expect_error([&] { random::normal(key, {huge}); }, text);
  expect_error([&] { random::uniform(key, {n, n}); }, text);
  expect_error([&] { random::randint(key, {huge}, 0, 3); }, text);
  expect_error([&] { random::bits(key, {n, n}); }, text);
  expect_error([&] { random::gamma(key, 1.0, Shape{huge}); }, text);
  expect_error([&] { random::poisson(key, 1.0, Shape{n, n}); }, text);
  expect_error([&] { random::bernoulli(key, 0.5, Shape{huge}); }, text);
  expect_error([&] { random::truncated_normal(key, -1, 1, Shape{n, n}); }, text);
  expect_error([&] { random::split(key, Shape{huge}); }, text);
  expect_error([&] { random::normal(key, {int64_t{1} << 44}); },
               "expected a program that fits the machine's memory");
}

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
      continue;
    }
    // The next test has the seeds that JAX cuts to 32 bits.
    const int64_t seed = std::stoll(text);
    if (!c["x64"].get<bool>() && (seed < -(int64_t{1} << 31) || seed >= int64_t{1} << 32)) continue;
    EXPECT_EQ(to_vector<uint32_t>(random::key_data(make())),
              c["data"].get<std::vector<uint32_t>>());
  }
}

// Without x64 a seed beyond 32 bits has the key that JAX gives it with x64.
TEST(RandomKeyTest, LongSeedsCountWithoutX64) {
  const golden::Topic topic("random");
  int checked = 0;
  for (const Json& c : topic["seeds"]) {
    if (!c["x64"].get<bool>() || c.contains("error")) continue;
    const int64_t seed = std::stoll(c["seed"].get<std::string>());
    if (seed >= -(int64_t{1} << 31) && seed < int64_t{1} << 32) continue;
    EXPECT_EQ(to_vector<uint32_t>(random::key(seed).data), c["data"].get<std::vector<uint32_t>>())
        << seed;
    ++checked;
  }
  EXPECT_GE(checked, 4);
  EXPECT_EQ(to_vector<uint32_t>(random::key(0x123456700000005).data),
            (std::vector<uint32_t>{0x1234567, 5}));
  EXPECT_EQ(to_vector<uint32_t>(random::key(5).data), (std::vector<uint32_t>{0, 5}));
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

// The numbers do not depend on the sharding: uneven shards, both dimensions, every function of
// bits.
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
}  // namespace tessera::random_test
