#include "tessera/compile/jit.h"

#include <algorithm>
#include <unordered_set>

#include "tessera/sharding/finer_mesh.h"

namespace tessera::internal {

namespace {

// Never destroyed: jitted functions may be static.
struct AllCaches {
  ForkSafeMutex mutex{ForkParticipant::Level::kCompilations};  // before that of any cache
  std::unordered_set<JitCache*> caches;
};
AllCaches& all_caches() {
  static AllCaches& instance = *new AllCaches;
  return instance;
}

}  // namespace

JitCache::JitCache() {
  const std::lock_guard lock(all_caches().mutex);
  all_caches().caches.insert(this);
}
JitCache::~JitCache() {
  const std::lock_guard lock(all_caches().mutex);
  all_caches().caches.erase(this);
}

void JitCache::clear_all() {
  // Destroyed after the locks are released: what a function captured may be anything.
  std::vector<JitEntryRef> dead;
  const std::lock_guard lock(all_caches().mutex);
  for (JitCache* cache : all_caches().caches) {
    const std::lock_guard cache_lock(cache->mutex_);
    dead.insert(dead.end(), cache->entries_.begin(), cache->entries_.end());
    cache->entries_.clear();
  }
}

JitEntryRef JitCache::find(const void* types, std::string_view statics,
                           std::span<const Array> leaves) {
  const bool x64 = x64_enabled();
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < entries_.size(); ++i) {
    const JitEntry& e = *entries_[i];
    if (e.types != types || e.x64 != x64 || e.statics != statics || e.args.size() != leaves.size())
      continue;
    bool same = true;
    for (size_t k = 0; k < leaves.size() && same; ++k) same = e.args[k].matches(leaves[k]);
    if (!same) continue;
    const auto first = entries_.begin();
    std::rotate(first, first + static_cast<ptrdiff_t>(i), first + static_cast<ptrdiff_t>(i) + 1);
    return entries_[0];
  }
  return nullptr;
}

void JitCache::insert(JitEntryRef entry) {
  JitEntryRef dead;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= kMaxEntries) {
    dead = std::move(entries_.back());
    entries_.pop_back();
  }
  entries_.insert(entries_.begin(), std::move(entry));
}

void expect_concrete(std::string_view op, std::span<const Array> leaves) {
  for (const Array& x : leaves)
    if (x.is_tracer())
      trace_error(op,
                  "expected concrete arrays, got the traced {} after its trace has ended (a leaked "
                  "tracer): return it from the traced "
                  "function instead of storing it",
                  describe(x.type()));
}

namespace {

struct Placed {
  std::vector<Array> all;  // arguments, then captures
  ShardingRequest request;
};

Placed place_arrays(const TracedCall& call, std::span<const Array> leaves,
                    const std::vector<NamedSharding>& in_shardings) {
  Placed out;
  out.all.assign(leaves.begin(), leaves.end());
  out.all.insert(out.all.end(), call.traced.captures.begin(), call.traced.captures.end());
  if (in_shardings.empty() && call.out_shardings.empty()) {
    out.request = request_for(call.traced.function, out.all);
    return out;
  }
  // Requested shardings replace those the arguments came with.
  for (size_t i = 0; i < in_shardings.size(); ++i)
    check_rank("jit", in_shardings[i], leaves[i].shape());
  std::vector<Array> asked = out.all;
  for (size_t i = 0; i < in_shardings.size(); ++i)
    asked[i] = abstract_array(leaves[i].shape(), leaves[i].dtype(), in_shardings[i]);
  out.request = request_for(call.traced.function, asked);
  for (size_t i = 0; i < call.out_shardings.size(); ++i)
    out.request.outputs[i] = call.out_shardings[i];
  return out;
}

Placed place(const TracedCall& call, std::span<const Array> leaves,
             const std::vector<NamedSharding>& in_shardings, const AxisSizes& compute_as) {
  Placed out = place_arrays(call, leaves, in_shardings);
  if (compute_as.empty()) return out;
  finer_mesh(program_mesh(call.traced.function, out.request), compute_as);  // its errors
  out.request.compute_as = compute_as;
  return out;
}

}  // namespace

JitEntryRef compile_call(TracedCall call, const void* types, std::string_view statics,
                         std::span<const Array> leaves,
                         const std::vector<NamedSharding>& in_shardings,
                         std::vector<uint8_t> donate, const std::optional<CommBudget>& budget,
                         const AxisSizes& compute_as) {
  const Placed placed = place(call, leaves, in_shardings, compute_as);
  if (budget)
    expect_within(*budget, run_pipeline(call.traced.function, placed.request, Stage::kPartitioned)
                               .partitioned.collectives);
  auto entry = std::make_shared<JitEntry>();
  entry->types = types;
  entry->statics = statics;
  entry->x64 = x64_enabled();
  for (const Array& leaf : leaves) entry->args.emplace_back(leaf);
  entry->program =
      compile_cached(call.traced.function, placed.request, device_for("jit", placed.all));
  entry->captures = std::move(call.traced.captures);
  if (!donate.empty())
    donate.resize(placed.all.size(),
                  0);  // what a function captured is not the caller's to give away
  entry->donate = std::move(donate);
  entry->result = std::move(call.result);
  return entry;
}

Lowered lower_call(TracedCall call, std::span<const Array> leaves,
                   const std::vector<NamedSharding>& in_shardings, const AxisSizes& compute_as) {
  Placed placed = place(call, leaves, in_shardings, compute_as);
  const Device device = device_for("jit", placed.all);
  return Lowered(std::move(call.traced.function), std::move(placed.request),
                 std::move(call.traced.captures), device);
}

std::vector<Array> run_call(const JitEntry& entry, std::span<const Array> leaves) {
  if (entry.captures.empty()) return entry.program->run(leaves, entry.donate);
  std::vector<Array> all(leaves.begin(), leaves.end());
  all.insert(all.end(), entry.captures.begin(), entry.captures.end());
  return entry.program->run(all, entry.donate);
}

}  // namespace tessera::internal
