#include "tessera/ir/op_def.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tessera/base/array_size.h"
#include "tessera/base/visit_dtype.h"

namespace tessera::ir {
namespace {

struct Registry {
  std::vector<const OpDef*> all;
  std::map<std::pair<std::string_view, std::string_view>, const OpDef*> by_name;
};
Registry& registry() {
  static Registry& instance = *new Registry;  // never destroyed: programs may be compiled at exit
  return instance;
}

}  // namespace

AttributeNames::AttributeNames(std::initializer_list<std::string_view> names)
    : size_(names.size()) {
  TESSERA_CHECK(names.size() <= kMost, "an op with {} attributes", names.size());
  std::copy(names.begin(), names.end(), names_.begin());
}

const OpDef& register_op(const OpSpec<OpParams>& spec, const OpParams& params) {
  auto* made = new OpDef{spec, params};
  if (spec.regions) made->lower = ControlFlowLowering{};
  for (const Attribute& field : params.fields())
    made->has_dtypes = made->has_dtypes || std::holds_alternative<DType>(field);
  const OpDef& def = *made;
  const bool is_new = registry().by_name.emplace(std::pair(def.dialect, def.name), &def).second;
  TESSERA_CHECK(is_new, "two ops are called {}.{}", def.dialect, def.name);
  TESSERA_CHECK(def.attributes.size() == def.params.fields().size(),
                "{}: an attribute name for every field of its params", def.name);
  registry().all.push_back(&def);
  return def;
}

std::vector<Type> infer_types(const OpDef& def, std::span<const Type> operands,
                              const OpParams& params) {
  TESSERA_CHECK(def.infer, "{}.{} has no type rule", def.dialect, def.name);
  std::vector<Type> types = def.infer(operands, params);
  for (const Type& t : types) checked_bytes(def.name, t.dtype, t.shape);
  if (std::holds_alternative<CollectiveLowering>(def.lower) || !is_computed(def.lower))
    return types;
  AxisNames varying;
  for (const Type& t : operands) varying = axis_union(varying, t.varying);
  for (Type& t : types) t.varying = varying;
  return types;
}

OpParams retyped_params(const OpDef& def, std::span<const Type> operands, const OpParams& params) {
  return def.retype ? def.retype(operands, params) : params;
}

const std::vector<const OpDef*>& all_ops() { return registry().all; }

const OpDef* find_op(std::string_view dialect, std::string_view name) {
  const auto it = registry().by_name.find({dialect, name});
  return it == registry().by_name.end() ? nullptr : it->second;
}

Expr ExprBuilder::number(DType dtype, double value) {
  std::array<std::byte, 16> bytes{};
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    T x;
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
      x = T(static_cast<float>(value));
    } else {
      x = static_cast<T>(value);
    }
    std::memcpy(bytes.data(), &x, sizeof(T));
  });
  return constant(dtype, bytes.data());
}

Expr ExprBuilder::integer(DType dtype, int64_t value) {
  if (!is_integer(dtype)) return number(dtype, static_cast<double>(value));
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), &value,
              sizeof value);  // little-endian: the low bytes are the wrapped value
  return constant(dtype, bytes.data());
}

Factors pointwise_factors(std::span<const Type> operands, std::span<const Type> results) {
  Factors out;
  const Shape& shape = results[0].shape;
  TensorFactors full;
  for (int64_t d : shape) full.push_back({out.add(d)});
  for (const Type& t : operands) out.operands.push_back(t.rank() == 0 ? TensorFactors{} : full);
  for (size_t i = 0; i < results.size(); ++i) out.results.push_back(full);
  return out;
}

std::string to_string(const Factors& f) {
  auto name = [](int id) {
    return id < 18 ? std::string(1, static_cast<char>('i' + id)) : fmt::format("z_{}", id - 18);
  };
  auto tensor = [&](const TensorFactors& dims) {
    std::vector<std::string> parts;
    for (const DimFactors& d : dims) {
      std::string part;
      for (int id : d) part += name(id);
      parts.push_back(part);
    }
    return fmt::format("[{}]", fmt::join(parts, ", "));
  };
  auto tensors = [&](const std::vector<TensorFactors>& all) {
    std::vector<std::string> parts;
    for (const TensorFactors& t : all) parts.push_back(tensor(t));
    return fmt::format("({})", fmt::join(parts, ", "));
  };
  std::vector<std::string> sizes;
  std::map<FactorKind, std::vector<std::string>> kinds;
  for (int id = 0; id < static_cast<int>(f.factors.size()); ++id) {
    sizes.push_back(fmt::format("{}={}", name(id), f.factors[id].size));
    kinds[f.factors[id].kind].push_back(name(id));
  }
  std::string out =
      fmt::format("{}->{} {{{}}}", tensors(f.operands), tensors(f.results), fmt::join(sizes, ", "));
  for (const auto& [kind, names] : kinds) {
    switch (kind) {
      case FactorKind::kPass:
        break;
      case FactorKind::kReduction:
        out += fmt::format(" reduction={{{}}}", fmt::join(names, ", "));
        if (f.combiner != ReduceKind::kSum)
          out +=
              fmt::format(" combiner={}", enum_names(f.combiner)[static_cast<size_t>(f.combiner)]);
        break;
      case FactorKind::kNeedReplication:
        out += fmt::format(" need_replication={{{}}}", fmt::join(names, ", "));
        break;
      case FactorKind::kPermutation:
        out += fmt::format(" permutation={{{}}}", fmt::join(names, ", "));
        break;
    }
  }
  return out;
}

}  // namespace tessera::ir
