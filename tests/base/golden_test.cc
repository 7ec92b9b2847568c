// The golden data themselves: every topic loads, and every array that it refers to exists.
#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace tessera::golden_test {
namespace {

int count_arrays(const golden::Topic& topic, const golden::Json& node) {
  if (node.is_object() && node.contains("key") && node.contains("dtype")) {
    EXPECT_EQ(topic.array(node).elements(), topic.array(node).shape().elements());
    return 1;
  }
  int count = 0;
  if (node.is_structured())
    for (const golden::Json& child : node) count += count_arrays(topic, child);
  return count;
}

TEST(Golden, EveryReferenceIsStored) {
  int topics = 0, arrays = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_GOLDEN_DIR)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().string());
    const golden::Topic topic(entry.path().stem().string());
    // Topics are made by JAX, except those for which another library is the oracle, and texts of
    // bytecode.
    if (topic.json().contains("programs") && !topic.json().contains("jax")) continue;
    if (topic.json().contains("opacus")) {
      EXPECT_EQ(topic["opacus"], "1.6.0");
    } else {
      // The newer version is for functions that the older one lacks or computes wrongly.
      EXPECT_TRUE(topic["jax"] == "0.10.2" || topic["jax"] == "0.12.0.1") << topic["jax"];
    }
    arrays += count_arrays(topic, topic.json());
    ++topics;
  }
  EXPECT_GE(topics, 8);
  EXPECT_GE(arrays, 2000);
}

TEST(Golden, ValuesAreWhatTheirNamesSay) {
  const golden::Topic topic("printing");
  for (const golden::Json& c : topic["cases"]) {
    if (c["name"] == "vector_int32") {
      const int32_t expected[] = {0, 1, 2, 3};
      EXPECT_EQ(topic.array(c["value"]), Literal::from<int32_t>(expected, {4}));
      return;
    }
  }
  FAIL() << "no vector_int32";
}

}  // namespace
}  // namespace tessera::golden_test
