// Compares fused programs with the naive evaluator: every op of the registry by itself, and random
// programs.
#include "random_program.h"
#include "tessera/base/namespaces.h"

namespace tessera::fusion_testing::property_test {

using namespace fusion;

namespace {

bool is_fusable(const OpDef& def) {
  if (const auto* library = std::get_if<Library>(&def.lower))
    return library->kind == LibraryKind::kDot || library->kind == LibraryKind::kConvolution;
  return std::holds_alternative<Pointwise>(def.lower) ||
         std::holds_alternative<IndexMap>(def.lower) || std::holds_alternative<Reduce>(def.lower);
}

TEST(FuseProperties, EveryOpAlone) {
  int samples = 0;
  for (const OpDef* def : all_ops()) {
    if (!is_fusable(*def) || !def->samples) continue;
    for (const Sample& sample : def->samples()) {
      if (++samples > 4000) break;
      Function f;
      ValueIds operands;
      for (const Type& type : sample.operands) operands.push_back(f.add_input(type));
      std::vector<Type> results = def->infer(sample.operands, sample.params);
      f.outputs.assign(results.size(), 0);
      const ValueIds ids = f.add_op(*def, sample.params, operands, results);
      f.outputs.assign(ids.begin(), ids.end());
      std::vector<Literal> inputs = sample.literals;
      if (inputs.empty())
        for (size_t k = 0; k < sample.operands.size(); ++k)
          inputs.push_back(random_literal(sample.operands[k], static_cast<uint32_t>(k + 1),
                                          sample.low, sample.high));
      SCOPED_TRACE(fmt::format("{}.{}", def->dialect, def->name));
      try {
        check(f, inputs);
      } catch (const std::exception& error) {
        ADD_FAILURE() << def->name << ": " << error.what();
        break;
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(samples, 100);
}

TEST(FuseProperties, RandomPrograms) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Function f = RandomProgram(seed).make(6 + static_cast<int>(seed % 25));
    try {
      check(f);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::fusion_testing::property_test
