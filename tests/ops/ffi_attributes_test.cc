#include "tessera/ops/control/ffi_attributes.h"

#include <gtest/gtest.h>

#include "../errors.h"

namespace tessera::ffi_attributes_test {
namespace {

using test::expect_error;

TEST(FfiAttributes, AreTheSameAfterEncoding) {
  const lax::FfiAttributes attributes{
      {"}", "a text"},
      {"x", 1.5F},
      {"list", std::vector<int32_t>{1, 2}},
      {"inner", lax::FfiAttributes{{"flag", true}, {"empty", std::vector<double>{}}}}};
  const std::vector<std::string> words = ops::encode(attributes);
  EXPECT_EQ(ops::encode(ops::decode(words)), words);
  EXPECT_EQ(words.size(), 3U + 3 + 3 + 3 + 3 + 3);
  expect_error([] { ops::decode({".x", "f32", "00"}); }, "a name, a kind and a value each");
  expect_error([] { ops::decode({".x", "{"}); }, "got 'the end' among them");
}

}  // namespace
}  // namespace tessera::ffi_attributes_test
