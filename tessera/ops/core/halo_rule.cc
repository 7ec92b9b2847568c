#include "tessera/ops/core/halo_rule.h"

#include <map>

namespace tessera::ops {
namespace {

std::map<const OpDef*, HaloRule>& rules() {
  // It is never destroyed: threads may compile while the process exits.
  static auto& all = *new std::map<const OpDef*, HaloRule>;
  return all;
}

}  // namespace

bool register_halo_rule(const OpDef& def, HaloRule rule) {
  return rules().emplace(&def, std::move(rule)).second;
}

const HaloRule* find_halo_rule(const OpDef& def) {
  const auto it = rules().find(&def);
  return it == rules().end() ? nullptr : &it->second;
}

}  // namespace tessera::ops
