#include "tessera/privacy/batch_selection/user_selection.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "tessera/base/format.h"
#include "tessera/privacy/batch_selection/counter_stream.h"
#include "tessera/privacy/batch_selection/subset.h"

namespace tessera::privacy::batch_selection {
namespace {

using internal::CounterStream;

// Returns the examples of each user; users are sorted by id.
std::vector<std::vector<int64_t>> examples_of_users(std::span<const int64_t> user_ids) {
  std::vector<int64_t> order(user_ids.size());
  std::iota(order.begin(), order.end(), 0);
  const auto id = [&](int64_t example) { return user_ids[static_cast<size_t>(example)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return id(a) < id(b); });
  std::vector<std::vector<int64_t>> out;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || id(order[i]) != id(order[i - 1])) out.emplace_back();
    out.back().push_back(order[i]);
  }
  return out;
}

void shuffle(std::vector<std::vector<int64_t>>& lists, const CounterStream& stream) {
  for (size_t user = 0; user < lists.size(); ++user) {
    const auto size = static_cast<int64_t>(lists[user].size());
    std::vector<int64_t> out = internal::permutation(size, stream.child(user));
    for (int64_t& place : out) place = lists[user][static_cast<size_t>(place)];
    lists[user] = std::move(out);
  }
}

class UserSource final : public internal::BatchSource<UserBatch> {
 public:
  UserSource(std::vector<std::vector<int64_t>> examples, int64_t per_user, Batches users)
      : examples_(std::move(examples)),
        per_user_(per_user),
        users_(std::move(users)),
        given_(examples_.size(), 0) {}

  UserBatch at(int64_t step) override {
    if (step < next_) restart();
    for (; next_ < step; ++next_)
      for (const int64_t user : users_.at(next_)) skip(static_cast<size_t>(user));
    ++next_;
    UserBatch out{.examples_per_user = per_user_};
    for (const int64_t user : users_.at(step)) give(static_cast<size_t>(user), out.indices);
    return out;
  }

 private:
  void restart() {
    std::fill(given_.begin(), given_.end(), 0);
    next_ = 0;
  }

  void skip(size_t user) {
    const size_t owned = examples_[user].size();
    given_[user] = (given_[user] + static_cast<size_t>(per_user_) % owned) % owned;
  }

  void give(size_t user, std::vector<int64_t>& out) {
    const std::vector<int64_t>& owned = examples_[user];
    for (int64_t i = 0; i < per_user_; ++i)
      out.push_back(owned[(given_[user] + static_cast<size_t>(i)) % owned.size()]);
    skip(user);
  }

  const std::vector<std::vector<int64_t>> examples_;
  const int64_t per_user_;
  Batches users_;
  std::vector<size_t> given_;  // the index of each user's next example in their list
  int64_t next_ = 0;           // the step for which given_ holds
};

void check_per_user(const UserSelectionStrategy& s) {
  if (s.examples_per_user_per_batch < 1)
    value_error("UserSelectionStrategy",
                "expected examples_per_user_per_batch of at least 1, got {}; it is the length of a "
                "row of the batch",
                s.examples_per_user_per_batch);
}

}  // namespace

SamplingDescription UserSelectionStrategy::description() const {
  check_per_user(*this);
  return batch_selection::description(base_strategy);
}

UserBatches UserSelectionStrategy::batches(std::span<const int64_t> user_ids,
                                           const SamplingKey& key, int64_t first_step) const {
  const SamplingDescription d = description();
  std::vector<std::vector<int64_t>> examples = examples_of_users(user_ids);
  if (static_cast<int64_t>(examples.size()) != d.num_examples)
    value_error("UserSelectionStrategy",
                "expected a base_strategy whose num_examples is the number of users, {}, got {}; a "
                "strategy selects among all users",
                examples.size(), d.num_examples);
  constexpr uint64_t kShuffle = 16;  // no base strategy has this number
  if (shuffle_per_user)
    shuffle(examples, internal::stream_of("UserSelectionStrategy", key).child(kShuffle));
  return {std::make_unique<UserSource>(std::move(examples), examples_per_user_per_batch,
                                       batch_selection::batches(base_strategy, key)),
          first_step, d.iterations};
}

UserBatch UserSelectionStrategy::batch(std::span<const int64_t> user_ids, const SamplingKey& key,
                                       int64_t step) const {
  return batches(user_ids, key).at(step);
}

std::vector<int64_t> bound_contributions(std::span<const std::vector<int64_t>> owners,
                                         int64_t examples_per_user, const SamplingKey& key) {
  const char* op = "bound_contributions";
  if (examples_per_user < 1)
    value_error(op, "expected examples_per_user of at least 1, got {}; users own that many at most",
                examples_per_user);
  constexpr uint64_t kOrder = 17;
  std::unordered_map<int64_t, int64_t> used;
  std::vector<int64_t> out;
  const auto count = static_cast<int64_t>(owners.size());
  for (const int64_t i : internal::permutation(count, internal::stream_of(op, key).child(kOrder))) {
    std::vector<int64_t> users = owners[static_cast<size_t>(i)];
    std::sort(users.begin(), users.end());
    users.erase(std::unique(users.begin(), users.end()), users.end());
    if (std::any_of(users.begin(), users.end(),
                    [&](int64_t user) { return used[user] >= examples_per_user; }))
      continue;
    for (const int64_t user : users) ++used[user];
    out.push_back(i);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tessera::privacy::batch_selection
