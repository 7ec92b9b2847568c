#include "tessera/ir/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ir/params_fields.h"

namespace tessera::ir {
namespace {

struct SizedParams {
  int64_t size = 0;
};
struct UnknownParams {
  int64_t size = 0;
};
const bool sized_is_defined = [] {
  define_params<SizedParams>();
  return true;
}();

TEST(Params, TheirOpIsDefinedFirst) {
  try {
    OpParams params = UnknownParams{1};
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the op of these params is not defined"));
  }
}

TEST(Params, FieldsComeBack) {
  const OpParams params = SizedParams{3};
  EXPECT_EQ(params.fields(), std::vector<Attribute>{int64_t{3}});
  const OpParams other = params.with_fields({int64_t{4}});
  EXPECT_EQ(other.as<SizedParams>().size, 4);
  EXPECT_NE(params, other);
  EXPECT_NE(params.hash(), other.hash());
  EXPECT_EQ(other.hash(), OpParams(SizedParams{4}).hash());
  EXPECT_THROW(params.with_fields({std::string("four")}), UserError);
}

}  // namespace
}  // namespace tessera::ir
