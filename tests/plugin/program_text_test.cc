#include "plugin/program_text.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tessera::plugin::program_text_test {
namespace {

constexpr size_t kLarge = ProgramText::kLarge;

Literal literal_of(std::string_view bytes) {
  Literal out(uint8, {static_cast<int64_t>(bytes.size())});
  std::memcpy(out.mutable_raw(), bytes.data(), bytes.size());
  return out;
}

// A text of "begin", three constants, of which the second is small, and "end".
struct Program {
  std::string first = std::string(kLarge, 'a'), small = "bc", last = std::string(kLarge + 3, 'd');
  std::string text = "begin" + first + small + last + "end";
  std::string_view part(size_t begin, size_t size) const {
    return std::string_view(text).substr(begin, size);
  }
  HeldBytes first_held() const { return {part(5, kLarge), literal_of(first)}; }
  HeldBytes small_held() const { return {part(5 + kLarge, 2), literal_of(small)}; }
  HeldBytes last_held() const { return {part(7 + kLarge, kLarge + 3), literal_of(last)}; }
};

TEST(ProgramText, KeepsLargeConstantsOnce) {
  const Program program;
  // The parts may be in any order, and some may be listed twice.
  const ProgramText kept(program.text, {program.last_held(), program.small_held(),
                                        program.first_held(), program.last_held()});
  EXPECT_EQ(kept.text(), program.text);
  EXPECT_EQ(kept.own_bytes(), std::strlen("begin") + 2 + std::strlen("end"));
}

TEST(ProgramText, KeepsBytesThatALiteralHasInAnotherForm) {
  const Program program;
  HeldBytes changed = program.first_held(), shorter = program.last_held();
  changed.value.mutable_raw()[7] = std::byte{0};
  shorter.value = literal_of(program.first);
  const ProgramText kept(program.text, {changed, shorter});
  EXPECT_EQ(kept.text(), program.text);
  EXPECT_EQ(kept.own_bytes(), program.text.size());
}

TEST(ProgramText, WithoutConstants) {
  EXPECT_EQ(ProgramText("abc", {}).text(), "abc");
  EXPECT_EQ(ProgramText("", {}).text(), "");
}

}  // namespace
}  // namespace tessera::plugin::program_text_test
