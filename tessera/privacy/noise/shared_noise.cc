#include "tessera/privacy/noise/shared_noise.h"

#include <mutex>
#include <optional>

#include "tessera/base/format.h"
#include "tessera/ir/array.h"
#include "tessera/mesh/device.h"
#include "tessera/privacy/secret_key.h"

namespace tessera::privacy::internal {

namespace {

// The key of this process. It is never destroyed, because threads of the runtime may ask for it
// while the process ends.
struct Shared {
  std::mutex owner;    // held while a SharedNoise exists
  uint64_t count = 0;  // the number of SharedNoise objects so far
  std::mutex mutex;    // protects the members below
  std::optional<SecretKey> key;
};
Shared& shared() {
  static Shared& instance = *new Shared;
  return instance;
}

thread_local bool this_thread_owns = false;

}  // namespace

SharedNoise::SharedNoise(std::string_view op, RandomSource source) {
  if (source != RandomSource::kSystem || process_count() == 1 || this_thread_owns) return;
  if (ir::Trace::current())
    trace_error(op,
                "expected no RandomSource::kSystem in a function that is jitted and run by {} "
                "processes, which would each draw noise of their own for what is one array; train "
                "by privacy::Trainer, call update() outside jit, or take RandomSource::kKey",
                process_count());
  Shared& all = shared();
  std::unique_lock owner(all.owner);
  const SecretKey key = SecretKey::of_cluster(fmt::format("the key of noise {}", all.count + 1));
  ++all.count;
  const std::lock_guard lock(all.mutex);
  all.key = key;
  owner.release();
  owns_ = this_thread_owns = true;
}

SharedNoise::~SharedNoise() {
  if (!owns_) return;
  Shared& all = shared();
  {
    const std::lock_guard lock(all.mutex);
    all.key.reset();
  }
  this_thread_owns = false;
  all.owner.unlock();
}

void fill_from_shared_noise(uint64_t nonce, uint64_t block, std::span<std::byte> out) {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  if (!all.key)
    throw RuntimeError(
        "[privacy::RandomSource::kSystem] expected a program that privacy::Trainer or update() "
        "runs, "
        "got one that runs by itself in several processes; train by privacy::Trainer, or take "
        "RandomSource::kKey");
  all.key->fill(nonce, block, out);
}

}  // namespace tessera::privacy::internal
