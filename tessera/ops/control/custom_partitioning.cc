#include "tessera/ops/control/custom_partitioning.h"

#include <map>
#include <mutex>

#include "tessera/base/fork.h"
#include "tessera/ops/core/op.h"

namespace tessera::ops {
namespace {

constexpr std::string_view kCustom = "custom_partitioning",
                           kCustomEffect = "custom_partitioning_with_effect";

struct CustomPartitioners {
  ForkSafeMutex mutex;
  std::map<std::string, CustomPartitioner> by_name;
};

CustomPartitioners& custom_partitioners() {
  // It is never destroyed: threads may compile programs while the process exits.
  static CustomPartitioners& all = *new CustomPartitioners;
  return all;
}

std::vector<Type> infer_custom(std::string_view op, std::span<const Type> operands,
                               const CustomPartitioningParams& p) {
  if (p.dtypes.size() != p.shapes.size())
    value_error(op, "expected a dtype and a shape for each result, got {} dtypes and {} shapes",
                p.dtypes.size(), p.shapes.size());
  std::vector<Type> out;
  for (size_t r = 0; r < p.dtypes.size(); ++r)
    out.push_back({.dtype = dtype_from_mlir_name(p.dtypes[r]),
                   .shape = p.shapes[r],
                   .varying = varying_union(operands)});
  return out;
}

// Throws UserError unless the rule describes these types.
void check_rule(std::string_view op, const CustomPartitioningParams& p,
                std::span<const Type* const> types) {
  constexpr const char* kRemedy = "write one factor for each dimension, as 'i j -> i j'";
  size_t dim = 0;
  for (const Type* type : types)
    for (int64_t n : type->shape) {
      int64_t size = 1;
      for (int64_t f : dim < p.dims.size() ? p.dims[dim] : Dims()) {
        if (f < 0 || f >= static_cast<int64_t>(p.sizes.size()))
          value_error(op, "expected factors 0 to {} in the sharding rule, got {}; {}",
                      static_cast<int64_t>(p.sizes.size()) - 1, f, kRemedy);
        size *= p.sizes[f];
      }
      if (dim++ >= p.dims.size() || size != n)
        shape_error(op,
                    "expected the sharding rule to have factors of a dimension of {}, got {}; {}",
                    n, size, kRemedy);
    }
  if (dim != p.dims.size())
    shape_error(op, "expected a sharding rule of {} dimensions, got {}; {}", dim, p.dims.size(),
                kRemedy);
}

// If there is no rule, each dimension has a factor of its own.
Factors custom_factors(std::string_view op, std::span<const Type> operands,
                       std::span<const Type> results, const CustomPartitioningParams& p) {
  Factors out;
  std::vector<const Type*> types;
  for (const Type& type : operands) types.push_back(&type);
  for (const Type& type : results) types.push_back(&type);
  const bool has_rule = !p.dims.empty();
  if (has_rule) check_rule(op, p, types);
  for (size_t f = 0; f < p.sizes.size(); ++f)
    out.add(p.sizes[f], static_cast<FactorKind>(f < p.kinds.size() ? p.kinds[f] : 0));
  size_t dim = 0;
  for (size_t k = 0; k < types.size(); ++k) {
    TensorFactors factors;
    for (int64_t n : types[k]->shape) {
      DimFactors& own = factors.emplace_back();
      if (!has_rule) {
        own.push_back(out.add(n));
      } else {
        for (int64_t f : p.dims[dim++]) own.push_back(static_cast<int>(f));
      }
    }
    (k < operands.size() ? out.operands : out.results).push_back(std::move(factors));
  }
  return out;
}

// A program that is run op by op has no pass that would ask the partitioner, so this throws
// UserError.
HostCall not_expanded(const OpParams& params, std::span<const Type>, std::span<const Type>) {
  value_error(
      kCustom,
      "expected a call in a program that is compiled as a whole, got one of '{}' by itself; "
      "put it under jit",
      params.as<CustomPartitioningParams>().partitioner);
}

constexpr const char* kNoDerivative =
    "a function that its author partitions has no derivative; give the function around it one with "
    "custom_jvp or custom_vjp";
constexpr const char* kNoCustomBatch =
    "a function that its author partitions has a rule for arrays of one rank; call it outside vmap";

template <const std::string_view& op, bool effect>
const OpDef& define_custom() {
  return define<CustomPartitioningParams>(
      {.name = op,
       .dialect = "tessera",
       .attributes = {"partitioner", "config", "dtypes", "shapes", "sizes", "kinds", "dims"},
       .infer = [](std::span<const Type> operands,
                   const CustomPartitioningParams& p) { return infer_custom(op, operands, p); },
       .factors =
           [](std::span<const Type> operands, std::span<const Type> results,
              const CustomPartitioningParams& p) {
             return custom_factors(op, operands, results, p);
           },
       .lower = Library{LibraryKind::kCall, not_expanded},
       .jvp = absent(kNoDerivative),
       .transpose = absent(kNoDerivative),
       .batch = absent(kNoCustomBatch),
       .effect = effect,
       .narrow = NarrowOperands::kAsTheyAre});
}

}  // namespace

const OpDef& custom_partitioning_op = define_custom<kCustom, false>();
const OpDef& custom_partitioning_effect_op = define_custom<kCustomEffect, true>();

const CustomPartitioningParams* custom_partitioning_of(const Op& op) {
  return op.def == &custom_partitioning_op || op.def == &custom_partitioning_effect_op
             ? &op.params.as<CustomPartitioningParams>()
             : nullptr;
}

void set_custom_partitioner(const std::string& name, CustomPartitioner partitioner) {
  CustomPartitioners& all = custom_partitioners();
  const std::lock_guard lock(all.mutex);
  all.by_name[name].swap(partitioner);
}

bool has_custom_partitioner(const std::string& name) {
  CustomPartitioners& all = custom_partitioners();
  const std::lock_guard lock(all.mutex);
  return all.by_name.contains(name);
}

CustomPartitioner find_custom_partitioner(const std::string& name) {
  CustomPartitioners& all = custom_partitioners();
  const std::lock_guard lock(all.mutex);
  const auto at = all.by_name.find(name);
  if (at == all.by_name.end())
    value_error(kCustom,
                "expected a partitioner that is registered in this process, got '{}'; compile the "
                "program in the process that traced it",
                name);
  return at->second;
}

}  // namespace tessera::ops
