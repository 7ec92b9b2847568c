#include "tessera/base/fields.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>

#include "tessera/base/field_name.h"

namespace tessera::fields_test {
namespace {

using internal::fields_counted;
using internal::tie_fields;

// The struct is large, so that trying every number of fields up to its size in bits would exhaust
// the compiler.
struct Module {
  explicit Module(int seed) : seed(seed) {}
  std::array<char, 1 << 16> weights = {};
  int seed;
};
struct First {
  Module module;
  int step;
  std::string name;
};
struct Last {
  int step;
  std::string name;
  Module module;
};
struct Alone {
  Module module;
};
struct Defaults {
  std::array<char, 1 << 16> weights;
  int step;
};
struct Sixteen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o;
  Module module;
};
struct Seventeen {
  struct Small {
    explicit Small(int) {}
  };
  Small small;
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
struct MoveOnly {
  struct Part {
    explicit Part(int value) : value(std::make_unique<int>(value)) {}
    std::unique_ptr<int> value;
  };
  Part part;
  int step;
};

template <class T>
constexpr size_t count_of = std::tuple_size_v<decltype(tie_fields(std::declval<T&>()))>;

TEST(Fields, OfStructsWithoutADefaultAreCounted) {
  static_assert(fields_counted<First>() == 3);
  static_assert(fields_counted<Last>() == 3);
  static_assert(fields_counted<Alone>() == 1);
  static_assert(fields_counted<Sixteen>() == 16);
}

TEST(Fields, OfOthersAreFoundByPfr) {
  static_assert(fields_counted<Defaults>() == 0 && count_of<Defaults> == 2);
  static_assert(fields_counted<Seventeen>() == 0 && count_of<Seventeen> == 17);
  static_assert(fields_counted<MoveOnly>() == 0 && count_of<MoveOnly> == 2);
}

TEST(Fields, AreReferences) {
  const auto first = std::make_unique<First>(First{Module(7), 3, "first"});
  auto [module, step, name] = tie_fields(*first);
  static_assert(std::is_same_v<decltype(step), int&>);
  EXPECT_EQ(module.seed, 7);
  EXPECT_EQ(&name, &first->name);
  step = 5;
  EXPECT_EQ(first->step, 5);
  const First& fixed = *first;
  static_assert(std::is_same_v<decltype(std::get<1>(tie_fields(fixed))), const int&>);
  EXPECT_EQ(std::get<1>(tie_fields(fixed)), 5);
}

TEST(Fields, KeepTheirOrderUpToTheLastCount) {
  auto all = std::make_unique<Sixteen>(
      Sixteen{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, Module(16)});
  std::apply(
      [](const auto&... field) {
        int expected = 0;
        const auto check = [&](const auto& x) {
          ++expected;
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, int>) {
            EXPECT_EQ(x, expected);
          }
        };
        (check(field), ...);
        EXPECT_EQ(expected, 16);
      },
      tie_fields(*all));
}

TEST(Fields, HaveNames) {
  EXPECT_EQ((field_name<First, 0>()), "module");
  EXPECT_EQ((field_name<Last, 1>()), "name");
  EXPECT_EQ((field_name<Defaults, 1>()), "step");
}

}  // namespace
}  // namespace tessera::fields_test
