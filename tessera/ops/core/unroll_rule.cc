#include "tessera/ops/core/unroll_rule.h"

#include <map>

namespace tessera::ops {
namespace {

std::map<const OpDef*, UnrollRule>& unroll_rules() {
  // It is never destroyed: threads may compile while the process exits.
  static auto& all = *new std::map<const OpDef*, UnrollRule>;
  return all;
}

}  // namespace

bool register_unroll_rule(const OpDef& def, UnrollRule rule) {
  return unroll_rules().emplace(&def, rule).second;
}

UnrollRule find_unroll_rule(const OpDef& def) {
  const auto it = unroll_rules().find(&def);
  return it == unroll_rules().end() ? nullptr : it->second;
}

}  // namespace tessera::ops
