#include "ops.h"

#include <map>
#include <optional>

#include "tessera/ir/op_def.h"
#include "tessera/tessera.h"
#include "tessera/trace/trace.h"
#include "tests/generate/ops.h"
#include "tests/generate/run.h"

namespace tessera::costs {

using namespace generate;
using namespace tracing;

namespace {

// The operands and attributes of an op for x of rows x columns.
struct Call {
  std::vector<Type> operands;
  Attributes p;
};

Type array(DType dtype, Shape shape) { return {.dtype = dtype, .shape = std::move(shape)}; }

bool mentions(const std::string& text, char name) {
  for (size_t k = 0; k < text.size(); ++k) {
    const auto is_letter = [&](size_t at) {
      return at < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
    };
    if (text[k] == name && !is_letter(k + 1) && (k == 0 || !is_letter(k - 1))) return true;
  }
  return false;
}

using Rule = std::function<void(Call& call, int64_t rows, int64_t columns)>;

// Rules of ops that need particular operands or attributes. All others take arrays like x, axis 0
// and small numbers.
const std::map<std::string, Rule>& rules() {
  const auto operand = [](size_t k, DType dtype, std::function<Shape(int64_t, int64_t)> shape) {
    return [=](Call& c, int64_t rows, int64_t columns) {
      c.operands.resize(std::max(c.operands.size(), k + 1));
      c.operands[k] = array(dtype, shape(rows, columns));
    };
  };
  const auto scalar = [](int64_t, int64_t) { return Shape{}; };
  const auto like = [](int64_t rows, int64_t columns) { return Shape{rows, columns}; };
  const auto four = [](int64_t, int64_t) { return Shape{4}; };
  const auto four_rows = [](int64_t, int64_t columns) { return Shape{4, columns}; };
  const auto both = [](const Rule& a, const Rule& b) {
    return [=](Call& c, int64_t rows, int64_t columns) {
      a(c, rows, columns);
      b(c, rows, columns);
    };
  };
  const auto attributes = [](std::function<void(Attributes&, int64_t, int64_t)> set) {
    return [=](Call& c, int64_t rows, int64_t columns) { set(c.p, rows, columns); };
  };
  const Rule integers = operand(0, int32, like), bools = operand(0, bool_, like),
             complexes = operand(0, complex64, like);
  const Rule two_integers = both(integers, operand(1, int32, like));
  const Rule indices = operand(1, int32, four),
             updates = both(indices, operand(2, float32, four_rows));
  const Rule dims0 = attributes([](Attributes& p, int64_t, int64_t) { p.dims = {0}; });
  const Rule axis1 = attributes([](Attributes& p, int64_t, int64_t) { p.i = 1; });
  static const auto& all = *new std::map<std::string, Rule>{
      {"select", both(operand(0, bool_, like), operand(1, float32, like))},
      {"broadcast_to", attributes([](Attributes& p, int64_t r, int64_t c) {
         p.dims = {3, r, c};
       })},
      {"reshape", attributes([](Attributes& p, int64_t r, int64_t c) { p.dims = {r * c}; })},
      {"transpose", attributes([](Attributes& p, int64_t, int64_t) {
         p.dims = {1, 0};
       })},
      {"squeeze", both(operand(0, float32,
                               [](int64_t r, int64_t c) {
                                 return Shape{r, 1, c};
                               }),
                       axis1)},
      {"roll", attributes([](Attributes& p, int64_t, int64_t) { p.i = 3, p.j = 0; })},
      {"roll_by", operand(1, int32, scalar)},
      {"tile", attributes([](Attributes& p, int64_t, int64_t) {
         p.dims = {2, 1};
       })},
      {"repeat", attributes([](Attributes& p, int64_t, int64_t) { p.i = 2, p.j = 0; })},
      {"lax_pad", attributes([](Attributes& p, int64_t, int64_t) {
         p.dims = {1, -1}, p.dims2 = {2, 3}, p.dims3 = {1, 0};
       })},
      {"pad_edge", axis1},
      {"pad_wrap", axis1},
      {"slice", attributes([](Attributes& p, int64_t r, int64_t c) {
         p.dims = {1, 2}, p.dims2 = {r, c - 1}, p.dims3 = {2, 1};
       })},
      {"split", attributes([](Attributes& p, int64_t, int64_t) { p.i = 2, p.j = 0; })},
      {"index_slice",
       attributes([](Attributes& p, int64_t r, int64_t) { p.i = 1, p.j = r - 1, p.k = 2; })},
      {"dynamic_slice",
       both(operand(1, int32, scalar),
            attributes([](Attributes& p, int64_t, int64_t) { p.i = 4, p.j = 0; }))},
      {"dynamic_index", operand(1, int32, scalar)},
      {"dynamic_update", both(operand(1, int32, scalar), operand(2, float32, four_rows))},
      {"take", indices},
      {"take_clip", indices},
      {"gather_rows", indices},
      {"at_set", updates},
      {"at_add", updates},
      {"at_mul", updates},
      {"at_max", updates},
      {"at_min", updates},
      {"at_slice", both(operand(1, float32, four_rows),
                        attributes([](Attributes& p, int64_t, int64_t) { p.i = 2, p.j = 6; }))},
      {"one_hot", both(integers, attributes([](Attributes& p, int64_t, int64_t) {
                         p.i = 4, p.dtype = float32;
                       }))},
      {"sum", dims0},
      {"prod", dims0},
      {"mean", dims0},
      {"max", dims0},
      {"min", dims0},
      {"max_initial", dims0},
      {"var", dims0},
      {"std", dims0},
      {"logsumexp", dims0},
      {"norm", dims0},
      {"sum_where", both(dims0, operand(1, bool_, like))},
      {"count", both(dims0, bools)},
      {"any", both(dims0, bools)},
      {"all", both(dims0, bools)},
      {"top_k", attributes([](Attributes& p, int64_t, int64_t) { p.i = 0, p.j = 4; })},
      {"matmul", operand(1, float32,
                         [](int64_t, int64_t c) {
                           return Shape{c, 4};
                         })},
      {"matmul_bias", both(operand(1, float32,
                                   [](int64_t, int64_t c) {
                                     return Shape{c, 4};
                                   }),
                           operand(2, float32, [](int64_t, int64_t) { return Shape{4}; }))},
      {"einsum", both(attributes([](Attributes& p, int64_t, int64_t) { p.text = "ij,ij->j"; }),
                      operand(1, float32, like))},
      {"einsum_bias", both(attributes([](Attributes& p, int64_t, int64_t) { p.text = "ij,ij->j"; }),
                           both(operand(1, float32, like),
                                operand(2, float32, [](int64_t, int64_t c) { return Shape{c}; })))},
      {"dot_general",
       both(attributes([](Attributes& p, int64_t, int64_t) { p.dims = {1}, p.dims2 = {1}; }),
            operand(1, float32,
                    [](int64_t, int64_t c) {
                      return Shape{4, c};
                    }))},
      {"vdot", operand(1, float32, like)},
      {"outer", operand(1, float32, four)},
      {"kron", operand(1, float32,
                       [](int64_t, int64_t) {
                         return Shape{2, 2};
                       })},
      {"iota", attributes([](Attributes& p, int64_t r, int64_t c) {
         p.dtype = int32, p.dims = {r, c};
       })},
      {"full", attributes([](Attributes& p, int64_t r, int64_t c) {
         p.dtype = float32, p.dims = {r, c};
       })},
      {"int_add", integers},
      {"int_mod", both(integers, attributes([](Attributes& p, int64_t, int64_t) { p.i = 3; }))},
      {"int_mul", two_integers},
      {"int_xor", two_integers},
      {"int_max", two_integers},
      {"equal_int", two_integers},
      {"int_shift", integers},
      {"int_sum", both(integers, dims0)},
      {"int_cumsum", integers},
      {"astype", attributes([](Attributes& p, int64_t, int64_t) { p.dtype = bfloat16; })},
      {"and", both(bools, operand(1, bool_, like))},
      {"not", bools},
      {"complex_exp", complexes},
      {"complex_sin", complexes},
      {"conj", complexes},
      {"real", complexes},
      {"imag", complexes},
      {"abs2", complexes},
      {"complex_div", both(complexes, operand(1, complex64, like))},
      {"complex_tanh", complexes},
  };
  return all;
}

Call call_of(const generate::OpSpec& op, int64_t rows, int64_t columns) {
  Call out;
  const Type x = array(float32, {rows, columns});
  const bool needs_x = mentions(op.text, 'x') || op.text.find("list") != std::string::npos;
  if (needs_x) out.operands.push_back(x);
  for (char name : {'y', 'z'})
    if (mentions(op.text, name)) out.operands.push_back(x);
  out.p.f = 0.25;
  if (const auto rule = rules().find(op.name); rule != rules().end())
    rule->second(out, rows, columns);
  return out;
}

Function traced(const generate::OpSpec& op, bool gradient, int64_t rows, int64_t columns) {
  const Call call = call_of(op, rows, columns);
  const FlatFn body = [&](const Arrays& x) -> Arrays {
    if (!gradient) return op.apply(x, call.p);
    std::vector<bool> inexact;
    for (const Array& array : x) inexact.push_back(is_floating(array.dtype()));
    Arrays by, rest;
    for (const Array& array : x) (is_floating(array.dtype()) ? by : rest).push_back(array);
    return grad(
        [&](const Arrays& y) { return loss_of(op.apply(joined(y, rest, inexact), call.p)); })(by);
  };
  return trace_function(body, call.operands).function;
}

bool has_gradient(const generate::OpSpec& op) {
  try {
    traced(op, true, 64, 8);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

bool is_program(const generate::OpSpec& op) {
  try {
    traced(op, false, 64, 8);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

bool needs_mesh(const generate::OpSpec& op) {
  return op.collective != generate::Collective::kNone || op.name == "constraint";
}

Function traced(const OpDef& def, const Sample& sample, int64_t examples) {
  std::vector<Type> types = sample.operands;
  for (Type& type : types) type.shape.insert(type.shape.begin(), examples);
  return trace_function(
             [&](const Arrays& x) {
               return vmap(
                   [&](const Arrays& example) { return bind_op(def, sample.params, example); })(x);
             },
             types)
      .function;
}

}  // namespace

std::vector<Family> families_of_functions() {
  std::vector<Family> out;
  constexpr int64_t kOther = 8;
  for (const generate::OpSpec& op : all_op_specs()) {
    if (needs_mesh(op) || !is_program(op)) continue;
    const bool differentiable = has_gradient(op);
    for (bool by_rows : {true, false})
      for (bool gradient : {false, true}) {
        if (gradient && !differentiable) continue;
        const auto program = [&op, by_rows](bool of_gradient, int64_t size) {
          return by_rows ? traced(op, of_gradient, size, kOther)
                         : traced(op, of_gradient, kOther, size);
        };
        Family family;
        family.name = fmt::format("{}, {}{}", op.name, by_rows ? "rows" : "columns",
                                  gradient ? " of the gradient" : "");
        family.program = [=](int64_t size) { return program(gradient, size); };
        if (gradient) family.asks = [=](int64_t size) { return program(false, size); };
        family.size = 512;
        out.push_back(std::move(family));
      }
  }
  return out;
}

std::vector<std::string> functions_without_family() {
  std::vector<std::string> out;
  for (const generate::OpSpec& op : all_op_specs())
    if (!needs_mesh(op) && !is_program(op)) out.push_back(op.name);
  return out;
}

std::vector<Family> families_of_samples() {
  std::vector<Family> out;
  for (const OpDef* def : all_ops()) {
    if (!def->samples || !def->evaluate) continue;
    for (const Sample& sample : def->samples()) {
      if (sample.operands.empty()) continue;
      std::string name(def->name);
      for (const Type& type : sample.operands) name += " " + describe(type);
      Family family;
      family.name = name + ", examples";
      family.program = [def, sample](int64_t size) { return traced(*def, sample, size); };
      out.push_back(std::move(family));
    }
  }
  return out;
}

}  // namespace tessera::costs
