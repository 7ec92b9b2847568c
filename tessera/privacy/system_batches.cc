#include "tessera/privacy/system_batches.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tessera/base/format.h"
#include "tessera/numpy/creation.h"

namespace tessera::privacy::internal {

using batch_selection::Batch;
using batch_selection::SamplingKey;

namespace {

constexpr const char* kSystemBatchesOp = "privacy::Trainer";

// The nonce of the stream that names the key. Streams with other nonces draw batches
// (counter_stream.h).
constexpr uint64_t kNameNonce = 2;

uint64_t name_of(const SecretKey& key) {
  uint64_t out;
  key.fill(kNameNonce, 0, std::as_writable_bytes(std::span(&out, 1)));
  return std::max<uint64_t>(out, 1);  // 0 means that there is no key
}

random::Key words_of_name(uint64_t name) {
  const std::array<uint32_t, 2> words{static_cast<uint32_t>(name >> 32),
                                      static_cast<uint32_t>(name)};
  return random::wrap_key_data(Array(Literal::from<uint32_t>(words, {2})));
}

uint64_t name_of_words(const random::Key& run) {
  const std::vector<uint32_t> words = to_vector<uint32_t>(run.data);
  return uint64_t{words[0]} << 32 | words[1];
}

}  // namespace

random::Key SystemBatches::begin() {
  if (!has_schedule()) return words_of_name(0);
  const SecretKey key = SecretKey::of_cluster("the key of a run's batches");
  const uint64_t name = name_of(key);
  keys_.insert_or_assign(name, key);
  return words_of_name(name);
}

Batch SystemBatches::examples(const random::Key& run, int64_t step) {
  if (!has_schedule()) {
    const SamplingKey key(
        SecretKey::of_cluster(fmt::format("the key of the batch of step {}", step)));
    return batch_selection::batches(sampler_, key).at(step);
  }
  expect_known(run);
  const uint64_t name = name_of_words(run);
  if (!batches_ || name != last_) {
    batches_.emplace(batch_selection::batches(sampler_, SamplingKey(keys_.at(name))));
    last_ = name;
  }
  return batches_->at(step);
}

void SystemBatches::expect_known(const random::Key& run) const {
  if (!has_schedule() || keys_.contains(name_of_words(run))) return;
  value_error(
      kSystemBatchesOp,
      "expected a run of RandomSource::kSystem that this trainer has begun and not ended, "
      "got another "
      "one: its batches follow a schedule, whose key is in the memory of its trainer "
      "alone, and another "
      "schedule would use examples more often than is accounted for; go on with that "
      "trainer, or begin "
      "anew from the parameters with init(), whose epsilon is spent in addition to what they have "
      "spent, or make "
      "plans of Poisson sampling without a cycle or of RandomSource::kKey, whose runs go "
      "on anywhere");
}

void SystemBatches::end(const random::Key& run) {
  const uint64_t name = name_of_words(run);
  if (keys_.erase(name) > 0 && name == last_) batches_.reset();
}

}  // namespace tessera::privacy::internal
