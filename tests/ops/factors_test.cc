// The factors of every op, written like einsums: all that propagation and partition know of an op.
//
// ([i, k], [k, j])->([i, j]) {i=8, j=4, k=16} reduction={k}
//
// shows operands, results, the extent of each factor, and the factors that do not simply pass
// through: `reduction` factors leave partial results that `combiner` (a sum if none is named)
// completes, `need_replication` factors must be whole on every device, `permutation` factors need
// rows of other devices. A dimension that is empty between its commas is independent of the others;
// [ij] is one dimension of two factors, major first.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tessera/ops/core/op.h"
#include "tests/ops/factor_rules.h"

namespace tessera::factors_test {

using namespace ops;

namespace {
using Lines = std::vector<std::string>;

// Returns the distinct texts of an op's samples, in their order.
Lines factors_of(const OpDef& def) {
  Lines out;
  for (const Sample& sample : def.samples()) {
    const std::vector<Type> results = def.infer(sample.operands, sample.params);
    std::string text = to_string(def.factors(sample.operands, results, sample.params));
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
  }
  return out;
}

TEST(Factors, OfEveryOp) {
  std::map<std::string, Lines> expected;
  for (const Rule& rule : rules())
    for (const std::string& op : rule.ops)
      EXPECT_TRUE(expected.emplace(op, rule.factors).second) << op;
  for (const OpDef* def : all_ops()) {
    if (!def->factors || !def->samples) continue;
    const std::string name = fmt::format("{}.{}", def->dialect, def->name);
    EXPECT_EQ(factors_of(*def), expected[name]) << name;
    expected.erase(name);
  }
  for (const auto& [op, lines] : expected) ADD_FAILURE() << "no op " << op;
}

}  // namespace
}  // namespace tessera::factors_test
