// Compares propagation and partition with JAX, for every program of golden/sharding.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tessera/control/control.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/ops/core/op.h"
#include "tessera/sharding/propagate.h"
#include "tessera/spmd/partition.h"
#include "tests/evaluate/evaluate.h"
#include "tests/golden/golden.h"
#include "tests/golden/sharding.h"
#include "tests/sharding/passes.h"
#include "tests/spmd/shards.h"

namespace tessera::partition_golden_test {

using namespace interchange;
using namespace spmd;

namespace {

const golden::Topic& topic() {
  static const golden::Topic& t = *new golden::Topic("sharding");
  return t;
}

// Returns a text of the program: that of the case or, if the program itself names no mesh, that of
// any case.
std::string text_of(const golden::Json& c) {
  if (!c["text"].is_null()) return golden::read_file("stablehlo/" + c["text"].get<std::string>());
  const std::string program = c["program"];
  const golden::Json& ops = topic()["programs"][program]["ops"];
  if (std::find(ops.begin(), ops.end(), "sdy.sharding_constraint") != ops.end()) return {};
  for (const golden::Json& other : topic()["cases"])
    if (other["program"] == program && !other["text"].is_null())
      return golden::read_file("stablehlo/" + other["text"].get<std::string>());
  return {};
}

std::string case_name(const golden::Json& c) {
  return fmt::format("{} mesh {} in {}", c["program"].get<std::string>(), c["mesh"]["shape"].dump(),
                     c["in"].dump());
}

// Programs for which Tessera's sharding differs from JAX's, and why it is not worse.
const std::map<std::string, std::string>& better_placed() {
  static const std::map<std::string, std::string>& why = *new std::map<std::string, std::string>{
      {"add_conflict",
       "JAX replicates the sum of operands that disagree; it keeps the first one's sharding"},
      {"reshape_split", "JAX has no shardings over parts of an axis and replicates"},
      {"reshape_split_vector", "the same"},
      {"reshape_regroup", "the same"},
  };
  return why;
}
// Programs with more collectives that move fewer bytes, or as many.
const std::map<std::string, std::string>& more_collectives() {
  static const std::map<std::string, std::string>& why = *new std::map<std::string, std::string>{
      {"matmul",
       "all_to_all of the small operand and reduce_scatter of the small result instead of "
       "gathering the weights"},
      {"constrain_swapped",
       "8 x 16 from ('x', 'y') to ('y', 'x'): XLA cuts the axis of 4 into halves"},
      {"out_shardings", "the same"},
  };
  return why;
}
golden::Json spec_json(const NamedSharding& sharding, int64_t rank) {
  golden::Json out = golden::Json::array();
  for (int64_t d = 0; d < rank; ++d) {
    golden::Json dim = golden::Json::array();
    for (const AxisRef& axis : sharding.dim_axes(d)) dim.push_back(fmt::format("{}", axis));
    out.push_back(dim);
  }
  return out;
}

// Returns the number of shards of a sharding that JAX infers: its list of axes ends before an axis
// that does not divide the rest of the dimension.
int64_t shards_of(const golden::Json& spec, const Mesh& mesh) {
  int64_t n = 1;
  for (const golden::Json& dim : spec)
    for (const auto& axis : dim) n *= mesh.axis_size(axis.get<std::string>());
  return n;
}

struct Outcome {
  bool same_specs = true;
  int collectives = 0, collectives_of_jax = 0;
};

Outcome run_case(const golden::Json& c, const std::string& text) {
  const ParsedModule module = parse_module(text, c["program"].get<std::string>());
  const Mesh mesh = golden::abstract_mesh(c["mesh"]);
  ShardingRequest request;
  for (const golden::Json& in : c["in"])
    request.inputs.push_back(in.is_null() ? std::nullopt
                                          : std::optional(NamedSharding(mesh, golden::spec(in))));
  request.outputs.resize(module.main.outputs.size());
  if (!c["text"].is_null()) request.outputs = module.output_shardings;
  const Mesh found = program_mesh(module.main, request);
  const Partitioned p =
      partition(propagated_program(remove_dead_ops(module.main), found, request), found);

  Outcome out;
  const golden::Json& program = topic()["programs"][c["program"].get<std::string>()];
  for (size_t r = 0; r < p.outputs.size(); ++r) {
    const int64_t rank = static_cast<int64_t>(program["outputs"][r]["shape"].size());
    const golden::Json got = spec_json(p.outputs[r], rank);
    if (got == c["out"][r]) continue;
    out.same_specs = false;
    int64_t shards = 1;
    for (int64_t d = 0; d < rank; ++d) shards *= p.outputs[r].num_shards(d);
    EXPECT_TRUE(better_placed().contains(c["program"]))
        << "got " << got << ", JAX has " << c["out"][r];
    EXPECT_GT(shards, shards_of(c["out"][r], mesh)) << "got " << got << ", JAX has " << c["out"][r];
  }
  for (const auto& [key, value] : c["collectives"].items())
    out.collectives_of_jax += value.get<int>();
  out.collectives = static_cast<int>(p.collectives.size());

  std::vector<DeviceLiterals> inputs;
  const std::vector<Literal> values = topic().arrays(program["inputs"]);
  for (size_t k = 0; k < values.size(); ++k)
    inputs.push_back(split_into_shards(values[k], p.inputs[k], p.mesh));
  const std::vector<DeviceLiterals> outputs = evaluate_spmd(p.function, inputs, p.mesh);
  const std::vector<Literal> expected = topic().arrays(program["outputs"]);
  for (size_t r = 0; r < outputs.size(); ++r)
    EXPECT_EQ(compare_shards(outputs[r], split_into_shards(expected[r], p.outputs[r], p.mesh),
                             p.outputs[r], expected[r].shape(), 1e-5),
              "")
        << "output " << r;
  return out;
}

TEST(PartitionGolden, AgreesWithJax) {
  int same = 0, run = 0;
  std::set<std::string> programs, differ, more;
  for (const golden::Json& c : topic()["cases"]) {
    const std::string program = c["program"];
    SCOPED_TRACE(case_name(c));
    const std::string text = text_of(c);
    ASSERT_FALSE(text.empty());
    ++run;
    programs.insert(program);
    const Outcome outcome = run_case(c, text);
    same += outcome.same_specs;
    if (!outcome.same_specs) differ.insert(program);
    if (outcome.collectives > outcome.collectives_of_jax) {
      more.insert(program);
      EXPECT_TRUE(more_collectives().contains(program))
          << outcome.collectives << " collectives, JAX has " << outcome.collectives_of_jax;
    }
  }
  EXPECT_GE(programs.size(), 72);
  EXPECT_GE(run, 388);
  EXPECT_GE(same, 378);
  // Every entry of the lists is needed.
  for (const auto& [program, why] : better_placed())
    EXPECT_TRUE(differ.contains(program)) << program;
  for (const auto& [program, why] : more_collectives())
    EXPECT_TRUE(more.contains(program)) << program;
}

}  // namespace
}  // namespace tessera::partition_golden_test
