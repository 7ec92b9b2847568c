#include "tessera/spmd/reason_texts.h"

#include <fmt/ranges.h>

#include <array>

namespace tessera::spmd {

std::string gather_text(const PartitionedProgram& program, const ShardedOp& op,
                        const FactorAssignment& a, size_t k) {
  if (used_atoms(a.operands[k])) return "";
  for (size_t d = 0; d < op.operands[k].size(); ++d)
    for (int id : op.factors.operands[k][d])
      if (op.factors.factors[id].kind == FactorKind::kNeedReplication && !op.operands[k][d].empty())
        return fmt::format(
            ", which needs dimension {} whole where no other can be sharded by '{}' instead,", d,
            fmt::join(program.user_names(atom_set(op.operands[k][d])), "', '"));
  return "";
}

std::string fold_text(const PartitionedProgram& program, const Op& op, const Factors& factors,
                      const FactorAssignment& a) {
  constexpr std::array<const char*, 9> kVerbs = {"sums over",
                                                 "multiplies over",
                                                 "takes the minimum over",
                                                 "takes the maximum over",
                                                 "joins by 'and'",
                                                 "joins by 'or'",
                                                 "searches",
                                                 "searches",
                                                 "folds"};
  std::vector<std::string> dims;
  for (size_t d = 0; d < factors.operands[0].size(); ++d)
    for (int id : factors.operands[0][d])
      if ((atom_set(a.axes[id]) & a.reduced) != 0) dims.push_back(std::to_string(d));
  return fmt::format("{} {} dimension{} {} of operand 0, sharded over '{}'", op.def->name,
                     kVerbs[static_cast<size_t>(factors.combiner)], dims.size() == 1 ? "" : "s",
                     fmt::join(dims, " and "), fmt::join(program.user_names(a.reduced), "', '"));
}

}  // namespace tessera::spmd
