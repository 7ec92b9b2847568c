#include "tessera/privacy/batch_selection/multi_owner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "tessera/base/format.h"
#include "tessera/privacy/batch_selection/counter_stream.h"
#include "tessera/privacy/batch_selection/subset.h"
#include "tessera/privacy/digest.h"

namespace tessera::privacy::batch_selection {
namespace {

constexpr const char* kGraphOp = "MultiOwnerGraph";
constexpr const char* kSamplerOp = "MultiOwnerMinSepSampling";
constexpr int64_t kMostIds = int64_t{1} << 31;
constexpr int64_t kMostPlaces = int64_t{1} << 34;
constexpr double kMostRatio = 1e6;

struct Edge {
  int64_t example, user;
};

void expect_ids(const char* what, std::span<const int64_t> ids) {
  for (const int64_t id : ids)
    if (id < 0 || id >= kMostIds)
      value_error(kGraphOp,
                  "expected {} in [0, 2^31), got {}; number them from 0 on, as "
                  "from_owners_per_example and from_user_to_examples do",
                  what, id);
}

// Returns for each number its index in the increasing list of the distinct numbers.
std::vector<int64_t> renumbered(const std::vector<int64_t>& numbers) {
  std::vector<int64_t> distinct = numbers, out;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  out.reserve(numbers.size());
  for (const int64_t number : numbers)
    out.push_back(std::lower_bound(distinct.begin(), distinct.end(), number) - distinct.begin());
  return out;
}

// Sorts examples stably by their number of owners, those with the fewest first.
void sort_by_degree(const MultiOwnerGraph& graph, std::vector<int64_t>& examples) {
  std::stable_sort(examples.begin(), examples.end(),
                   [&](int64_t a, int64_t b) { return graph.degree(a) < graph.degree(b); });
}

std::vector<int64_t> all_examples(const MultiOwnerGraph& graph) {
  std::vector<int64_t> out(static_cast<size_t>(graph.num_examples()));
  std::iota(out.begin(), out.end(), 0);
  sort_by_degree(graph, out);
  return out;
}

void expect_options(const MultiOwnerGraph& graph, const MultiOwnerMinSepOptions& o) {
  const auto at_least = [](const char* what, int64_t value, int64_t least) {
    if (value < least)
      value_error(kSamplerOp, "expected {} of at least {}, got {}", what, least, value);
  };
  at_least("a batch_size", o.batch_size, 1);
  at_least("iterations", o.iterations, 0);
  at_least("a min_sep", o.min_sep, 1);
  if (!(o.user_example_ratio > 0 && o.user_example_ratio <= kMostRatio))
    value_error(kSamplerOp, "expected a user_example_ratio above 0 and at most {:.0f}, got {}",
                kMostRatio, o.user_example_ratio);
  if (o.batch_size > graph.num_examples())
    value_error(kSamplerOp, "expected a batch_size of at most {}, the examples, got {}",
                graph.num_examples(), o.batch_size);
  if (o.iterations > kMostPlaces / o.batch_size)
    value_error(kSamplerOp, "expected at most 2^34 places in all batches, got {} batches of {}",
                o.iterations, o.batch_size);
}

// Chooses the examples of all batches.
class GreedyOrder {
 public:
  GreedyOrder(const MultiOwnerGraph& graph, const MultiOwnerMinSepOptions& options)
      : graph_(graph),
        options_(options),
        places_(static_cast<size_t>(options.batch_size * options.iterations)),
        user_counts_(static_cast<size_t>(graph.num_users()), 0),
        // This allows every user to be in the first batch.
        last_batches_(user_counts_.size(), -options.min_sep),
        example_counts_(static_cast<size_t>(graph.num_examples()), 0) {}

  MultiOwnerMinSepSampling::Order fill() {
    std::vector<int64_t> eligible = all_examples(graph_);
    for (int64_t pass_number = 0; examples_.size() < places_; ++pass_number) {
      if (options_.shuffle_key) shuffle(eligible, pass_number);
      const size_t before = examples_.size();
      eligible = pass(eligible);
      if (examples_.size() > before) continue;
      if (!user_capped_ && !example_capped_) refuse();
      raise_caps();
      eligible = all_examples(graph_);
      sort_by_uses(eligible);
    }
    const auto most = [](const std::vector<int64_t>& counts) {
      return *std::max_element(counts.begin(), counts.end());
    };
    return {options_, graph_.num_examples(), std::move(examples_), most(example_counts_),
            most(user_counts_)};
  }

 private:
  // Takes as many of the `eligible` examples as it can, in their order. Returns those that may be
  // taken later under the same caps. (Counts only increase, so an example that met a cap cannot be
  // taken until the cap grows.)
  std::vector<int64_t> pass(const std::vector<int64_t>& eligible) {
    std::vector<int64_t> later;
    for (const int64_t example : eligible) {
      if (examples_.size() == places_) break;
      if (meets_cap(example)) continue;
      if (is_apart(example)) take(example);
      later.push_back(example);
    }
    return later;
  }

  bool meets_cap(int64_t example) {
    if (example_counts_[static_cast<size_t>(example)] >= example_cap_)
      return example_capped_ = true;
    for (const int64_t user : graph_.users_of(example))
      if (user_counts_[static_cast<size_t>(user)] >= user_cap_) return user_capped_ = true;
    return false;
  }

  void sort_by_uses(std::vector<int64_t>& examples) const {
    std::stable_sort(examples.begin(), examples.end(), [&](int64_t a, int64_t b) {
      return example_counts_[static_cast<size_t>(a)] < example_counts_[static_cast<size_t>(b)];
    });
  }

  int64_t batch() const { return static_cast<int64_t>(examples_.size()) / options_.batch_size; }

  bool is_apart(int64_t example) const {
    const std::span<const int64_t> users = graph_.users_of(example);
    return std::all_of(users.begin(), users.end(), [&](int64_t user) {
      return batch() - last_batches_[static_cast<size_t>(user)] >= options_.min_sep;
    });
  }

  void take(int64_t example) {
    for (const int64_t user : graph_.users_of(example)) {
      ++user_counts_[static_cast<size_t>(user)];
      last_batches_[static_cast<size_t>(user)] = batch();
    }
    ++example_counts_[static_cast<size_t>(example)];
    examples_.push_back(example);
  }

  // Raises the cap of users by one or, if no user met it, to the least number with which the cap of
  // examples grows. Sets the cap of examples accordingly.
  void raise_caps() {
    const double ratio = options_.user_example_ratio;
    user_cap_ =
        user_capped_
            ? user_cap_ + 1
            : std::max(
                  user_cap_ + 1,
                  static_cast<int64_t>(std::floor(static_cast<double>(example_cap_) * ratio)) + 1);
    example_cap_ = static_cast<int64_t>(std::ceil(static_cast<double>(user_cap_) / ratio));
    user_capped_ = example_capped_ = false;
  }

  void shuffle(std::vector<int64_t>& examples, int64_t pass_number) const {
    constexpr uint64_t kShuffle = 18;  // no other sampler has this number
    const internal::CounterStream stream = internal::stream_of(kSamplerOp, *options_.shuffle_key)
                                               .child(kShuffle)
                                               .child(static_cast<uint64_t>(pass_number));
    std::vector<int64_t> out = internal::permutation(static_cast<int64_t>(examples.size()), stream);
    for (int64_t& place : out) place = examples[static_cast<size_t>(place)];
    sort_by_degree(graph_, out);
    sort_by_uses(out);
    examples = std::move(out);
  }

  [[noreturn]] void refuse() const {
    value_error(
        kSamplerOp,
        "expected a min_sep that fills all {} places ({} batches of {}), got {}, with which "
        "{} were filled before every example left had an owner in the {} batches before; "
        "take a smaller min_sep or smaller batches",
        places_, options_.iterations, options_.batch_size, options_.min_sep, examples_.size(),
        options_.min_sep - 1);
  }

  const MultiOwnerGraph& graph_;
  const MultiOwnerMinSepOptions options_;
  const size_t places_;
  std::vector<int64_t> user_counts_, last_batches_, example_counts_;
  std::vector<int64_t> examples_;
  int64_t user_cap_ = 1, example_cap_ = 1;
  bool user_capped_ = false, example_capped_ = false;  // met since they last grew
};

class OrderSource final : public internal::BatchSource<Batch> {
 public:
  explicit OrderSource(std::shared_ptr<const MultiOwnerMinSepSampling::Order> order)
      : order_(std::move(order)) {}

  Batch at(int64_t step) override {
    const int64_t size = order_->options.batch_size;
    const auto first = order_->examples.begin() + step * size;
    Batch out(first, first + size);
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  const std::shared_ptr<const MultiOwnerMinSepSampling::Order> order_;
};

}  // namespace

MultiOwnerGraph::MultiOwnerGraph(std::span<const int64_t> example_ids,
                                 std::span<const int64_t> user_ids) {
  if (example_ids.size() != user_ids.size() || example_ids.empty())
    value_error(kGraphOp,
                "expected as many example_ids as user_ids, and at least one, got {} and {}; each "
                "pair is an example and one of its owners",
                example_ids.size(), user_ids.size());
  expect_ids("example_ids", example_ids);
  expect_ids("user_ids", user_ids);
  num_users_ = *std::max_element(user_ids.begin(), user_ids.end()) + 1;
  const int64_t examples = *std::max_element(example_ids.begin(), example_ids.end()) + 1;
  offsets_.assign(static_cast<size_t>(examples) + 1, 0);
  for (const int64_t example : example_ids) ++offsets_[static_cast<size_t>(example) + 1];
  for (int64_t example = 0; example < examples; ++example)
    if (offsets_[static_cast<size_t>(example) + 1] == 0)
      value_error(kGraphOp,
                  "expected an owner of every example up to {}, got none of example {}; number "
                  "those that have owners alone",
                  examples - 1, example);
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  users_.resize(user_ids.size());
  std::vector<size_t> next(offsets_.begin(), offsets_.end() - 1);
  for (size_t i = 0; i < user_ids.size(); ++i)
    users_[next[static_cast<size_t>(example_ids[i])]++] = user_ids[i];
  for (int64_t example = 0; example < examples; ++example) {
    const std::span<const int64_t> owners = users_of(example);
    std::vector<int64_t> sorted(owners.begin(), owners.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      value_error(kGraphOp,
                  "expected each owner of an example once, got user {} of example {} twice", *twice,
                  example);
  }
}

MultiOwnerGraph MultiOwnerGraph::from_owners_per_example(
    std::span<const std::vector<int64_t>> owners_per_example) {
  std::vector<int64_t> examples, users;
  for (size_t i = 0; i < owners_per_example.size(); ++i) {
    if (owners_per_example[i].empty())
      value_error(kGraphOp,
                  "expected an owner of every example, got none of example {}; leave out those "
                  "that nobody owns, which need no bound",
                  i);
    examples.insert(examples.end(), owners_per_example[i].size(), static_cast<int64_t>(i));
    users.insert(users.end(), owners_per_example[i].begin(), owners_per_example[i].end());
  }
  return {examples, renumbered(users)};
}

MultiOwnerGraph MultiOwnerGraph::from_user_to_examples(
    const std::map<int64_t, std::vector<int64_t>>& user_to_examples) {
  std::vector<int64_t> examples, users;
  for (const auto& [user, owned] : user_to_examples) {
    examples.insert(examples.end(), owned.begin(), owned.end());
    users.insert(users.end(), owned.size(), user);
  }
  return {renumbered(examples), renumbered(users)};
}

std::span<const int64_t> MultiOwnerGraph::users_of(int64_t example) const {
  if (example < 0 || example >= num_examples())
    value_error(kGraphOp, "expected an example in [0, {}), got {}", num_examples(), example);
  const auto i = static_cast<size_t>(example);
  return std::span(users_).subspan(offsets_[i], offsets_[i + 1] - offsets_[i]);
}

int64_t MultiOwnerGraph::degree(int64_t example) const {
  return static_cast<int64_t>(users_of(example).size());
}

std::vector<int64_t> greedy_contribution_bound(const MultiOwnerGraph& graph, int64_t max_degree) {
  if (max_degree < 1)
    value_error("greedy_contribution_bound",
                "expected a max_degree of at least 1, got {}; examples of more owners are left out",
                max_degree);
  std::vector<bool> taken(static_cast<size_t>(graph.num_users()), false);
  std::vector<int64_t> out;
  for (const int64_t example : all_examples(graph)) {
    const std::span<const int64_t> users = graph.users_of(example);
    if (static_cast<int64_t>(users.size()) > max_degree) break;
    if (std::any_of(users.begin(), users.end(),
                    [&](int64_t user) { return taken[static_cast<size_t>(user)]; }))
      continue;
    for (const int64_t user : users) taken[static_cast<size_t>(user)] = true;
    out.push_back(example);
  }
  std::sort(out.begin(), out.end());
  return out;
}

MultiOwnerMinSepSampling::MultiOwnerMinSepSampling(const MultiOwnerGraph& graph,
                                                   const MultiOwnerMinSepOptions& options) {
  expect_options(graph, options);
  order_ = std::make_shared<const Order>(GreedyOrder(graph, options).fill());
}

namespace {

// Returns the first 64 bits of the digest of the order.
uint64_t hash_of(const std::vector<int64_t>& examples) {
  privacy::internal::Digest digest;
  digest.add(std::as_bytes(std::span(examples)));
  return std::stoull(digest.hex().substr(0, 16), nullptr, 16);
}

}  // namespace

SamplingDescription MultiOwnerMinSepSampling::description() const {
  return {.method = SamplingMethod::kMultiOwnerMinSep,
          .num_examples = order_->num_examples,
          .iterations = order_->options.iterations,
          .min_sep = order_->options.min_sep,
          .batch_size = order_->options.batch_size,
          .steps_per_example = order_->user_maxpart,
          .order_hash = hash_of(order_->examples)};
}

Batches MultiOwnerMinSepSampling::batches(const SamplingKey&, int64_t first_step) const {
  return {std::make_unique<OrderSource>(order_), first_step, order_->options.iterations};
}

Batch MultiOwnerMinSepSampling::batch(const SamplingKey& key, int64_t step) const {
  return batches(key).at(step);
}

}  // namespace tessera::privacy::batch_selection
