#include "tessera/sharding/sharding_groups.h"

#include <algorithm>
#include <map>

#include "tessera/base/error.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/sharding_group.h"

namespace tessera::sharding {
namespace {

// Disjoint sets of values; the root of a set is its first member.
class Sets {
 public:
  explicit Sets(size_t count) : parent_(count) {
    for (size_t v = 0; v < count; ++v) parent_[v] = static_cast<ValueId>(v);
  }
  ValueId root(ValueId v) const {
    while (parent_[v] != v) v = parent_[v];
    return v;
  }
  void join(ValueId a, ValueId b) {
    a = root(a);
    b = root(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<ValueId> parent_;
};

}  // namespace

ValueIds group_states(const Function& flat, const Pins& pins) {
  const size_t count = flat.types.size();
  Sets sets(count);
  std::map<int64_t, ValueId> first;  // the first member of each group
  for (const Op& op : flat.ops) {
    const ops::ShardingGroupParams* params = ops::sharding_group_of(op);
    if (!params) continue;
    const ValueId member = op.operands[0],
                  other = first.emplace(params->group, member).first->second;
    const Type &type = flat.types[member], &wanted = flat.types[other];
    if (!(type.shape == wanted.shape))
      shape_error("sharding_group",
                  "expected all members of group {} to have one shape, got {} and {}; group values "
                  "of equal shapes",
                  params->group, describe(wanted), describe(type));
    sets.join(other, member);
  }
  ValueIds out(static_cast<ValueIds::size_type>(count));
  for (size_t v = 0; v < count; ++v) out[v] = sets.root(static_cast<ValueId>(v));
  if (first.empty()) return out;
  std::map<ValueId, const NamedSharding*> given;  // the first sharding that is given in each set
  std::map<ValueId, ValueId> apart;               // members that leave their set
  for (const auto& [v, sharding] : pins)
    if (!(*given.emplace(out[v], &sharding).first->second == sharding)) apart.emplace(v, out[v]);
  // A set is named by the first member that stays in it.
  std::map<ValueId, ValueId> name;
  for (size_t v = 0; v < count; ++v) {
    const ValueId value = static_cast<ValueId>(v);
    if (apart.contains(value)) {
      out[v] = value;
    } else {
      out[v] = name.emplace(out[v], value).first->second;
    }
  }
  return out;
}

}  // namespace tessera::sharding
