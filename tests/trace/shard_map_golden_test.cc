// Compares manual computations and collectives with JAX: every program of golden/shard_map.json is
// traced and evaluated on simulated devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "tessera/base/visit_dtype.h"
#include "tessera/control/shard_map_trace.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"
#include "tests/evaluate/evaluate.h"
#include "tests/golden/sharding.h"

namespace tessera::shard_map_golden_test {

using namespace tracing;

namespace {

using namespace array_math;
using Arrays = std::vector<Array>;

std::vector<PartitionSpec> golden_specs(const golden::Json& json) {
  std::vector<PartitionSpec> out;
  for (const golden::Json& spec : json) out.push_back(golden::spec(spec));
  return out;
}

Array like(const Array& scalar, const Array& x) {
  return lax::broadcast_in_dim(lax::convert_element_type(scalar, x.dtype()), x.shape(), {});
}

std::vector<std::pair<int, int>> ring(int n, int step, bool wrap = true) {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < n; ++i)
    if (wrap || i + step < n) pairs.emplace_back(i, (i + step) % n);
  return pairs;
}

const AxisGroups kPairs{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, kHalves{{0, 1, 2, 3}, {4, 5, 6, 7}},
    kParity{{0, 2, 4, 6}, {1, 3, 5, 7}};

using Unary = std::function<Array(const Array&)>;

Arrays nested(const Array& x, const Mesh& mesh) {
  const Array inner = control::shard_map_flat(
      [](const Arrays& v) { return Arrays{lax::psum(v[0], "y")}; },
      {.mesh = mesh,
       .in_specs = {P(None, "y")},
       .out_specs = [](std::span<const Array>) { return std::vector<PartitionSpec>{P()}; },
       .manual_axes = {"y"}},
      Arrays{x})[0];
  return {inner + like(lax::axis_index("x"), inner)};
}

FlatFn body_of(const std::string& name, const Mesh& mesh) {
  static const std::map<std::string, Unary> unary{
      {"local", [](const Array& x) { return x * 2; }},
      {"local_sum", [](const Array& x) { return lax::reshape(lax::reduce_sum(x, {0}), {1}); }},
      {"psum_scalar", [](const Array& x) { return lax::psum(lax::reduce_sum(x, {0}), "x"); }},
      {"psum_array", [](const Array& x) { return lax::psum(x, "x"); }},
      {"psum_int", [](const Array& x) { return lax::psum(x, "x"); }},
      {"psum_one_axis", [](const Array& x) { return lax::psum(x, "x"); }},
      {"psum_other_axis", [](const Array& x) { return lax::psum(x, "y"); }},
      {"psum_two_axes",
       [](const Array& x) {
         return lax::psum(x, {"x", "y"});
       }},
      {"psum_outer_axes",
       [](const Array& x) {
         return lax::psum(x, {"x", "z"});
       }},
      {"psum_replicated", [](const Array& x) { return lax::psum(x, "x"); }},
      {"pmean", [](const Array& x) { return lax::pmean(x, "x"); }},
      {"pmax", [](const Array& x) { return lax::pmax(x, "x"); }},
      {"pmin",
       [](const Array& x) {
         return lax::pmin(x, {"x", "y"});
       }},
      {"psum_groups", [](const Array& x) { return lax::psum(x, "x", kHalves); }},
      {"psum_groups_strided", [](const Array& x) { return lax::psum(x, "x", kParity); }},
      {"all_gather_tiled", [](const Array& x) { return lax::all_gather(x, "x", {.tiled = true}); }},
      {"all_gather_stacked", [](const Array& x) { return lax::all_gather(x, "x"); }},
      {"all_gather_varying",
       [](const Array& x) { return lax::all_gather(x, "x", {.tiled = true}); }},
      {"all_gather_axis1",
       [](const Array& x) { return lax::all_gather(x, "y", {.axis = 1, .tiled = true}); }},
      {"all_gather_axis1_stacked",
       [](const Array& x) { return lax::all_gather(x, "y", {.axis = 1}); }},
      {"all_gather_two_axes",
       [](const Array& x) {
         return lax::all_gather(x, {"x", "y"}, {.tiled = true});
       }},
      {"all_gather_reversed_axes",
       [](const Array& x) {
         return lax::all_gather(x, {"y", "x"}, {.tiled = true});
       }},
      {"all_gather_groups",
       [](const Array& x) { return lax::all_gather(x, "x", {.tiled = true, .groups = kPairs}); }},
      {"psum_scatter_tiled",
       [](const Array& x) { return lax::psum_scatter(x, "x", {.tiled = true}); }},
      {"psum_scatter_stacked", [](const Array& x) { return lax::psum_scatter(x, "x"); }},
      {"psum_scatter_axis1",
       [](const Array& x) {
         return lax::psum_scatter(x, "y", {.scatter_dimension = 1, .tiled = true});
       }},
      {"psum_scatter_two_axes",
       [](const Array& x) {
         return lax::psum_scatter(x, {"x", "y"}, {.tiled = true});
       }},
      {"psum_scatter_outer_axes",
       [](const Array& x) {
         return lax::psum_scatter(x, {"z", "x"}, {.tiled = true});
       }},
      {"all_to_all", [](const Array& x) { return lax::all_to_all(x, "x", 1, 0, {.tiled = true}); }},
      {"all_to_all_same",
       [](const Array& x) { return lax::all_to_all(x, "x", 0, 0, {.tiled = true}); }},
      {"all_to_all_untiled", [](const Array& x) { return lax::all_to_all(x, "x", 0, 1); }},
      {"all_to_all_axis",
       [](const Array& x) { return lax::all_to_all(x, "y", 0, 1, {.tiled = true}); }},
      {"all_to_all_two_axes",
       [](const Array& x) {
         return lax::all_to_all(x, {"x", "y"}, 1, 0, {.tiled = true});
       }},
      {"all_to_all_groups",
       [](const Array& x) {
         return lax::all_to_all(x, "x", 1, 0, {.tiled = true, .groups = kHalves});
       }},
      {"ppermute_ring", [](const Array& x) { return lax::ppermute(x, "x", ring(8, 1)); }},
      {"ppermute_shift", [](const Array& x) { return lax::ppermute(x, "x", ring(8, 1, false)); }},
      {"ppermute_swap",
       [](const Array& x) {
         return lax::ppermute(x, "y", {{0, 1}, {1, 0}, {2, 3}, {3, 2}});
       }},
      {"ppermute_two_axes",
       [](const Array& x) {
         return lax::ppermute(x, {"x", "y"},
                              {{0, 7}, {1, 6}, {2, 5}, {3, 4}, {4, 3}, {5, 2}, {6, 1}, {7, 0}});
       }},
      {"pshuffle",
       [](const Array& x) {
         return lax::pshuffle(x, "x", {7, 6, 5, 4, 3, 2, 1, 0});
       }},
      {"axis_index", [](const Array& x) { return x + like(lax::axis_index("y"), x); }},
      {"axis_index_two_axes",
       [](const Array& x) {
         return x + like(lax::axis_index({"y", "x"}), x);
       }},
      {"axis_size",
       [](const Array& x) {
         return x * lax::axis_size({"x", "y"});
       }},
      {"softmax_over_devices",
       [](const Array& x) {
         const Array e = lax::exp(x - like(lax::pmax(lax::reduce_max(x, {0}), "x"), x));
         return e / like(lax::psum(lax::reduce_sum(e, {0}), "x"), e);
       }},
      {"partial_manual", [](const Array& x) { return lax::psum(lax::sin(x), "x"); }},
      {"ring_matmul",
       [](const Array& x) {
         Array sum = x;
         for (int k = 1; k < 8; ++k) sum = sum + lax::ppermute(x, "x", ring(8, k));
         return sum;
       }},
      // These programs are refused.
      {"claims_replication", [](const Array& x) { return x; }},
      {"claims_replication_of_one", [](const Array& x) { return lax::psum(x, "x"); }},
      {"indivisible", [](const Array& x) { return x; }},
      {"unknown_axis_in_spec", [](const Array& x) { return x; }},
      {"unknown_axis_in_body", [](const Array& x) { return lax::psum(x, "w"); }},
      {"spec_beyond_rank", [](const Array& x) { return x; }},
      {"out_spec_beyond_rank", [](const Array& x) { return lax::reduce_sum(x, {0}); }},
      {"axis_twice", [](const Array& x) { return x; }},
      {"scatter_indivisible",
       [](const Array& x) { return lax::psum_scatter(x, "x", {.tiled = true}); }},
      {"all_to_all_indivisible",
       [](const Array& x) { return lax::all_to_all(x, "x", 1, 0, {.tiled = true}); }},
      {"ppermute_repeated_target",
       [](const Array& x) {
         return lax::ppermute(x, "x", {{0, 1}, {2, 1}});
       }},
      {"ppermute_out_of_range",
       [](const Array& x) {
         return lax::ppermute(x, "x", {{0, 8}});
       }},
  };
  static const std::map<std::string, FlatFn> several{
      {"psum_tuple",
       [](const Arrays& x) {
         return Arrays{lax::psum(x[0], "x"), lax::psum(x[1], "x")};
       }},
      {"layer",
       [](const Arrays& x) {
         return Arrays{lax::logistic(lax::psum(lax::dot(x[0], x[1]), "x") + x[2])};
       }},
      {"matmul_scatter",
       [](const Arrays& x) {
         return Arrays{
             lax::psum_scatter(lax::dot(x[0], x[1]), "y", {.scatter_dimension = 1, .tiled = true})};
       }},
      {"two_outputs",
       [](const Arrays& x) {
         return Arrays{x[0] + x[1], lax::psum(x[0], "x")};
       }},
  };
  if (name == "nested") return [mesh](const Arrays& x) { return nested(x[0], mesh); };
  if (const auto it = several.find(name); it != several.end()) return it->second;
  const auto it = unary.find(name);
  if (it == unary.end()) return nullptr;
  return [f = it->second](const Arrays& x) { return Arrays{f(x[0])}; };
}

Function trace_program(const golden::Json& c, const std::vector<Type>& inputs) {
  const Mesh mesh = golden::abstract_mesh(c.at("mesh"));
  const FlatFn body = body_of(c.at("name"), mesh);
  TESSERA_CHECK(body, "no body for {}", c.at("name").get<std::string>());
  control::FlatShardMapOptions options{.mesh = mesh,
                                       .in_specs = golden_specs(c.at("in_specs")),
                                       .out_specs = [specs = golden_specs(c.at("out_specs"))](
                                                        std::span<const Array>) { return specs; }};
  if (c.contains("axis_names"))
    options.manual_axes = c.at("axis_names").get<std::vector<std::string>>();
  if (c.contains("check_vma")) options.check_vma = c.at("check_vma").get<bool>();
  return trace_function(
             [&](const Arrays& args) { return control::shard_map_flat(body, options, args); },
             inputs)
      .function;
}

double at(const Literal& x, int64_t i) {
  return visit_dtype(x.dtype(), [&]<class T>(TypeTag<T>) -> double {
    if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(x.data<T>()[i]);
    return std::nan("");
  });
}

TEST(ShardMapGolden, Values) {
  const golden::Topic topic("shard_map");
  int count = 0;
  for (const golden::Json& c : topic["programs"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const std::vector<Literal> inputs = topic.arrays(c["inputs"]),
                               want = topic.arrays(c["outputs"]);
    std::vector<Type> types;
    for (const Literal& x : inputs) types.push_back({x.dtype(), x.shape()});
    const Function f = trace_program(c, types);
    const std::vector<Literal> got = evaluate(f, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t r = 0; r < got.size(); ++r) {
      ASSERT_EQ(got[r].dtype(), want[r].dtype());
      ASSERT_EQ(got[r].shape(), want[r].shape());
      const double tolerance = c["tolerance"].get<double>();
      for (int64_t i = 0; i < got[r].elements(); ++i)
        ASSERT_NEAR(at(got[r], i), at(want[r], i), tolerance) << "result " << r << " at " << i;
    }
    ++count;
  }
  EXPECT_GE(count, 50);
}

TEST(ShardMapGolden, Refused) {
  const std::map<std::string, std::string> fragments{
      {"claims_replication", "expected result 0 to be the same on all devices along 'x'"},
      {"claims_replication_of_one", "expected result 0 to be the same on all devices along 'y'"},
      {"indivisible", "expected dimension 0 of shape (30,) to be a multiple of 8"},
      {"unknown_axis_in_spec",
       "expected axes that are manual here, of 'x', in in_specs[0], got 'w'"},
      {"unknown_axis_in_body", "[psum] expected a bound axis, one of 'x', got 'w'"},
      {"spec_beyond_rank", "expected at most 1 entry in in_specs[0]"},
      {"out_spec_beyond_rank", "expected at most 0 entries in out_specs[0]"},
      {"axis_twice", "expected each mesh axis at most once, got 'x' twice"},
      {"scatter_indivisible",
       "expected scattered dimension 0 of float32[9,2]{varying: x} to be a multiple of the 8 "
       "devices"},
      {"all_to_all_indivisible",
       "expected split dimension 1 of float32[1,9]{varying: x} to be a multiple of the 8 devices"},
      {"ppermute_repeated_target", "expected each target at most once, got 1 twice"},
      {"ppermute_out_of_range", "expected ranks in [0, 8), got the pair (0, 8)"}};
  const golden::Topic topic("shard_map");
  for (const golden::Json& c : topic["errors"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    std::vector<Type> types;
    for (const golden::Json& shape : c["inputs"]) {
      Type type{float32, {}};
      for (int64_t d : shape) type.shape.push_back(d);
      types.push_back(type);
    }
    try {
      trace_program(c, types);
      FAIL() << "nothing was thrown";
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(fragments.at(c["name"])));
    }
  }
}

}  // namespace
}  // namespace tessera::shard_map_golden_test
