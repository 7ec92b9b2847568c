// Tests that every row of the table of ops belongs to an existing op.
#include "tessera/interchange/op_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/forks.h"

namespace tessera::interchange::op_table_test {
namespace {

bool has_format(const OpRow& row) {
  const OpFormat& f = row.format;
  return !f.assembly.empty() || f.write || f.read || f.print || f.parse || f.typed_inputs;
}

std::vector<OpRow> all_rows() {
  std::vector<OpRow> out;
  for (const auto& rows : {stablehlo_rows(), other_rows()})
    out.insert(out.end(), rows.begin(), rows.end());
  return out;
}

const OpDef* op_of(const OpRow& row) {
  const size_t dot = row.name.find('.');
  return find_op(row.name.substr(0, dot), row.name.substr(dot + 1));
}

TEST(OpTable, RowsAreSortedByName) {
  for (const auto& rows : {stablehlo_rows(), other_rows()})
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(),
                               [](const OpRow& a, const OpRow& b) { return a.name < b.name; }));
}

TEST(OpTable, FormatsAreOfOpsThatThereAre) {
  for (const OpRow& row : all_rows())
    EXPECT_TRUE(!has_format(row) || row.build || op_of(row)) << row.name;
}

// The other ops of VHLO and StableHLO do not occur in Tessera's programs.
TEST(OpTable, HasEveryOpOfStableHlo) {
  for (const OpDef* def : all_ops()) {
    if (def->dialect != "stablehlo") continue;
    const OpRow& row = row_of("stablehlo", def->name);
    EXPECT_FALSE(row.name.empty()) << def->name;
    EXPECT_EQ(row.vhlo[0].number, 1) << def->name;
    EXPECT_EQ(&vhlo_row_of(def->name), &row) << def->name;
  }
}

TEST(OpTable, PropertiesAreSorted) {
  for (const OpRow& row : all_rows()) {
    for (const VhloRow& vhlo : row.vhlo) {
      std::vector<std::string> words;
      std::istringstream text{std::string(vhlo.attributes)};
      for (std::string word; text >> word;) words.push_back(word);
      EXPECT_TRUE(std::is_sorted(words.begin(), words.end())) << row.name;
    }
  }
}

TEST(OpTable, ReadsAnOpAsWhatItBecomes) {
  EXPECT_EQ(read_as("stablehlo", "sine").def, find_op("stablehlo", "sine"));
  const ReadAs tan = read_as("chlo", "tan");
  EXPECT_TRUE(tan.is_known());
  EXPECT_EQ(tan.def, nullptr);
  EXPECT_FALSE(read_as("stablehlo", "no_such_op").is_known());
  EXPECT_FALSE(read_as("sdy", "mesh").is_known());
  EXPECT_TRUE(read_as("custom_call", "lapack_zgeev_ffi").is_known());
  EXPECT_FALSE(read_as("custom_call", "lapack_ssyev_ffi").is_known());
}

TEST(OpTable, ForksWhileThreadsLookOpsUp) {
  test::expect_work_in_children([](int) { row_of("stablehlo", "abs"); }, 200);
}

}  // namespace
}  // namespace tessera::interchange::op_table_test
