// One test for each error that a caller of the numpy layer can cause: its kind, and a text with the
// op, the wrong value and the remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "run.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/pad.h"
#include "tessera/numpy/quantile.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/searching.h"
#include "tessera/numpy/sorting.h"

namespace tessera::errors_test {

using namespace ops;

namespace {

using ::testing::HasSubstr;

struct Mistake {
  const char* name;
  ErrorKind kind;
  std::function<void()> make;
  const char* text;
};

const std::vector<Mistake>& mistakes() {
  static const Array vector = array({1., 2., 3.}), matrix = array({{1., 2., 3.}, {4., 5., 6.}}),
                     ints = array({1, 2, 3}), complex = Array(Literal(complex64, {2})),
                     scalar = 1.0, mask = array({true, false, true});
  constexpr ErrorKind kType = ErrorKind::kType, kShape = ErrorKind::kShape,
                      kValue = ErrorKind::kValue;
  static const IndexDims kScalars{
      .offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
  static const std::vector<Mistake> all = {
      {"add_shapes", kShape,
       [] {
         add(vector, array({1., 2.}));
       },
       "[add] expected shapes that broadcast"},
      {"operator_shapes", kShape,
       [] {
         matrix* array({1., 2.});
       },
       "[multiply] expected shapes that broadcast"},
      {"sub_bool", kType, [] { mask - mask; }, "integer, floating-point or complex array"},
      {"negative_bool", kType, [] { -mask; }, "bool[3]"},
      {"bits_of_floats", kType, [] { vector& vector; }, "float32[3]"},
      {"shift_of_floats", kType, [] { vector << 1; }, "float32[3]"},
      {"floor_divide_complex", kType, [] { floor_divide(complex, 2); },
       "[floor_divide] expected real arrays, got complex64[2]"},
      {"remainder_complex", kType, [] { complex % 2; }, "[remainder] expected real arrays"},
      {"floor_complex", kType, [] { floor(complex); }, "[floor] expected real arrays"},
      {"clip_complex", kType, [] { clip(complex, 0, 1); }, "[clip] expected real arrays"},
      {"hypot_complex", kType, [] { hypot(complex, 1.0); }, "[hypot] expected real arrays"},
      {"round_bool", kType, [] { round(mask); }, "[round] expected a numeric array"},
      {"round_int", kValue, [] { round(ints, -1); }, "[round] expected decimals >= 0"},
      {"integer_power", kValue, [] { power(ints, -1); }, "expected an exponent >= 0"},
      {"isposinf_complex", kType, [] { isposinf(complex); }, "[isposinf] expected real arrays"},
      {"select_count", kValue, [] { select({mask}, {}); },
       "[select] expected as many choices as conditions"},
      {"finfo", kType, [] { finfo(int32); },
       "[finfo] expected a floating-point or complex dtype, got int32"},
      {"iinfo", kType, [] { iinfo(float32); }, "[iinfo] expected an integer dtype, got float32"},
      // reductions
      {"axis", kShape, [] { sum(vector, {.axis = 1}); }, "[sum]"},
      {"axis_twice", kValue,
       [] {
         sum(matrix, {.axis = {0, -2}});
       },
       "[sum] expected different axes, got (0, -2)"},
      {"max_empty", kShape, [] { max(zeros({0})); }, "[max] expected a non-empty reduction"},
      {"max_where", kValue, [] { max(vector, {.where = mask}); },
       "[max] expected `initial` with `where`"},
      {"where_dtype", kType, [] { sum(vector, {.where = ints}); },
       "[sum] expected a bool array for `where`, got int32[3]"},
      {"initial_shape", kShape, [] { sum(vector, {.initial = vector}); },
       "[sum] expected a scalar for `initial`"},
      {"mean_dtype", kType, [] { mean(vector, {.dtype = bool_}); },
       "[mean] expected a dtype of numbers"},
      {"var_dtype", kType, [] { var(complex, {.dtype = float32}); },
       "[var] expected a numeric dtype"},
      {"argmax_empty", kShape,
       [] {
         argmax(zeros({2, 0}), {.axis = 1});
       },
       "[argmax] expected a non-empty axis"},
      {"argmax_complex", kType, [] { argmax(complex); }, "[argmax] expected real arrays"},
      {"average_weights", kShape, [] { average(matrix, {.axis = 0, .weights = vector}); },
       "[average] expected weights"},
      {"logsumexp_where", kType, [] { logsumexp(vector, {.where = ints, .b = vector}); },
       "[logsumexp] expected a bool array for `where`, got int32[3]"},
      // creation
      {"from_host_count", kShape,
       [] {
         from_host(std::vector<float>{1, 2, 3}, {2, 2});
       },
       "4"},
      {"from_host_bool_count", kShape, [] { from_host(std::vector<bool>{true}, {2}); },
       "[from_host] expected 2 values"},
      {"ragged", kShape,
       [] {
         array({{1, 2}, {3}});
       },
       "[array] expected rows of one length, got 2 and 1"},
      {"negative_extent", kShape,
       [] {
         zeros({2, -1});
       },
       "[zeros] expected extents of at least 0, got (2, -1)"},
      {"full_shape", kShape,
       [] {
         full({2, 2}, vector);
       },
       "[full] expected a shape that broadcasts to (2, 2)"},
      {"arange_step", kValue, [] { arange(0, 3, 0); }, "[arange] expected a step other than 0"},
      {"arange_infinite", kValue, [] { arange(0.0, std::numeric_limits<double>::infinity()); },
       "[arange] expected finite bounds"},
      {"linspace_count", kValue, [] { linspace(0, 1, -1); },
       "[linspace] expected at least 0 numbers, got -1"},
      {"meshgrid_matrix", kShape, [] { meshgrid({matrix}); },
       "[meshgrid] expected vectors, got float32[2,3]"},
      // manipulation
      {"reshape_count", kShape,
       [] {
         reshape(matrix, {4, 2});
       },
       "[reshape] expected a shape of 6 elements for float32[2,3], got (4, 2)"},
      {"reshape_unknown", kShape,
       [] {
         reshape(matrix, {4, -1});
       },
       "[reshape] expected a shape of 6 elements"},
      {"reshape_two", kShape,
       [] {
         reshape(matrix, {-1, -1});
       },
       "at most one -1"},
      {"transpose_axes", kValue, [] { transpose(matrix, {0}); },
       "[transpose] expected the 2 axes of float32[2,3], got (0,)"},
      {"moveaxis_count", kValue,
       [] {
         moveaxis(matrix, {0, 1}, 0);
       },
       "[moveaxis] expected as many destinations"},
      {"matrix_transpose", kShape, [] { matrix_transpose(vector); },
       "[matrix_transpose] expected at least 2 dimensions"},
      {"expand_dims_none", kValue, [] { expand_dims(vector, None); },
       "[expand_dims] expected an axis"},
      {"squeeze", kShape, [] { squeeze(matrix, 0); },
       "[squeeze] expected extent 1 in dimension 0, got float32[2,3]"},
      {"broadcast_to", kShape, [] { broadcast_to(vector, {2}); },
       "[broadcast_to] expected a shape that broadcasts to (2,)"},
      {"concatenate_none", kValue, [] { concatenate({}); },
       "[concatenate] expected at least one array"},
      {"concatenate_scalar", kShape,
       [] {
         concatenate({scalar, scalar});
       },
       "stack joins scalars"},
      {"concatenate_shape", kShape,
       [] {
         concatenate({matrix, vector});
       },
       "[concatenate] expected shapes that differ along axis 0 alone"},
      {"stack_shape", kShape,
       [] {
         stack({matrix, vector});
       },
       "[stack] expected arrays of one shape"},
      {"unstack", kShape, [] { unstack(scalar); }, "[unstack] expected at least one dimension"},
      {"split", kShape, [] { split(vector, 2); },
       "[split] expected a number of parts that divides the extent 3"},
      {"array_split", kValue, [] { array_split(vector, 0); },
       "[array_split] expected at least one part"},
      {"tile", kValue, [] { tile(vector, {-1}); }, "[tile] expected repetitions of at least 0"},
      {"repeat", kValue, [] { repeat(vector, -1, 0); }, "[repeat] expected at least 0 repeats"},
      {"repeat_each_negative", kValue,
       [] {
         repeat(vector, {1, -1, 0}, 0);
       },
       "[repeat] expected at least 0 repeats, got -1"},
      {"repeat_each_count", kShape,
       [] {
         repeat(vector, {1, 2}, 0);
       },
       "[repeat] expected one number for each of 3 elements along axis 0, got 2"},
      {"repeat_dtype", kType, [] { repeat(vector, vector, 0, 4); },
       "[repeat] expected an integer scalar or vector of repeats, got float32[3]"},
      {"repeat_total", kValue, [] { repeat(vector, ints, 0, -1); },
       "[repeat] expected a total length of at least 0, got -1"},
      {"repeat_nothing", kShape, [] { repeat(zeros(0), ints, 0, 4); },
       "[repeat] expected elements along axis 0 to repeat"},
      {"roll_dtype", kType, [] { roll(vector, Array(1.5), 0); },
       "[roll] expected an integer scalar as the shift, got float32[]"},
      {"fliplr", kShape, [] { fliplr(vector); }, "[fliplr] expected at least 2 dimensions"},
      {"flipud", kShape, [] { flipud(scalar); }, "[flipud] expected at least 1 dimension"},
      {"roll", kValue,
       [] {
         roll(matrix, {1, 2, 3}, {0, 1});
       },
       "[roll] expected one shift, or one for each axis"},
      {"rot90", kValue, [] { rot90(matrix, 1, {0}); }, "[rot90] expected two axes"},
      {"pad_count", kShape,
       [] {
         pad(matrix, {{1, 1}, {1, 1}, {1, 1}});
       },
       "[pad] expected one pair of widths or one for each"},
      {"pad_negative", kValue, [] { pad(vector, -1); }, "[pad] expected widths of at least 0"},
      {"pad_empty", kShape, [] { pad(zeros({0}), 1, {.mode = PadMode::kEdge}); },
       "[pad] expected elements to pad dimension 0 with"},
      {"pad_values_count", kShape,
       [] {
         pad(matrix, 1, {.values = {{1, 2}, {3, 4}, {5, 6}}});
       },
       "[pad] expected one pair of values or one for each dimension"},
      {"pad_values_shape", kShape, [] { pad(matrix, 1, {.value = vector}); },
       "[pad] expected scalars as values, got float32[3]"},
      {"pad_stat_length", kValue,
       [] { pad(matrix, 1, {.mode = PadMode::kMean, .stat_length = 0}); },
       "[pad] expected a stat_length of at least 1, got 0"},
      // linear
      {"matmul", kShape, [] { matmul(matrix, matrix); },
       "[matmul] expected dimension 1 of the first operand as long as dimension 0 of the second"},
      {"matmul_scalar", kShape, [] { matmul(matrix, scalar); },
       "[matmul] expected at least 1 dimension"},
      {"matmul_batch", kShape,
       [] {
         matmul(zeros({2, 3, 4}), zeros({3, 4, 5}));
       },
       "[matmul] expected shapes that broadcast"},
      {"dot", kShape, [] { dot(vector, matrix); }, "[dot] expected dimension 0"},
      {"vdot", kShape, [] { vdot(vector, matrix); }, "[vdot] expected arrays of one size"},
      {"vecdot", kShape, [] { vecdot(vector, scalar); }, "[vecdot] expected at least 1 dimension"},
      {"inner", kShape,
       [] {
         inner(matrix, array({1., 2.}));
       },
       "[inner] expected dimension 1"},
      {"tensordot_count", kValue, [] { tensordot(matrix, vector, 2); },
       "[tensordot] expected a number of axes between 0"},
      {"tensordot_pairs", kValue,
       [] {
         tensordot(matrix, matrix, {{0}, {0, 1}});
       },
       "[tensordot] expected as many axes"},
      {"tensordot_extent", kShape,
       [] {
         tensordot(matrix, matrix, {{0}, {1}});
       },
       "[tensordot] expected dimension 0"},
      {"einsum_none", kValue, [] { einsum("", {}); }, "[einsum] expected at least one operand"},
      {"einsum_lists", kValue,
       [] {
         einsum("ij", {matrix, matrix});
       },
       "1 lists for 2 operands"},
      {"einsum_rank", kValue, [] { einsum("ijk->i", {matrix}); },
       "\"ijk\" has 3 labels, operand 0 is float32[2,3]"},
      {"einsum_letter", kValue, [] { einsum("i1->i", {matrix}); }, "'1' is no letter"},
      {"einsum_output", kValue, [] { einsum("ij->k", {matrix}); },
       "no operand has the result's label 'k'"},
      {"einsum_twice", kValue, [] { einsum("ij->ii", {matrix}); },
       "the result names a label twice"},
      {"einsum_extent", kShape, [] { einsum("ii", {matrix}); },
       "[einsum] expected one extent for each label"},
      {"diagonal", kShape, [] { diagonal(vector); }, "[diagonal] expected at least 2 dimensions"},
      {"trace", kShape, [] { trace(vector); }, "[trace] expected at least 2 dimensions"},
      {"trace_axes", kValue, [] { trace(matrix, {.axis1 = 1, .axis2 = 1}); },
       "expected different axes"},
      {"diag", kShape,
       [] {
         diag(zeros({2, 2, 2}));
       },
       "[diag] expected a vector or a matrix"},
      {"tril", kShape, [] { tril(vector); }, "[tril] expected at least 2 dimensions"},
      // index
      {"slice_axis", kShape, [] { slice_in_dim(vector, 0, 1, 1); }, "[slice_in_dim]"},
      {"index", kValue, [] { index_in_dim(vector, 3); },
       "[index_in_dim] expected an index in [-3, 3) along axis 0"},
      {"dynamic_slice_starts", kShape,
       [] {
         dynamic_slice(matrix, {0}, {1, 1});
       },
       "[dynamic_slice] expected one start index for each dimension"},
      {"dynamic_slice_dtype", kType, [] { dynamic_slice(vector, {0.5}, {1}); },
       "[dynamic_slice] expected integer scalars as start indices"},
      {"dynamic_slice_size", kShape, [] { dynamic_slice_in_dim(vector, 0, 4); },
       "expected a size in [0, 3]"},
      {"dynamic_update_rank", kShape,
       [] {
         dynamic_update_index_in_dim(zeros({2, 2, 2}), vector, 0);
       },
       "[dynamic_update_index_in_dim] expected an update of rank 2 or 3"},
      {"mask_shape", kShape, [] { at(matrix)[mask].set(1); },
       "[index] expected a mask of the first dimensions of float32[2,3], got bool[3]"},
      {"mask_values", kShape, [] { at(vector)[mask].add(vector); }, "use where(mask, values, x)"},
      {"at_wrap", kValue, [] { at(vector)[ints].set(1, {.mode = IndexMode::kWrap}); },
       "[scatter] expected a mode of windows, got kWrap"},
      {"gather_wrap", kValue,
       [] { lax::gather(vector, array({{0}}), kScalars, {1}, IndexMode::kWrap); },
       "[gather] expected a mode of windows, got kWrap; take remainder(indices, extent)"},
      {"scatter_wrap", kValue,
       [] {
         lax::scatter(vector, array({{0}}), array({1.}), kScalars, ScatterKind::kAdd,
                      {.mode = IndexMode::kWrap});
       },
       "[scatter] expected a mode of windows, got kWrap; take remainder(indices, extent)"},
      // lax
      {"select_n_none", kValue, [] { lax::select_n(mask, {}); },
       "[select_n] expected at least one case, got none"},
      {"select_n_dtype", kType, [] { lax::select_n(vector, {vector}); },
       "[select_n] expected a bool or int32 selector, got float32[3]"},
      {"select_n_bool", kValue,
       [] {
         lax::select_n(mask, {vector, vector, vector});
       },
       "[select_n] expected at most 2 cases for a bool selector, got 3"},
      {"select_n_which", kShape,
       [] {
         lax::select_n(mask, {matrix, matrix});
       },
       "[select_n] expected a scalar selector or one of shape (2, 3), got bool[3]"},
      {"select_n_dtypes", kType,
       [] {
         lax::select_n(mask, {vector, ints});
       },
       "[select_n] expected cases of one dtype, got float32[3] and int32[3]"},
      {"select_n_shapes", kShape,
       [] {
         lax::select_n(Array(true), {vector, matrix});
       },
       "[select_n] expected cases of one shape, got float32[3] and float32[2,3]"},
      // sorting, searching, quantiles
      {"top_k", kValue, [] { top_k(vector, 4); }, "[top_k]"},
      {"top_k_axis", kShape, [] { top_k(vector, 1, 1); }, "[top_k]"},
      {"searchsorted_matrix", kShape, [] { searchsorted(matrix, vector); },
       "[searchsorted] expected a vector, got float32[2,3]"},
      {"searchsorted_sorter", kType, [] { searchsorted(vector, 1, {.sorter = vector}); },
       "[searchsorted] expected an integer sorter of the shape of float32[3], got float32[3]"},
      {"digitize", kShape, [] { digitize(vector, matrix); },
       "[digitize] expected a vector, got float32[2,3]"},
      {"bincount_matrix", kShape, [] { bincount(matrix, 2); }, "[bincount] expected a vector"},
      {"bincount_dtype", kType, [] { bincount(vector, 2); },
       "[bincount] expected integers, got float32[3]"},
      {"bincount_length", kValue, [] { bincount(ints, -1); }, "[bincount] expected a length >= 0"},
      {"bincount_weights", kShape, [] { bincount(ints, 2, scalar); },
       "[bincount] expected one weight an element, got float32[] for int32[3]"},
      {"histogram_bins", kValue, [] { histogram(vector, {.bins = 0}); },
       "[histogram] expected at least one bin, got 0"},
      {"histogram_edges", kShape, [] { histogram(vector, {.bins = matrix}); },
       "[histogram] expected a vector, got float32[2,3]"},
      {"histogram_weights", kShape, [] { histogram(vector, {.weights = matrix}); },
       "[histogram] expected one weight an element, got float32[2,3] for float32[3]"},
      {"histogram_complex", kType, [] { histogram(complex); },
       "[histogram] expected real numbers, got complex64[2]"},
      {"nonzero_size", kValue, [] { nonzero(vector, -1); }, "[nonzero] expected a size >= 0"},
      {"unique_size", kValue, [] { unique(vector, -1); }, "[unique] expected a size >= 0"},
      {"unique_nothing", kShape, [] { unique(zeros(0), 1); },
       "[unique] expected at least one element, or a fill_value, got float32[0]"},
      {"unique_axis", kShape, [] { unique_all(vector, 1, {.axis = 1}); }, "[unique_all]"},
      {"quantile_rank", kShape, [] { quantile(vector, matrix); },
       "[quantile] expected a scalar or vector of quantiles, got float32[2,3]"},
      {"quantile_complex", kType, [] { quantile(complex, 0.5); },
       "[quantile] expected real numbers, got complex64[2]; take abs(z) or real(z)"},
      {"median_nothing", kShape, [] { median(zeros(0)); },
       "[median] expected at least one element along the axes, got float32[0]"},
      // nn
      {"sigmoid_int", kType, [] { sigmoid(ints); }, "int32[3]"},
      {"glu", kShape, [] { glu(vector); }, "[glu] expected an even extent along axis 0"},
      {"softmax_axis", kShape, [] { softmax(vector, 1); }, "[softmax]"},
      {"softmax_where", kType, [] { softmax(vector, 0, ints); },
       "[softmax] expected a bool array for `where`, got int32[3]"},
      {"log_softmax_where", kType, [] { log_softmax(vector, 0, ints); },
       "[log_softmax] expected a bool array for `where`, got int32[3]"},
      {"standardize_where", kType, [] { standardize(vector, {.where = ints}); },
       "[standardize] expected a bool array for `where`, got int32[3]"},
      {"one_hot_count", kValue, [] { one_hot(ints, -1); }, "[one_hot] expected at least 0 classes"},
  };
  return all;
}

// Arrays of more bytes than an integer can count, or than the machine has.
TEST(Sizes, ThatOverflowAreUserErrors) {
  const int64_t n = int64_t{1} << 40, huge = int64_t{1} << 62;
  const Array two = ones({2}), none = zeros({0});
  const std::vector<std::pair<const char*, std::function<void()>>> calls = {
      {"zeros", [&] { zeros({huge}); }},
      {"ones",
       [&] {
         ones({n, n});
       }},
      {"full",
       [&] {
         full({n, 0, n}, 1);
       }},
      {"empty",
       [&] {
         zeros({n, n}, int8);
       }},
      {"eye", [&] { eye(n); }},
      {"tri", [&] { tri(n); }},
      {"arange", [&] { arange(int64_t{0}, std::numeric_limits<int64_t>::max()); }},
      {"arange by wrapping",
       [&] { arange(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()); }},
      {"arange of floats", [&] { arange(0.0, 4e18); }},
      {"linspace", [&] { linspace(0, 1, huge); }},
      {"broadcast_to",
       [&] {
         broadcast_to(two, {huge, 2});
       }},
      {"tile", [&] { tile(two, Dims{huge}); }},
      {"tile by parts",
       [&] {
         tile(two, Dims{n, n});
       }},
      {"repeat", [&] { repeat(two, huge, 0); }},
      {"repeat each",
       [&] {
         repeat(two, Dims{huge, huge}, 0);
       }},
      {"repeat to a length",
       [&] {
         repeat(two, array({1, 2}), 0, huge);
       }},
      {"pad", [&] { pad(two, huge); }},
      {"pad both",
       [&] {
         pad(two, {{huge, huge}});
       }},
      {"pad by the edge",
       [&] {
         pad(two, {{huge, 1}}, {.mode = PadMode::kEdge});
       }},
      {"lax::pad", [&] { lax::pad(two, array(0.f), {huge}, {huge}, {0}); }},
      {"lax::pad between", [&] { lax::pad(two, array(0.f), {0}, {0}, {huge}); }},
      {"reshape",
       [&] {
         reshape(none, {n, n});
       }},
      {"reshape to unknown",
       [&] {
         reshape(none, {n, n, -1});
       }},
      {"outer",
       [&] {
         jit([&](const Array& x) { return outer(broadcast_to(x, {n}), broadcast_to(x, {n})); })(
             ones({1}));
       }},
      {"concatenate",
       [&] {
         jit([](const Array& x) {
           const Array y = broadcast_to(x, {int64_t{1} << 57});
           return concatenate({y, y, y, y, y, y, y, y}, 0);
         })(ones({1}));
       }},
      {"one_hot", [&] { one_hot(array({1}), huge); }},
      {"abstract_array", [&] { abstract_array({huge}, float32); }},
      {"iota",
       [&] {
         lax::iota(int32, {n, n}, 0);
       }},
  };
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const UserError& e) {
      EXPECT_THAT(e.what(), ::testing::MatchesRegex("\\[.*\\] expected .* at most 2\\^60.*"));
    }
  }
}

TEST(Sizes, BeyondMemoryAreErrors) {
  const int64_t n = int64_t{1} << 44;
  const std::vector<std::function<void()>> calls = {
      [&] { zeros({n}); }, [&] { arange(0.0, 1e13, 0.5); }, [&] { tile(ones({2}), Dims{n}); },
      [&] { repeat(ones({1}), Dims{n}, 0); }};
  for (const auto& call : calls) {
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const std::exception& e) {  // from the check of a program, or from an allocation
      EXPECT_THAT(e.what(), ::testing::HasSubstr("memory"));
    }
  }
  EXPECT_EQ(to_vector<int>(array({1, 2}) + 1), (std::vector<int>{2, 3}));
}

class ErrorTest : public ::testing::TestWithParam<size_t> {};

TEST_P(ErrorTest, IsAUserError) {
  const Mistake& mistake = mistakes()[GetParam()];
  try {
    mistake.make();
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), HasSubstr(mistake.text));
    EXPECT_EQ(e.kind(), mistake.kind) << e.what();
  }
  // The library is usable afterwards.
  EXPECT_EQ(to_vector<int>(array({1, 2}) + 1), (std::vector<int>{2, 3}));
  EXPECT_EQ(Trace::current(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Numpy, ErrorTest, ::testing::Range<size_t>(0, mistakes().size()),
                         [](const auto& info) { return mistakes()[info.param].name; });

}  // namespace
}  // namespace tessera::errors_test
