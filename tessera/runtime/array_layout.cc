#include "tessera/runtime/array_layout.h"

#include <algorithm>
#include <unordered_map>

#include "tessera/base/error.h"
#include "tessera/base/fork.h"
#include "tessera/base/hash.h"
#include "tessera/cluster/processes.h"
#include "tessera/ir/format.h"

namespace tessera::runtime {
namespace {

// Returns whether both are equal and print the same text: an array shows the spec that it was
// given, P("x", None) or P("x").
bool identical(const Sharding& a, const Sharding& b) {
  if (!(a == b)) return false;
  if (!a.is_named()) return true;
  return a.named().spec().dims() == b.named().spec().dims() &&
         a.named().spec().replicated() == b.named().spec().replicated();
}

void add_holders(ArrayLayout& layout) {
  const cluster::Processes* processes = cluster::Processes::current();
  if (!processes) return;
  std::vector<std::vector<int>> holders(static_cast<size_t>(layout.instances));
  const std::vector<Device> devices = layout.sharding.devices();
  for (size_t p = 0; p < devices.size(); ++p)
    holders[static_cast<size_t>(layout.device_instances[p])].push_back(
        static_cast<int>(devices[p].process_index));
  bool everywhere = true;
  for (std::vector<int>& list : holders) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    everywhere = everywhere && static_cast<int>(list.size()) == processes->count();
  }
  if (everywhere) return;
  for (size_t i = 0; i < holders.size(); ++i)
    if (std::binary_search(holders[i].begin(), holders[i].end(), processes->index()))
      layout.held.push_back(static_cast<int32_t>(i));
  layout.holders = std::move(holders);
}

ArrayLayoutRef make_layout(DType dtype, const Shape& global, const Sharding& sharding) {
  auto layout = std::make_shared<ArrayLayout>(
      ArrayLayout{.dtype = dtype, .global = global, .sharding = sharding});
  layout->local = sharding.shard_shape(global);
  layout->local_bytes = layout->local.elements() * itemsize(dtype);
  for (int64_t d = 0; d < global.rank(); ++d) layout->shards.push_back(sharding.num_shards(d));
  layout->instances = layout->shards.elements();
  if (!sharding.is_named()) {
    layout->device_instances = {0};
    return layout;
  }
  layout->named = std::make_shared<NamedSharding>(sharding.named());
  const Dims strides = row_major_strides(layout->shards);
  for (int64_t p = 0; p < sharding.num_devices(); ++p) {
    const Dims at = sharding.named().shard_coordinates(p, global.rank());
    int64_t instance = 0;
    for (int64_t d = 0; d < global.rank(); ++d) instance += at[d] * strides[d];
    layout->device_instances.push_back(static_cast<int32_t>(instance));
  }
  add_holders(*layout);
  return layout;
}

struct Interned {
  ForkSafeMutex mutex{ForkParticipant::Level::kLayouts};
  std::unordered_multimap<size_t, std::weak_ptr<const ArrayLayout>> layouts;
  size_t next_sweep = 256;
};
Interned& interned() {
  static Interned& instance = *new Interned;
  return instance;
}

}  // namespace

ArrayLayoutRef array_layout(DType dtype, const Shape& global, const Sharding& sharding,
                            std::string_view op) {
  const size_t key =
      hash_combine(hash_combine(static_cast<size_t>(dtype), hash_value(global)), sharding.hash());
  Interned& in = interned();
  const std::lock_guard lock(in.mutex);
  auto [first, last] = in.layouts.equal_range(key);
  for (auto it = first; it != last; ++it) {
    ArrayLayoutRef found = it->second.lock();
    if (found && found->dtype == dtype && found->global == global &&
        identical(found->sharding, sharding))
      return found;
  }
  if (sharding.is_named()) {
    check_rank(op, sharding.named(), global);
    if (sharding.named().mesh().is_abstract())
      sharding_error(
          op,
          "expected a mesh of devices, got {}; an abstract mesh can be compiled for, not hold data",
          sharding.named().mesh());
  }
  if (in.layouts.size() >= in.next_sweep) {
    std::erase_if(in.layouts, [](const auto& entry) { return entry.second.expired(); });
    in.next_sweep = std::max<size_t>(256, 2 * in.layouts.size());
  }
  ArrayLayoutRef made = make_layout(dtype, global, sharding);
  in.layouts.emplace(key, made);
  return made;
}

int64_t ArrayLayout::held_index(int64_t instance) const {
  if (holders.empty()) return instance;
  const auto found = std::lower_bound(held.begin(), held.end(), instance);
  return found != held.end() && *found == instance ? found - held.begin() : -1;
}

ShardIndex ArrayLayout::index(int64_t instance) const {
  ShardIndex out(static_cast<size_t>(global.rank()));
  for (int64_t d = global.rank() - 1; d >= 0; --d) {
    out[static_cast<size_t>(d)] = shard_range(global[d], shards[d], instance % shards[d]);
    instance /= shards[d];
  }
  return out;
}

bool ArrayLayout::linear() const {
  // A sharded dimension must be the major one of each shard: all dimensions before it have local
  // size 1.
  bool major = true;
  for (int64_t d = 0; d < global.rank(); ++d) {
    if (shards[d] > 1 && !major) return false;
    // Padding of an inner dimension would be between rows.
    if (local[d] * shards[d] != global[d] && d > 0 &&
        Dims(std::span(global).first(static_cast<size_t>(d))).elements() != 1)
      return false;
    major = major && local[d] == 1;
  }
  return true;
}

bool ArrayLayout::even() const {
  for (int64_t d = 0; d < global.rank(); ++d)
    if (local[d] * shards[d] != global[d]) return false;
  return true;
}

namespace {

// Returns the client that all devices of a layout belong to.
int64_t client_of(const Sharding& sharding) {
  return sharding.is_named() ? sharding.named().mesh().devices()[0].client
                             : sharding.single().device().client;
}

}  // namespace

bool same_placement(const ArrayLayout& a, const ArrayLayout& b) {
  if (&a == &b) return true;
  return a.dtype == b.dtype && a.global == b.global && a.shards == b.shards &&
         a.device_instances == b.device_instances &&
         client_of(a.sharding) == client_of(b.sharding) &&
         a.sharding.device_ids() == b.sharding.device_ids();
}

}  // namespace tessera::runtime
