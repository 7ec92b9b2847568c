// Fourier transforms along sharded dimensions: tests the communication, and that shards are equal
// to the result of one device.
#include "tessera/sharding/split_lines.h"

#include <gmock/gmock.h>

#include "tessera/ops/fourier/fft.h"
#include "tessera/ops/structural/sort.h"
#include "tests/spmd/programs.h"

namespace tessera::split_lines_test {
namespace {

using lax::FftType;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns the communication of the transform of an array with this sharding. The result has the
// same sharding.
std::string moves(const Input& x, FftType type, const Dims& lengths, const Mesh& mesh = eight()) {
  const auto f = [&](std::span<const Array> v) {
    return std::vector{lax::fft(v[0], type, lengths)};
  };
  return communication(partition_and_check(mesh, {x}, f, {x.spec}));
}
Input complexes(const Shape& shape, PartitionSpec spec) { return {shape, spec, complex64}; }

constexpr const char* kTwo = "all_to_all x; all_to_all x";
constexpr const char* kThree = "all_to_all x; all_to_all x; all_to_all x";

TEST(SplitLines, BatchesMoveNothing) {
  EXPECT_EQ(moves(complexes({16, 12}, P("x")), FftType::kFft, {12}), "");
  EXPECT_EQ(moves(complexes({8, 4, 6}, P("x")), FftType::kIfft, {4, 6}), "");
  EXPECT_EQ(moves({{11, 9}, P("x")}, FftType::kRfft, {9}), "");
  EXPECT_EQ(moves(complexes({11, 5}, P("x")), FftType::kIrfft, {9}), "");
}

TEST(SplitLines, AnotherDimensionTakesTheCut) {
  EXPECT_EQ(moves(complexes({16, 64}, P(None, "x")), FftType::kFft, {64}), kTwo);
  EXPECT_EQ(moves(complexes({16, 24}, P("x")), FftType::kFft, {16, 24}), kTwo);
  EXPECT_EQ(moves(complexes({8, 16, 3}, P(None, "x")), FftType::kIfft, {8, 16, 3}), kTwo);
  EXPECT_EQ(moves(complexes({8, 10}, P(None, "x")), FftType::kFft, {10}), kTwo);
}

TEST(SplitLines, OfUnevenRows) {
  EXPECT_EQ(moves(complexes({50, 64}, P(None, "x")), FftType::kFft, {64}), kTwo);
  EXPECT_EQ(moves(complexes({3, 60}, P(None, "x")), FftType::kFft, {60}), kTwo);
}

TEST(SplitLines, HalvesThatDoNotDivide) {
  EXPECT_EQ(moves({{8, 64}, P(None, "x")}, FftType::kRfft, {64}), kTwo);
  EXPECT_EQ(moves({{16, 30}, P(None, "x")}, FftType::kRfft, {30}), kTwo);
  EXPECT_EQ(moves(complexes({8, 33}, P(None, "x")), FftType::kIrfft, {64}), kTwo);
  EXPECT_EQ(moves(complexes({16, 9}, P(None, "x")), FftType::kIrfft, {17}), kTwo);
  EXPECT_EQ(moves({{16, 30}, P("x")}, FftType::kRfft, {16, 30}), kTwo);
  EXPECT_EQ(moves(complexes({16, 9}, P("x")), FftType::kIrfft, {16, 17}), kTwo);
}

TEST(SplitLines, OverTwoAxes) {
  const Mesh mesh = Mesh::abstract({2, 4}, {"x", "y"});
  EXPECT_EQ(moves(complexes({16, 16}, P("x", "y")), FftType::kFft, {16, 16}, mesh),
            "all_to_all y; all_to_all y; all_to_all x; all_to_all x");
  EXPECT_EQ(moves(complexes({8, 16}, P(None, joint("x", "y"))), FftType::kFft, {16}, mesh),
            "all_to_all x y; all_to_all x y");
}

TEST(SplitLines, ALineAlone) {
  EXPECT_EQ(moves(complexes({64}, P("x")), FftType::kFft, {64}), kThree);
  EXPECT_EQ(moves(complexes({192}, P("x")), FftType::kIfft, {192}), kThree);
  EXPECT_EQ(moves(complexes({3, 128}, P(None, "x")), FftType::kFft, {128}), kThree);
  EXPECT_EQ(moves(complexes({128, 3}, P("x")), FftType::kFft, {128, 3}), kThree);
}

TEST(SplitLines, ARealLineAlone) {
  EXPECT_THAT(moves({{1024}, P("x")}, FftType::kRfft, {1024}),
              AllOf(HasSubstr(kThree), Not(HasSubstr("all_gather"))));
  EXPECT_THAT(moves(complexes({513}, P("x")), FftType::kIrfft, {1024}),
              AllOf(HasSubstr(kThree), Not(HasSubstr("all_gather"))));
}

TEST(SplitLines, ALineThatCannotBeSplitIsGathered) {
  const Input x = complexes({40}, P("x"));
  const auto f = [](std::span<const Array> v) {
    return std::vector{lax::fft(v[0], FftType::kFft, {40})};
  };
  const Partitioned p = partition_and_check(eight(), {x}, f, {x.spec});
  EXPECT_EQ(communication(p), "all_gather x");
  ASSERT_EQ(p.notes.size(), 1u);
  EXPECT_THAT(p.notes[0].text,
              HasSubstr("operand 0 of fft, which needs dimension 0 whole where no "
                        "other can be sharded by 'x' instead, gathers complex64[40]"));
}

TEST(SplitLines, OtherOpsMoveTheirCutsToo) {
  const auto f = [](std::span<const Array> v) { return lax::sort(v, 1); };
  const Partitioned p = partition_and_check(eight(), {{{16, 64}, P(None, "x")}}, f, {P(None, "x")});
  EXPECT_EQ(communication(p), kTwo);
}

}  // namespace
}  // namespace tessera::split_lines_test
