#include "tessera/base/field_name.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::field_name_test {
namespace {

// Like Array, this is not a literal type.
class Leaf {
 public:
  Leaf() : value_(std::make_shared<int>(1)) {}
  int value() const { return *value_; }

 private:
  std::shared_ptr<int> value_;
};
struct NoDefault {
  explicit NoDefault(int) {}
  Leaf a;
};
struct Layer {
  Leaf kernel, bias;
  bool use_bias;
};
struct Net {
  Layer first;
  std::vector<Layer> rest;
  std::optional<Leaf> maybe;
  NoDefault odd;
  std::map<std::string, Leaf> m;
  int a1b_2;
  Leaf trailing_;
};
template <class T, int N>
struct Pair {
  T w;
  T longer_name_1;
};
struct value {
  Leaf storage, p;
};

TEST(FieldName, OfPlainStructs) {
  EXPECT_EQ((field_name<Layer, 0>()), "kernel");
  EXPECT_EQ((field_name<Layer, 1>()), "bias");
  EXPECT_EQ((field_name<Layer, 2>()), "use_bias");
  static_assert(field_name<Layer, 0>() == "kernel");
}

TEST(FieldName, OfMembersOfAnyType) {
  EXPECT_EQ((field_name<Net, 0>()), "first");
  EXPECT_EQ((field_name<Net, 1>()), "rest");
  EXPECT_EQ((field_name<Net, 2>()), "maybe");
  EXPECT_EQ((field_name<Net, 3>()), "odd");
  EXPECT_EQ((field_name<Net, 4>()), "m");
  EXPECT_EQ((field_name<Net, 5>()), "a1b_2");
  EXPECT_EQ((field_name<Net, 6>()), "trailing_");
}

TEST(FieldName, OfTemplatesLocalTypesAndNamesOfItsOwnParts) {
  struct Local {
    Leaf here, there;
  };
  EXPECT_EQ((field_name<Local, 1>()), "there");
  EXPECT_EQ((field_name<Pair<Local, 3>, 1>()), "longer_name_1");
  EXPECT_EQ((field_name<value, 0>()), "storage");
  EXPECT_EQ((field_name<value, 1>()), "p");
}

class Listing {
 public:
  struct Options {
    int stride = 1;
    Leaf scale;
  };
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.kernel, self.options.scale, self.own_);
  }

  Leaf kernel;
  Options options;

 private:
  std::vector<Leaf> own_;
};
struct ListingPartsOfOneName {
  Listing first, second;
  Leaf bias;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.first.kernel, self.second.kernel, self.bias);
  }
};
struct ListingAtRunTime {
  Leaf kernel;
  template <class Self>
  static auto fields(Self& self) {
    return std::tie(self.kernel);
  }
};

TEST(FieldName, OfListedFields) {
  EXPECT_EQ((listed_field_name<Listing, 0>()), "kernel");
  EXPECT_EQ((listed_field_name<Listing, 1>()), "scale");
  EXPECT_EQ((listed_field_name<Listing, 2>()), "own_");
  EXPECT_EQ((listed_field_name<ListingAtRunTime, 0>()), "");
}

TEST(FieldName, EmptyWhereListedFieldsShareIt) {
  EXPECT_EQ((listed_field_name<ListingPartsOfOneName, 0>()), "");
  EXPECT_EQ((listed_field_name<ListingPartsOfOneName, 1>()), "");
  EXPECT_EQ((listed_field_name<ListingPartsOfOneName, 2>()), "bias");
}

TEST(FieldName, EmptyWhereTheSpellingIsAnother) {
  EXPECT_EQ(internal::last_name(""), "");
  EXPECT_EQ(internal::last_name("f()"), "");
  EXPECT_EQ(internal::last_name("f() [x = {}]"), "");
  EXPECT_EQ(internal::last_name("f() [x = {12}]"), "");
  EXPECT_EQ(internal::last_name("f() [x = {&a.b}]"), "b");
}

}  // namespace
}  // namespace tessera::field_name_test
