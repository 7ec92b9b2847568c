#include "tessera/ops/core/use_rule.h"

#include <map>

namespace tessera::ops {
namespace {

std::map<const OpDef*, UseRule>& rules() {
  // It is never destroyed: threads may trace while the process exits.
  static auto& all = *new std::map<const OpDef*, UseRule>;
  return all;
}

}  // namespace

bool register_use_rule(const OpDef& def, UseRule rule) {
  return rules().emplace(&def, std::move(rule)).second;
}

const UseRule* find_use_rule(const OpDef& def) {
  const auto it = rules().find(&def);
  return it == rules().end() ? nullptr : &it->second;
}

}  // namespace tessera::ops
