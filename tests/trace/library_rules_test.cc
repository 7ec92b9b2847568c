// The rules of the ops that become library calls or indexed loads, on their own samples in float64:
// jvp == finite differences, transpose == inner-product identity, batch == loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tessera/ops/convert.h"
#include "tessera/ops/dot_general.h"
#include "tessera/trace/evaluate.h"
#include "tessera/trace/trace.h"

namespace tessera {
namespace {

using Arrays = std::vector<Array>;
using Literals = std::vector<Literal>;

// Distinct numbers without ties, so that extrema and orders do not change under small steps.
Literal distinct(const Shape& shape, std::mt19937& rng) {
  Literal out(float64, shape);
  std::vector<int> order(static_cast<size_t>(out.elements()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::shuffle(order.begin(), order.end(), rng);
  const double scale = 3.0 / static_cast<double>(order.size() + 1);
  for (size_t i = 0; i < order.size(); ++i)
    out.mutable_data<double>()[i] = 0.31 + scale * static_cast<double>(order[i]);
  return out;
}

struct Case {
  const OpDef* def;
  Params params;
  Literals operands;
  std::vector<Type> types;
  std::vector<bool> floats;
};

// Every sample of a library op whose arrays are real floats, in float64.
std::vector<Case> cases() {
  std::vector<Case> out;
  std::mt19937 rng(4);
  for (const OpDef* def : all_ops()) {
    const auto* library = std::get_if<Library>(&def->lower);
    if (!library || library->kind == LibraryKind::kDot) continue;
    for (const Sample& sample : def->samples()) {
      Case c{.def = def, .params = sample.params};
      bool any = false, usable = true;
      for (size_t k = 0; k < sample.operands.size(); ++k) {
        const Type& type = sample.operands[k];
        const bool is_float = is_floating(type.dtype);
        usable = usable && !is_complex(type.dtype) && (!is_float || type.dtype == float32);
        any = any || is_float;
        c.floats.push_back(is_float);
        const bool scalar_start = type.rank() == 0 && !sample.literals.empty();
        c.operands.push_back(is_float ? scalar_start ? convert_literal(sample.literals[k], float64)
                                                     : distinct(type.shape, rng)
                             : sample.literals.empty() ? Literal(type.dtype, type.shape)
                                                       : sample.literals[k]);
        c.types.push_back({c.operands.back().dtype(), type.shape});
      }
      if (!usable || !any) continue;
      try {
        def->infer(c.types, c.params);
      } catch (const UserError&) {
        continue;  // a body on scalars of another dtype
      }
      out.push_back(std::move(c));
    }
  }
  return out;
}

double inner(const Literal& a, const Literal& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.elements(); ++i) sum += a.data<double>()[i] * b.data<double>()[i];
  return sum;
}
Literal moved(const Literal& a, double h, const Literal& b) {
  Literal out = a;
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<double>()[i] += h * b.data<double>()[i];
  return out;
}

TEST(LibraryRules, JvpIsTheFiniteDifference) {
  std::mt19937 rng(5);
  std::map<std::string_view, int> tested;
  for (const Case& c : cases()) {
    for (size_t k = 0; k < c.operands.size(); ++k) {
      if (!c.floats[k] || !c.def->jvp) continue;
      SCOPED_TRACE(fmt::format("{} {} operand {}", c.def->name, describe(c.types[0]), k));
      const Literal t = distinct(c.types[k].shape, rng);
      Literals got;
      std::vector<int> place;
      try {
        const Function f = trace_function(
                               [&](const Arrays& a) {
                                 Arrays tangents(c.operands.size());
                                 tangents[k] = a.back();
                                 const JvpResult r = c.def->jvp.fn(
                                     std::span(a).first(c.operands.size()), tangents, c.params);
                                 Arrays defined;
                                 for (size_t i = 0; i < r.tangents.size(); ++i)
                                   if (r.tangents[i].defined()) {
                                     defined.push_back(r.tangents[i]);
                                     place.push_back(static_cast<int>(i));
                                   }
                                 return defined;
                               },
                               [&] {
                                 std::vector<Type> types = c.types;
                                 types.push_back(c.types[k]);
                                 return types;
                               }())
                               .function;
        Literals all = c.operands;
        all.push_back(t);
        got = evaluate(f, all);
      } catch (const UserError& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("differentiate"));
        continue;
      }
      constexpr double h = 1e-6;
      Literals up = c.operands, down = c.operands;
      up[k] = moved(up[k], h, t), down[k] = moved(down[k], -h, t);
      const Literals a = c.def->evaluate(up, c.params), b = c.def->evaluate(down, c.params);
      for (size_t r = 0; r < a.size(); ++r) {
        if (a[r].dtype() != float64) continue;
        const auto it = std::find(place.begin(), place.end(), static_cast<int>(r));
        for (int64_t i = 0; i < a[r].elements(); ++i) {
          const double want = (a[r].data<double>()[i] - b[r].data<double>()[i]) / (2 * h);
          const double mine = it == place.end() ? 0 : got[it - place.begin()].data<double>()[i];
          EXPECT_NEAR(mine, want, 1e-4 * (1 + std::abs(want))) << "result " << r << " at " << i;
        }
      }
      ++tested[c.def->name];
    }
  }
  EXPECT_GE(tested["gather"], 8);
  EXPECT_GE(tested["scatter"], 15);
}

TEST(LibraryRules, TransposeIsTheAdjoint) {
  std::mt19937 rng(6);
  std::map<std::string_view, int> tested;
  for (const Case& c : cases()) {
    if (!c.def->transpose) continue;
    for (size_t k = 0; k < c.operands.size(); ++k) {
      if (!c.floats[k]) continue;
      SCOPED_TRACE(fmt::format("{} {} operand {}", c.def->name, describe(c.types[0]), k));
      // Linear ops at this operand: f(x) - f(0) = f'(x), and f' is what is transposed.
      Literals zero = c.operands;
      zero[k] = Literal(float64, c.types[k].shape);
      const Literal y = c.def->evaluate(c.operands, c.params)[0],
                    y0 = c.def->evaluate(zero, c.params)[0];
      if (y.dtype() != float64) continue;
      Literals twice = c.operands;
      twice[k] = moved(c.operands[k], 1, c.operands[k]);
      const Literal y2 = c.def->evaluate(twice, c.params)[0];
      bool linear = true;
      for (int64_t i = 0; i < y.elements(); ++i) {
        const double a = y.data<double>()[i], a0 = y0.data<double>()[i], a2 = y2.data<double>()[i];
        linear = linear && std::abs((a2 - a0) - 2 * (a - a0)) < 1e-9 * (1 + std::abs(a));
      }
      if (!linear ||
          (c.def->name == "scatter" && std::get<std::string>(c.params.fields()[6]) != "add"))
        continue;
      const Literal ct = distinct(y.shape(), rng);
      std::vector<bool> mask(c.operands.size());
      mask[k] = true;
      std::vector<Type> types = c.types;
      types.push_back({float64, y.shape()});
      const size_t results = c.def->evaluate(c.operands, c.params).size();
      const Function f = trace_function(
                             [&](const Arrays& a) {
                               Arrays cts(results);
                               cts[0] = a.back();
                               return Arrays{c.def->transpose.fn(
                                   cts, std::span(a).first(c.operands.size()), mask, c.params)[k]};
                             },
                             types)
                             .function;
      Literals all = c.operands;
      all.push_back(ct);
      const Literal got = evaluate(f, all)[0];
      ASSERT_EQ(got.shape(), c.types[k].shape);
      const double want = inner(ct, y) - inner(ct, y0);
      EXPECT_NEAR(inner(got, c.operands[k]), want, 1e-9 * (1 + std::abs(want)));
      ++tested[c.def->name];
    }
  }
  EXPECT_GE(tested["gather"], 8);
  EXPECT_GE(tested["scatter"], 5);
}

// The i-th element of a literal along `dim`.
Literal element(const Literal& x, int dim, int64_t i) {
  Shape shape = x.shape();
  int64_t outer = 1, inner = itemsize(x.dtype());
  for (int64_t d = 0; d < shape.rank(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : shape[d];
  const int64_t n = shape[dim];
  shape.erase(shape.begin() + dim);
  Literal out(x.dtype(), shape);
  for (int64_t o = 0; o < outer; ++o)
    std::memcpy(out.mutable_raw() + o * inner, x.raw() + (o * n + i) * inner,
                static_cast<size_t>(inner));
  return out;
}
// `of` as the slices along a new dimension, the later ones reversed in memory: other examples.
Literal stacked(const Literal& of, int dim, int64_t n) {
  Shape shape = of.shape();
  shape.insert(shape.begin() + dim, n);
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < of.shape().rank(); ++d) (d < dim ? outer : inner) *= of.shape()[d];
  Literal out(of.dtype(), shape);
  const int64_t item = itemsize(of.dtype());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < inner; ++j) {
        const int64_t flat = o * inner + j, all = outer * inner;
        const int64_t from = i == 0 ? flat : (flat + i * 7) % all;
        std::memcpy(out.mutable_raw() + ((o * n + i) * inner + j) * item, of.raw() + from * item,
                    static_cast<size_t>(item));
      }
  return out;
}

TEST(LibraryRules, BatchIsTheLoop) {
  std::map<std::string_view, int> tested;
  for (const Case& c : cases()) {
    const size_t n = c.operands.size();
    for (size_t mapped = 1; mapped < (size_t{1} << std::min<size_t>(n, 3)); ++mapped) {
      for (bool last : {false, true}) {
        SCOPED_TRACE(
            fmt::format("{} {} mapped {} {}", c.def->name, describe(c.types[0]), mapped, last));
        std::vector<int> dims(n, -1);
        Literals x = c.operands;
        std::vector<Type> types = c.types;
        for (size_t k = 0; k < n; ++k) {
          if (!(mapped >> k & 1)) continue;
          dims[k] = last ? static_cast<int>(types[k].rank()) : 0;
          x[k] = stacked(c.operands[k], dims[k], 3);
          types[k].shape = x[k].shape();
        }
        std::vector<int> out_dims;
        Literals got;
        try {
          const Function f = trace_function(
                                 [&](const Arrays& a) {
                                   BatchResult r = c.def->batch.fn(a, dims, c.params);
                                   out_dims = r.dims;
                                   return r.results;
                                 },
                                 types)
                                 .function;
          got = evaluate(f, x);
        } catch (const UserError& e) {
          EXPECT_THAT(e.what(), testing::HasSubstr("not mapped"));
          continue;
        }
        for (int64_t i = 0; i < 3; ++i) {
          Literals one;
          for (size_t k = 0; k < n; ++k)
            one.push_back(dims[k] < 0 ? x[k] : element(x[k], dims[k], i));
          const Literals want = c.def->evaluate(one, c.params);
          for (size_t r = 0; r < want.size(); ++r) {
            const Literal mine = out_dims[r] < 0 ? got[r] : element(got[r], out_dims[r], i);
            ASSERT_EQ(mine.shape(), want[r].shape());
            const Literal a = convert_literal(mine, float64), b = convert_literal(want[r], float64);
            for (int64_t j = 0; j < a.elements(); ++j)
              ASSERT_NEAR(a.data<double>()[j], b.data<double>()[j],
                          1e-9 * (1 + std::abs(b.data<double>()[j])));
          }
        }
        ++tested[c.def->name];
      }
    }
  }
  EXPECT_GE(tested["gather"], 30);
  EXPECT_GE(tested["scatter"], 60);
}

}  // namespace
}  // namespace tessera
