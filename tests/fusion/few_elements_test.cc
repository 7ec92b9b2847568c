// Kernels of a few elements in loops that are one function of machine code: each element is
// computed by itself, with the bits of separate kernels.
#include "tessera/codegen/few_elements.h"

#include "fusion_testing.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/runtime/program.h"
#include "tessera/runtime/routine_code.h"
#include "tests/trace/control_flow.h"

namespace tessera::fusion_testing::few_elements_test {
namespace {

using namespace array_math;
namespace control = testing_control;

std::vector<Literal> run(const Function& f, const std::vector<Literal>& inputs, bool as_steps) {
  const Schedule s = fuse(simplify(unroll_windows(f)), Mesh());
  const SingleDeviceSharding one_device{Device{}};
  std::vector<runtime::ArraySpec> in, out;
  std::vector<runtime::DeviceArrayRef> arrays;
  for (const Literal& input : inputs) {
    in.push_back({input.dtype(), input.shape(), one_device});
    arrays.push_back(runtime::device_array(input, one_device));
  }
  for (int slot : s.outputs) out.push_back({s.slots[slot].dtype, s.slots[slot].shape, one_device});
  std::optional<runtime::InterpretLoops> interpret;
  if (as_steps) interpret.emplace();
  std::vector<Literal> results;
  for (const auto& result : runtime::Program(s, in, out).run(arrays, {}))
    results.push_back(result->to_literal());
  return results;
}

// Makes loops on small matrices, which a random body multiplies, transposes, scales and adds up.
class SmallMatrices {
 public:
  SmallMatrices(uint32_t seed, DType dtype) : engine_(seed), dtype_(dtype), n_(2 + pick(4)) {}

  Function make() {
    const Type matrix = array_type(dtype_, {n_, n_}), rows = array_type(dtype_, {6, n_, n_});
    return trace({matrix, rows}, [&](const Arrays& x) {
      return control::scan(6, {}, {x[0]}, {x[1]}, [&](const Arrays& b) {
        Arrays known = b;
        for (int k = 0; k < 4; ++k) known.push_back(next(known));
        const Array size =
            lax::sqrt(lax::reduce_sum(known.back() * known.back(), {0, 1}) + constant(0.5));
        const Array scaled = known.back() / lax::broadcast_in_dim(size, {n_, n_}, {});
        return Arrays{scaled, known[2 + static_cast<size_t>(pick(4))]};
      });
    });
  }

 private:
  int pick(int n) { return static_cast<int>(engine_() % static_cast<uint32_t>(n)); }
  Array constant(double value) {
    return lax::convert_element_type(Array(Literal::scalar(value)), dtype_);
  }
  Array next(const Arrays& known) {
    const auto any = [&] {
      return known[static_cast<size_t>(pick(static_cast<int>(known.size())))];
    };
    const Array a = any(), b = any();
    switch (pick(5)) {
      case 0:
        return lax::dot_general(a, b, {{1}, {0}, {}, {}});
      case 1:
        return lax::transpose(a, {1, 0}) + b;
      case 2: {
        const Array sums = lax::reduce_sum(a, {pick(2)});
        return lax::broadcast_in_dim(sums, {n_, n_}, {pick(2)}) * b;
      }
      case 3:
        return lax::select(lax::lt(a, b), lax::exp(-lax::abs(a)), lax::transpose(b, {1, 0}));
      default:
        return lax::sin(a) - b * b;
    }
  }

  std::mt19937 engine_;
  DType dtype_;
  int64_t n_;
};

// Makes loops on vectors, whose elements a random body moves, chooses by position, and adds up.
class ShortRows {
 public:
  ShortRows(uint32_t seed, DType dtype) : engine_(seed), dtype_(dtype), n_(2 + pick(9)) {}

  Function make() {
    const Type row = array_type(dtype_, {n_}), rows = array_type(dtype_, {6, n_});
    return trace({row, rows}, [&](const Arrays& x) {
      return control::scan(6, {}, {x[0]}, {x[1]}, [&](const Arrays& b) {
        Arrays known = b;
        for (int k = 0; k < 5; ++k) known.push_back(next(known));
        return Arrays{lax::sin(known.back()), known[2 + static_cast<size_t>(pick(5))]};
      });
    });
  }

 private:
  int pick(int64_t n) { return static_cast<int>(engine_() % static_cast<uint32_t>(n)); }
  Array next(const Arrays& known) {
    const auto any = [&] {
      return known[static_cast<size_t>(pick(static_cast<int>(known.size())))];
    };
    const auto part = [&](const Array& a, int64_t from, int64_t to) {
      return lax::slice(a, {from}, {to});
    };
    const Array a = any(), b = any();
    const int64_t at = 1 + pick(n_ - 1);
    switch (pick(6)) {
      case 0:
        return lax::concatenate(Arrays{part(a, n_ - at, n_), part(b, 0, n_ - at)}, 0);
      case 1: {
        Arrays elements;
        for (int64_t i = 0; i < n_; ++i) {
          const int64_t j = pick(n_);
          elements.push_back(part(a, j, j + 1) * part(b, i, i + 1));
        }
        return lax::concatenate(elements, 0) - a;
      }
      case 2:
        return lax::rev(a, {0}) * b;
      case 3: {
        const Array total = lax::reduce_sum(a * b, {0});
        return lax::atan2(lax::broadcast_in_dim(total, {n_}, {}), a);
      }
      case 4:
        return lax::select(lax::lt(lax::iota(int32, {n_}, 0), constant(at)), lax::cos(a), b);
      default:
        return lax::max(a, b) * a;
    }
  }
  Array constant(int64_t value) {
    return lax::full({n_}, Literal::scalar(static_cast<int32_t>(value)));
  }

  std::mt19937 engine_;
  DType dtype_;
  int64_t n_;
};

TEST(FewElements, OfARowHaveTheBitsOfStepsInLoops) {
  for (const DType dtype : {float32, float64, bfloat16})
    for (uint32_t seed = 0; seed < 16; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", dtype, seed));
      const Function f = ShortRows(seed, dtype).make();
      const std::vector<Literal> inputs = random_inputs(f, seed);
      EXPECT_EQ(run(f, inputs, false), run(f, inputs, true));
    }
}

// stack({-x, x * x, ...}), as a choice of the operations by the number of the element.
Kernel stacked(int64_t elements) {
  Kernel k;
  k.parallel = {0};
  k.buffers = {{float32, BufferKind::kInput, 0}, {float32, BufferKind::kOutput, 0}};
  const auto add = [&](KernelNode node) {
    k.nodes.push_back(std::move(node));
    return static_cast<int>(k.nodes.size()) - 1;
  };
  const auto op = [&](ScalarOp code, DType dtype, std::initializer_list<int> args) {
    KernelNode node{NodeKind::kScalarOp, dtype, code};
    node.args.assign(args.begin(), args.end());
    return add(std::move(node));
  };
  KernelNode load{NodeKind::kLoad, float32}, index{NodeKind::kIndex, int32};
  load.buffer = 0;
  load.address = {0, {0}, {}};
  index.address = {0, {1}, {}};
  const int x = add(load), i = add(index);
  int out = op(ScalarOp::kNeg, float32, {x}), power = x;
  for (int32_t at = 1; at < elements; ++at) {
    KernelNode bound{NodeKind::kConstant, int32};
    std::memcpy(bound.immediate.data(), &at, sizeof(at));
    const int reached = op(ScalarOp::kGe, bool_, {i, add(bound)});
    power = op(ScalarOp::kMul, float32, {power, x});
    out = op(ScalarOp::kSelect, float32, {reached, power, out});
  }
  k.loops = {{.extents = {}, .reductions = {}, .stores = {}}};
  k.loops[0].stores = {{.buffer = 1, .address = {0, {1}, {}}, .node = out, .guard = -1}};
  return k;
}

TEST(FewElements, OfARowHaveTheirChoicesMade) {
  const Kernel k = stacked(3);
  const auto op_of = [&](int64_t element) {
    const Kernel one = codegen::kernel_of_element(k, element);
    return one.nodes[static_cast<size_t>(one.loops[0].stores[0].node)];
  };
  EXPECT_EQ(op_of(0).op, ScalarOp::kNeg);
  EXPECT_EQ(op_of(1).op, ScalarOp::kMul);
  EXPECT_EQ(op_of(1).args[0], 0) << "x * x";
  EXPECT_EQ(op_of(2).op, ScalarOp::kMul);
  EXPECT_NE(op_of(2).args[0], 0) << "x * x * x";
}

TEST(FewElements, OfARowAreThoseThatAreComputedDifferently) {
  EXPECT_TRUE(codegen::has_few_elements(stacked(3), 3, 8));
  EXPECT_TRUE(codegen::has_few_elements(stacked(12), 12, 8));
  EXPECT_FALSE(codegen::has_few_elements(stacked(3), 17, 8)) << "too many elements";
  EXPECT_FALSE(codegen::has_few_elements(stacked(3), 1, 8)) << "one element needs no vectors";
  Kernel alike = stacked(1);
  EXPECT_TRUE(codegen::has_few_elements(alike, 3, 8));
  alike.nodes[1].address.parallel = {0};
  EXPECT_FALSE(codegen::has_few_elements(alike, 3, 8)) << "all lanes do the same";
  alike.nodes[0].address.parallel = {-1};
  EXPECT_TRUE(codegen::has_few_elements(alike, 3, 8)) << "reversed";
  alike.nodes[2].op = ScalarOp::kSin;
  EXPECT_TRUE(codegen::has_few_elements(alike, 4, 8));
  EXPECT_FALSE(codegen::has_few_elements(alike, 16, 8)) << "long functions";
}

TEST(FewElements, HaveTheBitsOfStepsInLoops) {
  for (const DType dtype : {float32, float64, bfloat16})
    for (uint32_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", dtype, seed));
      const Function f = SmallMatrices(seed, dtype).make();
      const std::vector<Literal> inputs = random_inputs(f, seed);
      EXPECT_EQ(run(f, inputs, false), run(f, inputs, true));
    }
}

TEST(FewElements, AreThoseOfRowsShorterThanVectors) {
  const auto product = [](int64_t rows, int64_t columns, int64_t inner) {
    Kernel k;
    k.parallel = {rows, columns};
    k.buffers = {{float64, BufferKind::kInput, rows * inner},
                 {float64, BufferKind::kOutput, rows * columns}};
    k.loops = {{.extents = {inner}, .reductions = {}, .stores = {}},
               {.extents = {}, .reductions = {}, .stores = {}}};
    KernelNode load{NodeKind::kLoad, float64};
    load.buffer = 0;
    load.address = {0, {inner, 0}, {1}};
    k.nodes = {load};
    k.loops[1].stores = {{.buffer = 1, .address = {0, {columns, 1}, {}}, .node = 0, .guard = -1}};
    return k;
  };
  EXPECT_TRUE(codegen::has_few_elements(product(3, 3, 3), 9, 8));
  EXPECT_FALSE(codegen::has_few_elements(product(3, 3, 100), 9, 8)) << "too much code";
  EXPECT_FALSE(codegen::has_few_elements(product(8, 8, 3), 64, 8)) << "too many elements";
  EXPECT_FALSE(codegen::has_few_elements(product(1, 16, 1), 16, 8)) << "rows of whole vectors";
  const Kernel element = codegen::kernel_of_element(product(4, 3, 5), 7);
  EXPECT_EQ(element.parallel, Dims{1});
  EXPECT_EQ(element.nodes[0].address, (Affine{10, {0}, {1}}));
  EXPECT_EQ(element.loops[1].stores[0].address, (Affine{7, {0}, {}}));
}

}  // namespace
}  // namespace tessera::fusion_testing::few_elements_test
