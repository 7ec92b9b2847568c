// Compares compiled programs with their naive evaluation: extents of 0 and 1 in every dimension (of
// functions and of every op of the registry, on one device and sharded over several), ops that are
// fused into products, bodies of reductions, and branches under vmap.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/numpy/lax.h"
#include "tests/compile/evaluated.h"

namespace tessera::kernels_test {

using namespace ir;

namespace {

class Extents : public DevicesTest {};

struct Named {
  const char* name;
  ArraysFn f;
  std::vector<int> ranks;  // of the operands; dimension d has the same extent in all
};

std::vector<Named> functions() {
  using V = const std::vector<Array>&;
  auto one = [](auto f) { return [f](V a) { return std::vector<Array>{f(a[0])}; }; };
  std::vector<Named> out;
  auto unary = [&](const char* name, auto f, int rank = 3) {
    out.push_back({name, one(f), {rank}});
  };
  unary("softmax", [](const Array& x) { return softmax(x); });
  unary("softmax of the first", [](const Array& x) { return softmax(x, 0); });
  unary("log_softmax", [](const Array& x) { return log_softmax(x, {1, 2}); });
  unary("standardize", [](const Array& x) { return standardize(x); });
  unary("logsumexp", [](const Array& x) { return logsumexp(x, {.axis = 1}); });
  unary("sum of rows", [](const Array& x) { return sum(x, {.axis = -1}) + sum(x); });
  unary("sums", [](const Array& x) { return x - sum(x, {.axis = {0, 2}, .keepdims = true}); });
  unary("mean and var", [](const Array& x) {
    return (x - mean(x, {.axis = 0, .keepdims = true})) / sqrt(var(x, {.axis = 0}) + 1);
  });
  unary("any", [](const Array& x) { return any(x > 0, {.axis = 0}) & all(x > 0, {.axis = 0}); });
  unary("prod", [](const Array& x) { return prod(x, {.axis = 1}) * prod(x); });
  unary("cumsum", [](const Array& x) { return cumsum(x, {.axis = 1}); });
  unary("cumsum of all", [](const Array& x) { return cumsum(ravel(x)); });
  unary("cummax", [](const Array& x) { return cummax(x, {.axis = 2}); });
  unary("sort", [](const Array& x) { return sort(x) + sort(x, {.axis = 0}); });
  unary("argsort", [](const Array& x) { return argsort(x, {.axis = 1}); });
  unary("transpose", [](const Array& x) { return exp(transpose(x)) + 1; });
  unary("ravel", [](const Array& x) { return ravel(transpose(x, {1, 0, 2})) * 2; });
  unary("flip", [](const Array& x) { return flip(x) + flip(x, 1); });
  unary("roll", [](const Array& x) { return roll(x, 1, 1); });
  unary("pad", [](const Array& x) { return pad(x, 1); });
  unary("concatenate", [](const Array& x) { return concatenate({x, 2 * x, x}, 1); });
  unary("stack", [](const Array& x) { return sum(stack({x, x + 1}, 1), {.axis = 1}); });
  unary("tile", [](const Array& x) { return tile(x, {2, 1, 2}); });
  unary("repeat", [](const Array& x) { return repeat(x, 2, 1); });
  unary("tril", [](const Array& x) { return tril(x) + triu(x); });
  unary("diagonal", [](const Array& x) { return diagonal(x); });
  unary("where", [](const Array& x) { return where(x > 0, x, sum(x, {.axis = 0})); });
  unary("take", [](const Array& x) { return take(x, array({0, 0}), {.axis = 1}); });
  unary("slice", [](const Array& x) { return index(x, {Slice(0, 3, 2), Ellipsis, Slice(0, 2)}); });
  unary("one_hot", [](const Array& x) { return one_hot(astype(x, int32), 3); });
  unary("max_pool",
        [](const Array& x) { return nn::max_pool(x, {2}, {.padding = nn::Padding::kSame}); });
  unary("avg_pool",
        [](const Array& x) { return nn::avg_pool(x, {2}, {.padding = nn::Padding::kSame}); });
  unary("gram", [](const Array& x) { return matmul(x, matrix_transpose(x)) + sum(x); });
  unary(
      "gram of two", [](const Array& x) { return matmul(x, transpose(x)) + sum(x); }, 2);
  unary("gelu of a sum",
        [](const Array& x) { return gelu(x + sum(x, {.axis = 1, .keepdims = true})); });
  unary("scan", [](const Array& x) {
    return scan([](const Array& c, const Array& v) { return std::pair(c + sum(v), v * c); },
                Array(1.f), x)
        .second;
  });
  unary(
      "vmap", [](const Array& x) { return vmap([](const Array& v) { return v - sum(v); })(x); }, 2);
  unary("grad", [](const Array& x) {
    return grad([](const Array& v) { return sum(square(softmax(v)) * v); })(x);
  });
  unary("grad of cumulations", [](const Array& x) {
    return grad([](const Array& v) { return sum(cumsum(v, {.axis = 1}) * sort(v)); })(x);
  });
  unary("attention", [](const Array& x) { return dot_product_attention(x, x + 1, 2 * x); });
  unary("attention, causal",
        [](const Array& x) { return dot_product_attention(x, x, x, {.is_causal = true}); });
  auto binary = [&](const char* name, auto f, int r0, int r1) {
    out.push_back({name, [f](V a) { return std::vector<Array>{f(a[0], a[1])}; }, {r0, r1}});
  };
  binary(
      "add", [](const Array& x, const Array& y) { return x + y * 2; }, 3, 1);
  binary(
      "batched product",
      [](const Array& x, const Array& y) {
        return einsum("ijk,ijk->ij", {x, y});
      },
      3, 3);
  binary(
      "einsum",
      [](const Array& x, const Array& y) {
        return einsum("ijk,ijl->ikl", {x, y});
      },
      3, 3);
  binary(
      "convolution",
      [](const Array& x, const Array& y) {
        return lax::conv_general_dilated(x, pad(y, {{0, 0}, {0, 0}, {1, 1}}), {1}, "SAME");
      },
      3, 3);
  binary(
      "searchsorted", [](const Array& x, const Array& y) { return searchsorted(sort(x), y); }, 1,
      2);
  binary(
      "scatter",
      [](const Array& x, const Array& y) {
        return at(x)[{array({0, -1})}].add(index(y, {Slice(0, 1)}));
      },
      2, 2);
  return out;
}

// Returns all lists of `rank` extents of 0, 1 and 3 that contain a 0 or a 1.
std::vector<Dims> extents_of(int rank) {
  std::vector<Dims> out;
  for (int code = 0; code < std::pow(3, rank); ++code) {
    Dims extents;
    for (int d = 0, rest = code; d < rank; ++d, rest /= 3)
      extents.push_back(std::array<int64_t, 3>{0, 1, 3}[rest % 3]);
    if (extents != Dims(static_cast<size_t>(rank), 3)) out.push_back(extents);
  }
  return out;
}

Shape leading(const Dims& extents, int rank) {
  return Shape(extents.begin(), extents.begin() + rank);
}

// Returns whether the function refuses these arrays, as numpy refuses a maximum of no elements.
// Messages are not tested here.
bool refused(const ArraysFn& f, const std::vector<Array>& arrays) {
  try {
    jit(f).lower(arrays);
    return false;
  } catch (const UserError&) {
    return true;
  }
}

TEST_F(Extents, FunctionsOnOneDevice) {
  int tested = 0;
  for (const Named& named : functions()) {
    for (const Dims& extents :
         extents_of(*std::max_element(named.ranks.begin(), named.ranks.end()))) {
      std::vector<Array> arrays;
      for (int rank : named.ranks)
        arrays.push_back(Array(test_values(float32, leading(extents, rank), rank)));
      if (refused(named.f, arrays)) continue;
      EXPECT_EQ(check_evaluated(named.f, arrays), "") << named.name << " " << Shape(extents);
      ++tested;
    }
  }
  EXPECT_GT(tested, 600);
}

// One dimension has an extent of 0 or 1. It is sharded over two devices, and the next one over
// four.
TEST_F(Extents, FunctionsCutOverDevices) {
  int tested = 0;
  for (const Named& named : functions()) {
    const int most = *std::max_element(named.ranks.begin(), named.ranks.end());
    for (int at = 0; at < 2 * most; ++at) {
      Dims extents(static_cast<size_t>(most), 3);
      const int d = at / 2;
      extents[static_cast<size_t>(d)] = at % 2;
      std::vector<Array> arrays;
      for (int rank : named.ranks) {
        std::vector<DimSpec> spec(static_cast<size_t>(rank));
        if (d < rank) spec[static_cast<size_t>(d)] = "x";
        if (rank > 1) spec[static_cast<size_t>((d + 1) % rank)] = "y";
        arrays.push_back(device_put(Array(test_values(float32, leading(extents, rank), rank)),
                                    on24(PartitionSpec(spec))));
      }
      if (refused(named.f, arrays)) continue;
      EXPECT_EQ(check_evaluated(named.f, arrays), "") << named.name << " " << Shape(extents);
      ++tested;
    }
  }
  EXPECT_GT(tested, 150);
}

// Returns the operands with another extent in all dimensions that have factor `f`.
std::vector<Type> with_extent(std::vector<Type> operands, const Factors& factors, int f,
                              int64_t extent) {
  for (size_t k = 0; k < operands.size(); ++k)
    for (size_t d = 0; d < factors.operands[k].size(); ++d)
      if (factors.operands[k][d] == DimFactors{f}) operands[k].shape[d] = extent;
  return operands;
}

// Calls visit(op, params, operands) for samples of every op, with an extent of 0 or 1 in all
// dimensions of one factor, if the type rule of the op allows it. Returns the number of calls.
int for_each_extent(auto visit) {
  int count = 0;
  for (const OpDef* def : all_ops()) {
    if (!def->samples || !def->evaluate || !def->factors ||
        std::holds_alternative<CollectiveLowering>(def->lower) || !is_computed(def->lower))
      continue;
    // Elementwise ops differ only in the code of an element, so one sample of each is enough.
    const size_t most = std::holds_alternative<Pointwise>(def->lower) ? 1 : 3;
    size_t taken = 0;
    for (const Sample& sample : def->samples()) {
      if (!sample.literals.empty() || taken == most) continue;
      const Factors factors =
          def->factors(sample.operands, def->infer(sample.operands, sample.params), sample.params);
      bool any = false;
      for (int f = 0; f < static_cast<int>(factors.factors.size()); ++f) {
        for (int64_t extent : {0, 1}) {
          const std::vector<Type> types = with_extent(sample.operands, factors, f, extent);
          if (types == sample.operands) continue;
          try {
            def->infer(types, sample.params);
          } catch (const UserError&) {
            continue;
          }
          any = true;
          ++count;
          visit(*def, sample.params, types);
        }
      }
      taken += any;
    }
  }
  return count;
}

std::string label(const OpDef& def, const std::vector<Type>& types) {
  std::string out(def.name);
  for (const Type& t : types) out += " " + describe(t);
  return out;
}

TEST_F(Extents, EveryOp) {
  const int tested = for_each_extent([](const OpDef& def, const OpParams& params,
                                        const std::vector<Type>& types) {
    std::vector<Array> arrays;
    for (const Type& t : types)
      arrays.push_back(Array(test_values(t.dtype, t.shape, static_cast<int64_t>(arrays.size()))));
    // The result is also an operand of a kernel, and is summed.
    const ArraysFn f = [&](const std::vector<Array>& a) {
      std::vector<Array> out = bind_op(def, params, a);
      if (is_floating(out[0].dtype())) {
        out.push_back(tanh(out[0]) + sum(out[0]));
        out.push_back(sum(out[0], {.axis = out[0].ndim() > 0 ? Axes(-1) : Axes(None)}));
      }
      return out;
    };
    EXPECT_EQ(check_evaluated(f, arrays), "") << label(def, types);
  });
  EXPECT_GT(tested, 100);
}

TEST_F(Extents, EveryOpCutOverDevices) {
  for_each_extent([](const OpDef& def, const OpParams& params, const std::vector<Type>& types) {
    for (size_t k = 0; k < types.size(); ++k) {
      for (size_t d = 0; d < types[k].shape.size(); ++d) {
        if (types[k].shape[d] > 1) continue;
        std::vector<Array> arrays;
        for (const Type& t : types)
          arrays.push_back(
              Array(test_values(t.dtype, t.shape, static_cast<int64_t>(arrays.size()))));
        std::vector<DimSpec> spec(types[k].shape.size());
        spec[d] = "x";
        if (spec.size() > 1) spec[(d + 1) % spec.size()] = "y";
        arrays[k] = device_put(arrays[k], on24(PartitionSpec(spec)));
        const ArraysFn f = [&](const std::vector<Array>& a) { return bind_op(def, params, a); };
        EXPECT_EQ(check_evaluated(f, arrays), "")
            << label(def, types) << ", operand " << k << " cut in dimension " << d;
      }
    }
  });
}

// --- Ops that are fused into a product: a bias along the last dimension of its result, an
// activation ---

struct Product {
  const char* subscripts;
  Shape lhs, rhs, result;
};
const std::vector<Product> kProducts = {{"bij,bij->bi", {3, 2, 3}, {3, 2, 3}, {3, 2}},
                                        {"bij,bij->bi", {32, 16, 64}, {32, 16, 64}, {32, 16}},
                                        {"bj,bj->b", {5, 4}, {5, 4}, {5}},
                                        {"ij,j->i", {6, 4}, {4}, {6}},
                                        {"bij,bj->bi", {3, 6, 4}, {3, 4}, {3, 6}},
                                        {"bij,j->bi", {3, 6, 4}, {4}, {3, 6}},
                                        {"j,jk->k", {4}, {4, 6}, {6}},
                                        {"bj,bjk->bk", {3, 4}, {3, 4, 6}, {3, 6}},
                                        {"ij,jk->ik", {5, 4}, {4, 6}, {5, 6}},
                                        {"bij,bjk->bik", {3, 5, 4}, {3, 4, 6}, {3, 5, 6}},
                                        {"ij,jkl->ikl", {5, 4}, {4, 2, 6}, {5, 2, 6}},
                                        {"ij,jk->ik", {5, 4}, {4, 1}, {5, 1}},
                                        {"ij,jk->ik", {1, 4}, {4, 6}, {1, 6}},
                                        {"ij,jk->ik", {5, 1}, {1, 6}, {5, 6}},
                                        {"bij,bij->bi", {3, 1, 4}, {3, 1, 4}, {3, 1}},
                                        {"bij,bij->bi", {1, 3, 4}, {1, 3, 4}, {1, 3}},
                                        {"ij,jk->ik", {5, 0}, {0, 6}, {5, 6}},
                                        {"ij,jk->ik", {0, 4}, {4, 6}, {0, 6}},
                                        {"bij,bij->bi", {3, 2, 0}, {3, 2, 0}, {3, 2}},
                                        {"ij,kj->ik", {300, 70}, {90, 70}, {300, 90}}};

// Returns everything that may follow a product: a bias along each dimension or along all, an
// activation, another product that is added, and a second use of the product itself.
std::vector<Array> followed(const char* subscripts, const std::vector<Array>& a) {
  const Array product = einsum(subscripts, {a[0], a[1]});
  std::vector<Array> out = {product + a[2],        relu(product + a[2]),
                            relu(product),         gelu(product + a[2]),
                            product + product * 2, a[2] + einsum(subscripts, {a[0] + 1, a[1]})};
  for (size_t k = 3; k < a.size(); ++k) {
    out.push_back(product + a[k]);
    out.push_back(relu(einsum(subscripts, {a[0], 2 * a[1]}) + a[k]));
  }
  return out;
}

class Epilogues : public DevicesTest, public testing::WithParamInterface<size_t> {
 protected:
  // Returns the operands, a bias along the last dimension, one along each other dimension, and one
  // along all dimensions.
  static std::vector<Array> arrays(const Product& p, DType dtype) {
    std::vector<Array> out = {Array(test_values(dtype, p.lhs, 1)),
                              Array(test_values(dtype, p.rhs, 2)),
                              Array(test_values(dtype, {p.result.back()}, 3))};
    for (size_t d = 0; d + 1 < p.result.size(); ++d) {
      Shape shape(p.result.size() - d, 1);
      shape[0] = p.result[d];
      out.push_back(Array(test_values(dtype, shape, 4)));
    }
    out.push_back(Array(test_values(dtype, p.result, 5)));
    return out;
  }
};

TEST_P(Epilogues, AreEvaluated) {
  const Product& p = kProducts[GetParam()];
  for (DType dtype : {float32, bfloat16, float64})
    EXPECT_EQ(
        check_evaluated([&](const auto& a) { return followed(p.subscripts, a); }, arrays(p, dtype)),
        "")
        << p.subscripts << " " << p.lhs << " " << dtype;
}

TEST_P(Epilogues, AreEvaluatedCutOverDevices) {
  const Product& p = kProducts[GetParam()];
  for (size_t d = 0; d < p.lhs.size(); ++d) {
    std::vector<Array> a = arrays(p, float32);
    std::vector<DimSpec> spec(p.lhs.size());
    spec[d] = "x";
    a[0] = device_put(a[0], on24(PartitionSpec(spec)));
    EXPECT_EQ(check_evaluated([&](const auto& x) { return followed(p.subscripts, x); }, a), "")
        << p.subscripts << " " << p.lhs << " cut in dimension " << d;
  }
}
INSTANTIATE_TEST_SUITE_P(All, Epilogues, testing::Range<size_t>(0, kProducts.size()));

// --- Bodies of reductions ---

class Reducers : public DevicesTest {};

TEST_F(Reducers, BodiesOfEveryKind) {
  using V = const std::vector<Array>&;
  for (int64_t n : {0, 1, 5, 17, 100, 300}) {
    for (const Dims& dims : {Dims{0}, {1}, {0, 1}}) {
      const ArraysFn f = [&](V a) {
        const Array zero(0.f), one(1.f);
        std::vector<Array> out = lax::reduce(
            std::vector{abs(a[0])}, std::vector{zero},
            [](V v) { return std::vector{lax::min(v[0] + v[1], Array(5.f))}; }, dims);
        // Reductions of a complex and a real operand together, in either order.
        const Array z = lax::complex(a[0], a[0] + 1);
        for (const auto& order : {std::vector{z, a[0]}, std::vector{a[0], z}}) {
          std::vector<Array> inits;
          for (const Array& x : order) inits.push_back(zeros(Shape{}, x.dtype()));
          for (const Array& x : lax::reduce(
                   order, inits,
                   [](V v) {
                     return std::vector{v[0] + v[2], v[1] + v[3]};
                   },
                   dims))
            out.push_back(x);
        }
        // A product with a division, of numbers of absolute value 1.
        const Array turns = lax::complex(cos(a[0]), sin(a[0]));
        out.push_back(lax::reduce(
            std::vector{turns}, std::vector{lax::complex(one, zero)},
            [](V v) {
              return std::vector{v[0] * v[1] /
                                 lax::reshape(lax::complex(Array(1.f), Array(0.f)), {})};
            },
            dims)[0]);
        return out;
      };
      EXPECT_EQ(check_evaluated(f, {Array(test_values(float32, {n, 3}, 1))}), "") << n << dims;
      EXPECT_EQ(check_evaluated(f, {Array(test_values(float32, {4, n}, 1))}), "") << n << dims;
    }
  }
}

// --- Branches and sums under vmap ---

class Mapped : public DevicesTest {};

TEST_F(Mapped, BranchesWhosePredicateIsMappedAtOneLevelAndOperandAtTheOther) {
  const std::vector<std::pair<const char*, std::function<Array(const Array&)>>> branches = {
      {"sin", [](const Array& x) { return sin(x); }},
      {"softmax", [](const Array& x) { return softmax(atleast_1d(x)); }},
      {"sort", [](const Array& x) { return sort(atleast_1d(x)); }},
      {"sum", [](const Array& x) { return atleast_1d(sum(exp(x))); }},
      {"sum of one", [](const Array& x) { return exp(sum(expand_dims(x, -1), {.axis = -1})); }}};
  for (const auto& [name, branch] : branches) {
    const auto choose = [branch = branch](const Array& p, const Array& x) {
      return cond(
          p > 0, [&](const Array& v) { return branch(v) * 2; },
          [&](const Array& v) { return zeros_like(branch(v)) + tanh(sum(v)); }, x);
    };
    for (int64_t n : {1, 3, 8}) {
      for (const Shape& shape : {Shape{1}, {4}, {8, 1}, {1, 5}, {4, 3}}) {
        const std::vector<Array> a = {Array(test_values(float32, {n}, 1)),
                                      Array(test_values(float32, shape, 2))};
        const ArraysFn inner = [&](const auto& v) {
          return std::vector<Array>{
              vmap(vmap(choose, {.in_axes = {0, None}}), {.in_axes = {None, 0}})(v[0], v[1])};
        };
        const ArraysFn outer = [&](const auto& v) {
          return std::vector<Array>{
              vmap(vmap(choose, {.in_axes = {None, 0}}), {.in_axes = {0, None}})(v[0], v[1])};
        };
        EXPECT_EQ(check_evaluated(inner, a), "") << name << n << shape;
        EXPECT_EQ(check_evaluated(outer, a), "") << name << n << shape;
      }
    }
  }
}

TEST_F(Mapped, SumsOverAnExtentOfOne) {
  for (const Shape& shape : {Shape{4, 1}, {1, 1}, {4, 1, 3}, {4, 3, 1}, {2, 1, 1}, {1, 9, 1}}) {
    for (int64_t axis = 0; axis + 1 < shape.rank(); ++axis) {
      const auto f = [axis](const Array& x) {
        const Array total = sum(exp(x), {.axis = axis});
        return std::vector<Array>{total, exp(x) / sum(exp(x), {.axis = axis, .keepdims = true}),
                                  total + sum(exp(x)), max(x, {.axis = axis})};
      };
      EXPECT_EQ(check_evaluated([&](const auto& a) { return vmap(f)(a[0]); },
                                {Array(test_values(float32, shape, 1))}),
                "")
          << shape << axis;
    }
  }
}

// The compiled code of fusion/kernels/half_extrema.h: columns, rows and all elements, with numbers
// of every kind in places that differ for each row.
TEST(Kernels, ExtremaOfHalves) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (DType dtype : {bfloat16, float16})
    for (const Shape& shape : {Shape{17, 100}, Shape{100, 17}, Shape{70, 1100}, Shape{200, 6}}) {
      const int64_t n = shape.elements();
      std::vector<float> numbers(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) {
        const float kinds[] = {0.f, -0.f, inf, -inf, nan, -nan, 1.5f, -1.5f};
        const int64_t row = i / shape[1], column = i % shape[1];
        numbers[static_cast<size_t>(i)] = row % 13 == column % 11 && row < 20
                                              ? kinds[column / 11 % 8]
                                              : 0.25f * static_cast<float>(i % 31) - 4.f;
      }
      const Array x = astype(reshape(array(numbers), shape), dtype);
      const Array wide = astype(x, float32);
      for (const Axes& axis : {Axes(0), Axes(1), Axes(None)})
        for (auto* fold : {+[](const Array&a, const Axes&d) { return max(a, {.axis = d}); },
                           +[](const Array&a, const Axes&d) { return min(a, {.axis = d}); }}) {
          const Array got = astype(fold(x, axis), float32), want = fold(wide, axis);
          EXPECT_TRUE(all(where(isnan(want), isnan(got), got == want)).item<bool>())
              << dtype_name(dtype) << got << want;
        }
    }
}

}  // namespace
}  // namespace tessera::kernels_test
