// Properties of ops in bytecode, and the versions of VHLO's ops.
#include "tessera/interchange/bytecode/properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"

namespace tessera::interchange::bytecode::properties_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string_view> names(const std::vector<Property>& properties) {
  std::vector<std::string_view> out;
  for (const Property& p : properties) out.push_back(p.name);
  return out;
}

TEST(Properties, FollowTheNumberOfThem) {
  EXPECT_THAT(names(properties_of("func", "call", 1)), ElementsAre("callee"));
  EXPECT_THAT(names(properties_of("func", "call", 2)), ElementsAre("callee", "no_inline"));
  EXPECT_THAT(names(properties_of("func", "call", 3)), IsEmpty());
  EXPECT_THAT(names(properties_of("stablehlo", "add", 0)), IsEmpty());
  EXPECT_THAT(names(properties_of("stablehlo", "no_such_op", 1)), IsEmpty());
  const std::vector<Property> callee = properties_of("func", "call", 2);
  EXPECT_FALSE(callee[0].optional);
  EXPECT_TRUE(callee[1].optional);
}

TEST(Properties, SizesOfSegmentsAreOneNumberOrThree) {
  for (const size_t count : {5U, 7U, 9U})
    EXPECT_EQ(properties_of("chlo", "scan", count).size(), 5U) << count;
  for (const size_t count : {6U, 8U, 10U})
    EXPECT_EQ(properties_of("chlo", "scan", count).size(), 6U) << count;
  EXPECT_THAT(properties_of("chlo", "scan", 11), IsEmpty());
}

TEST(Properties, OfVhloFollowItsVersion) {
  EXPECT_THAT(names(properties_of("vhlo", "gather_v1", 6)),
              ElementsAre("collapsed_slice_dims", "index_vector_dim", "indices_are_sorted",
                          "offset_dims", "slice_sizes", "start_index_map"));
  EXPECT_EQ(properties_of("vhlo", "gather_v2", 8).size(), 8U);
  EXPECT_THAT(properties_of("vhlo", "gather_v2", 6), IsEmpty());
  EXPECT_THAT(properties_of("vhlo", "gather_v3", 8), IsEmpty());
  EXPECT_THAT(properties_of("vhlo", "gather", 6), IsEmpty());
}

TEST(Properties, FindsTheOpOfAVersion) {
  EXPECT_EQ(find_vhlo("add", {1, 17, 0})->name, "add_v1");
  EXPECT_EQ(find_vhlo("add", {0, 9, 0})->name, "add_v1");
  EXPECT_EQ(find_vhlo("gather", {1, 0, 0})->name, "gather_v1");
  EXPECT_EQ(find_vhlo("gather", {1, 1, 0})->name, "gather_v2");
  EXPECT_FALSE(find_vhlo("collective_reduce", {1, 18, 0}));
  EXPECT_TRUE(find_vhlo("collective_reduce", {1, 19, 0}));
  EXPECT_FALSE(find_vhlo("no_such_op", {1, 17, 0}));
  EXPECT_FALSE(find_vhlo("mulhi", {1, 17, 0}));  // it belongs to CHLO
}

TEST(Properties, NamesWithoutVersions) {
  EXPECT_EQ(without_version("add_v1"), "add");
  EXPECT_EQ(without_version("add"), "add");
  EXPECT_EQ(without_version("add_v"), "add_v");
  EXPECT_EQ(without_version("a_v2_v10"), "a_v2");
}

TEST(Properties, VersionsThatVhloDoesNotHave) {
  EXPECT_EQ(parse_version("1.17.0"), (Version{1, 17, 0}));
  for (const char* text : {"1.17", "1.17.0.0", "0.8.0", "1.23.0", "-1.0.0", "x"})
    test::expect_error([&] { parse_version(text); },
                       "expected a version of VHLO from 0.9.0 to 1.22.0");
}

}  // namespace
}  // namespace tessera::interchange::bytecode::properties_test
