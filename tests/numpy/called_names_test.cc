// Errors name the function that the user called, even if another one, which it calls, throws.
#include "../errors.h"
#include "tessera/scipy/special.h"
#include "tessera/tessera.h"

namespace tessera::called_names_test {
namespace {

using test::error_of;

struct WrongCall {
  const char* name;
  std::function<void()> call;
};

TEST(CalledNames, OfFunctionsThatCallOthers) {
  const Array x = ones({2, 3}), y = ones({4, 5}), z = ones({2, 2}, complex64), mask = x > 0;
  const std::vector<WrongCall> calls = {
      {"zeros",
       [] {
         zeros({2, -1});
       }},
      {"ones",
       [] {
         ones({2, -1});
       }},
      {"full",
       [] {
         full({2, -1}, 7);
       }},
      {"power", [&] { power(x, y); }},
      // Second names of functions.
      {"pow", [&] { pow(x, y); }},
      {"true_divide", [&] { true_divide(x, y); }},
      {"mod", [&] { mod(x, y); }},
      {"atan2", [&] { atan2(x, y); }},
      {"amax", [&] { amax(x, {.axis = 5}); }},
      {"concat",
       [&] {
         concat({x, y});
       }},
      {"permute_dims",
       [&] {
         permute_dims(x, {0, 5});
       }},
      {"bitwise_left_shift", [&] { bitwise_left_shift(x, 1); }},
      {"swish", [&] { swish(mask); }},
      {"lax::pow", [&] { lax::pow(x, y); }},
      {"lax::sin", [] { lax::sin(arange(3)); }},
      {"lax::eq", [&] { lax::eq(x, y); }},
      {"lax::neg", [&] { lax::neg(mask); }},
      {"negative", [&] { negative(mask); }},
      {"vstack",
       [&] {
         vstack({x, y});
       }},
      {"append", [&] { append(x, y, 0); }},
      {"trace", [&] { trace(x, {.axis1 = 5}); }},
      {"elu", [&] { elu(x, y); }},
      {"softmax", [&] { softmax(mask); }},
      {"left_shift", [&] { left_shift(x, 1); }},
      {"linalg::eigvalsh", [] { linalg::eigvalsh(ones(3)); }},
      {"random::split",
       [] {
         random::split(random::key(0), {2, -1});
       }},
      {"logspace", [&] { logspace(x, y); }},
      {"lax::conv_general_dilated", [&] { lax::conv_general_dilated(x, z, {}, "SAME"); }},
      {"setdiff1d", [&] { setdiff1d(x, y, -1); }},
      {"jvp of vstack",
       [&] { jit([](const Array& a, const Array& b) {
               return vstack({a, b});
             })(x, y); }},
      {"scipy::special::polygamma", [&] { scipy::special::polygamma(x, y); }},
  };
  for (const WrongCall& wrong : calls) {
    const std::string name = wrong.name;
    const std::string last = name.substr(name.find_last_of(": ") + 1);
    const std::string message = error_of(wrong.call);
    EXPECT_TRUE(message.starts_with("[" + last + "] expected ")) << name << ": " << message;
  }
}

// Operators and members have no name of this kind: the op's is shown.
TEST(CalledNames, OfOperatorsAndMembers) {
  const Array x = ones({2, 3}), y = ones({4, 5});
  EXPECT_THAT(error_of([&] { x + y; }), testing::StartsWith("[add] "));
  EXPECT_THAT(error_of([&] { at(x)[0].set(y); }), testing::StartsWith("[at_set] "));
  EXPECT_THAT(error_of([&] { x.shape(5); }), testing::StartsWith("[shape] "));
}

}  // namespace
}  // namespace tessera::called_names_test
