// Compares the library call of a scatter with the naive evaluation, bit for bit, with one thread
// and with several; tests which memory it touches.
#include "tessera/ops/indexing/scatter.h"

#include <sys/mman.h>
#include <unistd.h>

#include <limits>

#include "tessera/base/thread_pool.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/ops/indexing/scatter_call.h"
#include "tessera/ops/indexing/window_addresses.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::scatter_test {

using namespace ops;

namespace {

constexpr DType kDTypes[] = {bool_,    int8,    int16,   int32,     int64,
                             uint8,    uint16,  uint32,  uint64,    float16,
                             bfloat16, float32, float64, complex64, complex128};
constexpr DType kIndexDTypes[] = {int8, int16, int32, int64, uint8, uint16, uint32, uint64};
constexpr ScatterKind kKinds[] = {ScatterKind::kSet, ScatterKind::kAdd, ScatterKind::kMul,
                                  ScatterKind::kMin, ScatterKind::kMax};

class Scatter : public HostTest {
 protected:
  void TearDown() override { set_num_threads(threads_); }

 private:
  const int threads_ = num_threads();
};

struct Program {
  ScatterParams params;
  Literal operand, indices, updates;
  std::vector<Literal> more_operands = {}, more_updates = {};  // of further arrays
  std::vector<Literal> operands() const {
    std::vector<Literal> out{operand};
    out.insert(out.end(), more_operands.begin(), more_operands.end());
    out.push_back(indices);
    out.push_back(updates);
    out.insert(out.end(), more_updates.begin(), more_updates.end());
    return out;
  }
};

std::string describe_program(const Program& p) {
  return fmt::format(
      "{} {} {} of {} by {}: windows {}, inserted {}, batching {} {}, map {}, vectors {}",
      enum_names(p.params.kind)[static_cast<size_t>(p.params.kind)], p.operand.dtype(),
      p.operand.shape(), p.updates.shape(), p.indices.shape(), p.params.update_window_dims,
      p.params.inserted_window_dims, p.params.input_batching_dims,
      p.params.scatter_indices_batching_dims, p.params.scatter_dims_to_operand_dims,
      p.params.index_vector_dim);
}

Type type_of(const Literal& x) { return {.dtype = x.dtype(), .shape = x.shape()}; }

std::vector<Literal> called(const Program& p, bool in_place) {
  const std::vector<Literal> values = p.operands();
  std::vector<Type> operands;
  std::vector<const void*> in;
  for (const Literal& x : values) {
    operands.push_back(type_of(x));
    in.push_back(x.raw());
  }
  const std::vector<Type> results = scatter_op.infer(operands, p.params);
  const HostCall call = scatter_call(p.params, operands, results);
  std::vector<Literal> out;
  std::vector<void*> memory;
  for (size_t k = 0; k < results.size(); ++k)
    out.push_back(in_place ? values[k] : Literal(results[k].dtype, results[k].shape));
  for (size_t k = 0; k < results.size(); ++k) {
    memory.push_back(out[k].mutable_raw());
    if (in_place) in[k] = memory[k];
  }
  call(in, memory);
  return out;
}

void expect_as_evaluated(const Program& p) {
  const std::vector<Literal> expected = scatter_op.evaluate(p.operands(), p.params);
  for (int threads : {1, 2, 7}) {
    set_num_threads(threads);
    for (bool in_place : {false, true})
      ASSERT_TRUE(called(p, in_place) == expected)
          << describe_program(p) << ", " << threads << " threads" << (in_place ? ", in place" : "");
  }
}

int pick(std::mt19937& rng, int n) { return static_cast<int>(rng() % static_cast<uint32_t>(n)); }

// Returns random starts. In half of the arrays some are outside, and a few are the largest or
// smallest number of the dtype.
Literal random_indices(DType dtype, const Shape& shape, int64_t largest, std::mt19937& rng) {
  Literal out(dtype, shape);
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const bool some_outside = pick(rng, 2) == 0;
      for (int64_t i = 0; i < out.elements(); ++i) {
        const int64_t fit = std::min<int64_t>(largest, std::numeric_limits<T>::max() / 2);
        int64_t start = pick(rng, static_cast<int>(fit) + 1);
        if (some_outside && pick(rng, 4) == 0) start += pick(rng, 2) == 0 ? fit : -fit - 1;
        T& value = out.mutable_data<T>()[i];
        value = static_cast<T>(start);
        if (some_outside && pick(rng, 40) == 0)
          value = pick(rng, 2) ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
      }
    }
  });
  return out;
}

// Returns a random scatter: dimensions of the operand of every kind in any order, windows anywhere
// in the updates, and index vectors anywhere in the indices. Extents grow with `scale`; with kLarge
// there are enough updates for several threads.
constexpr int kLarge = 8;
Program random_program(ScatterKind kind, DType dtype, DType index_dtype, int scale,
                       std::mt19937& rng) {
  Program out;
  ScatterParams& p = out.params;
  p.kind = kind;
  const int rank = pick(rng, 4) + (scale > 1 ? 1 : 0), batch_rank = pick(rng, 3) + (scale > 1);
  Shape operand, batch, window;
  for (int d = 0; d < batch_rank; ++d) batch.push_back(1 + pick(rng, 4 * scale));
  if (pick(rng, 12) == 0 && batch_rank > 0) batch[0] = 0;
  Dims mapped, sizes, batching, free_batch = iota_dims(batch_rank);
  for (int64_t d = 0; d < rank; ++d) {
    int64_t extent = 1 + pick(rng, 5 * scale);
    switch (pick(rng, free_batch.empty() ? 4 : 5)) {
      case 0:  // one element at a start
        p.inserted_window_dims.push_back(d);
        mapped.push_back(d);
        sizes.push_back(1);
        break;
      case 1:  // one element at 0
        p.inserted_window_dims.push_back(d);
        sizes.push_back(1);
        break;
      case 2:  // whole
        window.push_back(extent);
        if (pick(rng, 3) == 0) mapped.push_back(d);
        sizes.push_back(extent);
        break;
      case 3:  // a part
        window.push_back(1 + pick(rng, static_cast<int>(extent)));
        if (pick(rng, 4)) mapped.push_back(d);
        sizes.push_back(window.back());
        break;
      default: {
        const int at = pick(rng, static_cast<int>(free_batch.size()));
        batching.push_back(free_batch[at]);
        free_batch.erase(free_batch.begin() + at);
        p.input_batching_dims.push_back(d);
        extent = batch[batching.back()];
        sizes.push_back(1);
        break;
      }
    }
    operand.push_back(extent);
  }
  std::shuffle(mapped.begin(), mapped.end(), rng);
  p.scatter_dims_to_operand_dims = mapped;
  Shape indices = batch;
  const bool scalars = mapped.size() == 1 && pick(rng, 3) == 0;
  p.index_vector_dim = scalars ? batch_rank : pick(rng, batch_rank + 1);
  if (!scalars)
    indices.insert(indices.begin() + p.index_vector_dim, static_cast<int64_t>(mapped.size()));
  for (int64_t d : batching)
    p.scatter_indices_batching_dims.push_back(!scalars && d >= p.index_vector_dim ? d + 1 : d);
  // Windows and batch dimensions alternate at random.
  Shape updates;
  size_t next_batch = 0, next_window = 0;
  while (next_batch < batch.size() || next_window < window.size()) {
    const bool take_window =
        next_batch == batch.size() || (next_window < window.size() && pick(rng, 2) == 0);
    if (take_window) p.update_window_dims.push_back(updates.rank());
    updates.push_back(take_window ? window[next_window++] : batch[next_batch++]);
  }
  const bool fits = updates.elements() >= (1 << 14) && updates.elements() < (1 << 16) &&
                    operand.elements() < (1 << 18);
  if (scale == kLarge && !fits) return random_program(kind, dtype, index_dtype, scale, rng);
  int64_t largest = 0;
  for (int64_t d : mapped) largest = std::max(largest, operand[d] - sizes[d]);
  out.operand = random_literal({dtype, operand}, rng);
  out.updates = random_literal({dtype, updates}, rng);
  out.indices = random_indices(index_dtype, indices, largest, rng);
  return out;
}

TEST_F(Scatter, EveryKindOfEveryDTypeIsAsEvaluated) {
  std::mt19937 rng(1);
  for (ScatterKind kind : kKinds)
    for (DType dtype : kDTypes) {
      const bool extremum = kind == ScatterKind::kMin || kind == ScatterKind::kMax;
      if (extremum && is_complex(dtype)) continue;
      for (DType index_dtype : kIndexDTypes)
        for (int i = 0; i < 6; ++i)
          ASSERT_NO_FATAL_FAILURE(
              expect_as_evaluated(random_program(kind, dtype, index_dtype, 1, rng)));
    }
}

// Scatters large enough that threads share the work, in each of the ways in which they do.
TEST_F(Scatter, LargeOnesAreAsEvaluated) {
  std::mt19937 rng(2);
  for (int i = 0; i < 20; ++i)
    ASSERT_NO_FATAL_FAILURE(expect_as_evaluated(random_program(
        kKinds[i % 5], i % 3 ? float32 : int16, i % 2 ? int32 : int64, kLarge, rng)));
}

Program scalars(ScatterKind kind, DType dtype, int64_t elements, int64_t count, bool outside,
                std::mt19937& rng) {
  Program out;
  out.params = {{}, {0}, {}, {}, {0}, 1, kind};
  out.operand = random_literal({dtype, {elements}}, rng);
  out.updates = random_literal({dtype, {count}}, rng);
  out.indices = Literal(int32, {count, 1});
  for (int64_t i = 0; i < count; ++i)
    out.indices.mutable_data<int32_t>()[i] =
        pick(rng, static_cast<int>(elements) + (outside ? 50 : 0)) - (outside ? 25 : 0);
  return out;
}

TEST_F(Scatter, ScalarsAreAsEvaluated) {
  std::mt19937 rng(3);
  for (ScatterKind kind : kKinds)
    for (DType dtype : {bool_, int32, bfloat16, float32, float64})
      for (bool outside : {false, true})
        for (int64_t elements : {1, 1000, 300000})
          ASSERT_NO_FATAL_FAILURE(
              expect_as_evaluated(scalars(kind, dtype, elements, 20001, outside, rng)));
}

// Operands larger than the caches: even one thread sorts the windows by their positions.
TEST_F(Scatter, LargeOperandsAreAsEvaluated) {
  std::mt19937 rng(7);
  const int64_t elements = 1200000;
  for (bool outside : {false, true}) {
    expect_as_evaluated(scalars(ScatterKind::kAdd, float64, elements, 40000, outside, rng));
    Program rows = scalars(ScatterKind::kAdd, float64, elements / 4, 20000, outside, rng);
    rows.params.update_window_dims = {1};
    rows.operand = random_literal({float64, {elements / 4, 4}}, rng);
    rows.updates = random_literal({float64, {20000, 4}}, rng);
    expect_as_evaluated(rows);
  }
}

// Rows, columns, batched scatters, and wide windows that overlap.
TEST_F(Scatter, WindowsAreAsEvaluated) {
  std::mt19937 rng(4);
  const auto check = [&](const Shape& operand, const Shape& indices, const Shape& updates,
                         ScatterParams p, int64_t largest) {
    for (ScatterKind kind : {ScatterKind::kSet, ScatterKind::kAdd, ScatterKind::kMax}) {
      p.kind = kind;
      const Program program{p, random_literal({float32, operand}, rng),
                            random_indices(int32, indices, largest, rng),
                            random_literal({float32, updates}, rng)};
      ASSERT_NO_FATAL_FAILURE(expect_as_evaluated(program));
    }
  };
  for (int64_t run : {2, 3, 16, 21, 200})
    check({50, run}, {3000, 1}, {3000, run}, {{1}, {0}, {}, {}, {0}, 1}, 49);
  check({64, 300}, {700, 1}, {64, 700}, {{0}, {1}, {}, {}, {1}, 1}, 299);
  check({40, 30}, {40, 600, 1}, {40, 600}, {{}, {1}, {0}, {0}, {1}, 2}, 29);
  check({900}, {300, 1}, {300, 200}, {{1}, {}, {}, {}, {0}, 1}, 700);
  for (int64_t count : {200, 1300})  // only the large one is divided among threads
    check({90, 150}, {count, 1}, {count, 3, 150}, {{1, 2}, {}, {}, {}, {0}, 1}, 87);
  check({90, 40}, {600, 2}, {600, 3, 20}, {{1, 2}, {}, {}, {}, {0, 1}, 1}, 20);
}

// All updates are of one element or of the elements of one small range.
TEST_F(Scatter, ManyUpdatesOfOneElementAreInOrder) {
  std::mt19937 rng(5);
  Program p = scalars(ScatterKind::kAdd, float32, 400000, 50000, false, rng);
  for (int64_t i = 0; i < 50000; ++i)
    p.indices.mutable_data<int32_t>()[i] = i % 3 ? 399999 : 17 + static_cast<int32_t>(i % 7);
  expect_as_evaluated(p);
}

// Compares a fold with the evaluated one if the operand and some blocks of the updates have the
// special numbers.
void expect_with_specials(Program p, const std::vector<double>& specials, std::mt19937& rng) {
  const auto make_special = [&](Literal& x, int64_t begin, int64_t end) {
    Literal wide = convert_literal(x, float64);
    const int count = static_cast<int>(specials.size());
    for (int64_t i = begin; i < end; ++i)
      if (pick(rng, 3) == 0) wide.mutable_data<double>()[i] = specials[pick(rng, count)];
    x = convert_literal(wide, x.dtype());
  };
  make_special(p.operand, 0, 3000);
  make_special(p.updates, 9000, 12000);
  const Literal want = convert_literal(scatter_op.evaluate(p.operands(), p.params)[0], float64),
                got = convert_literal(called(p, false)[0], float64);
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double x = want.data<double>()[i], y = got.data<double>()[i];
    ASSERT_TRUE(std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y))
        << describe_program(p) << ": element " << i << " is " << y << " instead of " << x;
  }
}

// Zeros of both signs, NaN, infinities and the largest numbers, each alone and all together.
// Elements have seven or two updates on average.
TEST_F(Scatter, FoldsOfSpecialNumbers) {
  std::mt19937 rng(8);
  const std::vector<double> cases[] = {
      {0.0, -0.0}, {NAN}, {0.0, -0.0, NAN, INFINITY, -INFINITY, 1e-40, 3.38e38, 1.0}};
  for (ScatterKind kind :
       {ScatterKind::kMin, ScatterKind::kMax, ScatterKind::kAdd, ScatterKind::kMul})
    for (DType dtype : {bfloat16, float32, float64})
      for (const auto& [outside, elements] : {std::pair{false, 3000}, {true, 3000}, {true, 10000}})
        for (const std::vector<double>& specials : cases)
          ASSERT_NO_FATAL_FAILURE(expect_with_specials(
              scalars(kind, dtype, elements, 20000, outside, rng), specials, rng));
}

TEST_F(Scatter, BodiesOfTheirOwnAreAsEvaluated) {
  std::mt19937 rng(6);
  Function body;
  const Type scalar{float32, {}};
  const ValueId old = body.add_input(scalar), update = body.add_input(scalar);
  const ValueId difference =
      body.add_op(sub_op, sub_op.params, {old, update}, std::vector{scalar})[0];
  body.outputs = {body.add_op(mul_op, mul_op.params, {difference, old}, std::vector{scalar})[0]};
  const FunctionRef shared = std::make_shared<const Function>(std::move(body));
  for (int i = 0; i < 60; ++i) {
    Program p = random_program(ScatterKind::kCustom, float32, int32, 2, rng);
    p.params.body = shared;
    ASSERT_NO_FATAL_FAILURE(expect_as_evaluated(p));
  }
}

// Three arrays and a body that mixes them: a' = a + u_b, b' = max(b, u_c), c' = u_a - c.
FunctionRef mixing_body(DType first, DType others) {
  Function body;
  const Type scalar{first, {}}, other{others, {}};
  std::vector<ValueId> in;
  for (int i = 0; i < 2; ++i)
    for (const Type& type : {scalar, other, other}) in.push_back(body.add_input(type));
  const auto add = [&](const OpDef& op, ValueId x, ValueId y, const Type& type) {
    return body.add_op(op, op.params, {x, y}, std::vector{type})[0];
  };
  const auto converted = [&](ValueId x, const Type& type) {
    return body.add_op(convert_op, ConvertParams{type.dtype}, {x}, std::vector{type})[0];
  };
  body.outputs = {add(add_op, in[0], converted(in[4], scalar), scalar),
                  add(max_op, in[1], in[5], other),
                  add(sub_op, converted(in[3], other), in[2], other)};
  return std::make_shared<const Function>(std::move(body));
}

void add_arrays(Program& p, DType dtype, std::mt19937& rng) {
  p.params.kind = ScatterKind::kCustom;
  p.params.body = mixing_body(p.operand.dtype(), dtype);
  for (int k = 0; k < 2; ++k) {
    p.more_operands.push_back(random_literal({dtype, p.operand.shape()}, rng));
    p.more_updates.push_back(random_literal({dtype, p.updates.shape()}, rng));
  }
}

TEST_F(Scatter, SeveralArraysWithOneBodyAreAsEvaluated) {
  std::mt19937 rng(8);
  for (int i = 0; i < 60; ++i) {
    Program p = random_program(ScatterKind::kAdd, i % 2 ? float32 : int32, int32, 2, rng);
    add_arrays(p, i % 3 ? int16 : float64, rng);
    ASSERT_NO_FATAL_FAILURE(expect_as_evaluated(p));
  }
  for (const int64_t elements : {7, 5000}) {
    Program p = scalars(ScatterKind::kAdd, float32, elements, 9000, true, rng);
    add_arrays(p, float64, rng);
    ASSERT_NO_FATAL_FAILURE(expect_as_evaluated(p));
  }
}

TEST_F(Scatter, WindowsWithoutCommonElementsAreFoldedTogether) {
  std::mt19937 rng(9);
  Program p = scalars(ScatterKind::kAdd, float32, 9000, 9000, false, rng);
  for (int32_t i = 0; i < 9000; ++i)
    p.indices.mutable_data<int32_t>()[i] = i == 100 ? 9001 : (i * 7) % 9000;
  p.params.unique_indices = true;
  add_arrays(p, int32, rng);
  expect_as_evaluated(p);
}

TEST_F(Scatter, ArraysThatDoNotFitAreRefused) {
  const Type x{float32, {6}}, other{int32, {6}}, indices{int32, {2, 1}}, updates{float32, {2}},
      of_other{int32, {2}};
  ScatterParams p{{}, {0}, {}, {}, {0}, 1, ScatterKind::kCustom, mixing_body(float32, int32)};
  const auto infer = [&](const std::vector<Type>& types) { return scatter_op.infer(types, p); };
  EXPECT_EQ(infer({x, other, other, indices, updates, of_other, of_other}).size(), 3);
  EXPECT_USER_ERROR(infer({x, other, indices, updates}),
                    "as many updates as arrays (C5), got 4 operands");
  EXPECT_USER_ERROR(infer({x, Type{int32, {5}}, other, indices, updates, of_other, of_other}),
                    "arrays of one shape (C1)");
  EXPECT_USER_ERROR(infer({x, other, other, indices, updates, Type{int32, {3}}, of_other}),
                    "updates of one shape (C3)");
  EXPECT_USER_ERROR(infer({x, other, other, indices, updates, updates, of_other}),
                    "updates of the array's dtype (C6)");
  EXPECT_USER_ERROR(infer({x, x, indices, updates, updates}),
                    "expected an update computation (float32[], float32[], float32[], float32[]) "
                    "-> (float32[], float32[]) (C23)");
  p.kind = ScatterKind::kAdd;
  EXPECT_USER_ERROR(infer({x, other, indices, updates, of_other}),
                    "expected an update computation for 2 arrays, got add");
}

// The operand has a gigabyte, of which only the pages with elements that change can be accessed.
TEST_F(Scatter, InPlaceItTouchesTheElementsThatItChanges) {
  const int64_t page = sysconf(_SC_PAGESIZE), elements = int64_t{1} << 28;
  void* memory = mmap(nullptr, static_cast<size_t>(elements) * 4, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const Shape indices{3, 1}, updates{3};
  const ScatterParams p{{}, {0}, {}, {}, {0}, 1, ScatterKind::kAdd};
  const std::vector<Type> types{{float32, {elements}}, {int64, indices}, {float32, updates}};
  const HostCall call = scatter_call(p, types, scatter_op.infer(types, p));
  const Literal at = literal<int64_t>(indices, {5, elements - 3, elements}),
                with = literal<float>(updates, {2, 3, 4});
  auto* floats = static_cast<float*>(memory);
  const auto pages = static_cast<size_t>(page);
  ASSERT_EQ(mprotect(floats, pages, PROT_READ | PROT_WRITE), 0);
  ASSERT_EQ(mprotect(floats + elements - page / 4, pages, PROT_READ | PROT_WRITE), 0);
  const void* in[] = {memory, at.raw(), with.raw()};
  for (int threads : {1, 4}) {
    set_num_threads(threads);
    call(in, std::span<void* const>(&memory, 1));
  }
  EXPECT_EQ(floats[5], 4.0F);
  EXPECT_EQ(floats[elements - 3], 6.0F);
  EXPECT_EQ(floats[elements - 1], 0.0F);
  munmap(memory, static_cast<size_t>(elements) * 4);
}

// Arrays with more elements than an int32 counts: negative int32 are no indices, large uint32 are.
TEST(WindowAddresses, LargestIndexOfEachDType) {
  const Shape operand{int64_t{1} << 33}, few{100};
  const IndexDims dims{.collapsed_slice_dims = {0}, .start_index_map = {0}};
  const auto largest = [&](const Shape& shape, DType index) {
    const IndexedWindows windows(dims, 1, shape, Shape{4, 1}, Shape{4}, Shape{1});
    const WindowAddresses addresses(windows, index);
    EXPECT_TRUE(addresses.column_stride());
    return addresses.column_largest();
  };
  EXPECT_EQ(largest(operand, int32), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(largest(operand, uint32), std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(largest(operand, int64), operand[0] - 1);
  for (const DType index : {int32, uint32, int64, uint64}) EXPECT_EQ(largest(few, index), 99);
}

}  // namespace
}  // namespace tessera::testing_ops::scatter_test
