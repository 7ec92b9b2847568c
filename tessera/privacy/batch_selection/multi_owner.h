// Training sets whose examples have several owners, and batches of such examples. The batches bound
// how often, and in how close succession, a user takes part (Ganesh et al., "It's my data too:
// private ML for datasets with multi-user training examples", arXiv 2503.03622). The names are
// those of jax_privacy.batch_selection's MultiOwner classes. bound_contributions (user_selection.h)
// is the paper's algorithm for several examples per user.
//
//   const auto graph = batch_selection::MultiOwnerGraph::from_owners_per_example(owners);
//   const batch_selection::MultiOwnerMinSepSampling sampler(
//       graph, {.batch_size = 64, .iterations = 1000, .min_sep = 20});
//   const privacy::Plan plan = privacy::make_plan({.sampler = sampler, ..., .amplified = false});
//
// Ownership is public. The guarantee is for the contents of a user's examples: it compares datasets
// in which these are replaced or zeroed out, not datasets in which the user's edges are removed.
// The batches of MultiOwnerMinSepSampling are public too, since they are made from the graph alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/privacy/batch_selection/batch_range.h"
#include "tessera/privacy/batch_selection/sampling_description.h"
#include "tessera/privacy/batch_selection/sampling_key.h"
#include "tessera/random/key.h"

namespace tessera::privacy::batch_selection {

// The users who own each example, as edges between users and examples, both numbered from 0 on.
// Every example has an owner: examples that nobody owns need no bound.
class MultiOwnerGraph {
 public:
  // Constructs the graph in which user user_ids[i] owns example example_ids[i]. Throws UserError
  // (kValue) if the lists have different lengths or are empty; for an id that is negative, or 2^31
  // or more; for a repeated edge; and if an example below the largest one has no owner.
  MultiOwnerGraph(std::span<const int64_t> example_ids, std::span<const int64_t> user_ids);

  // Returns the graph in which owners_per_example[i] are the owners of example i. Owners may be any
  // numbers; users are numbered in increasing order of these. Throws UserError (kValue) if there
  // are no examples, if one has no owner, and if an owner is repeated.
  static MultiOwnerGraph from_owners_per_example(
      std::span<const std::vector<int64_t>> owners_per_example);
  // Returns the graph in which user_to_examples[u] are the examples of user u. Users and examples
  // are renumbered in increasing order; users without examples are left out. Throws UserError
  // (kValue) if there are no examples, and if one is repeated for a user.
  static MultiOwnerGraph from_user_to_examples(
      const std::map<int64_t, std::vector<int64_t>>& user_to_examples);

  int64_t num_examples() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t num_users() const { return num_users_; }
  int64_t num_edges() const { return static_cast<int64_t>(users_.size()); }

  // Returns the owners of an example, in the order in which they were given.
  std::span<const int64_t> users_of(int64_t example) const;
  // Returns the number of owners of an example.
  int64_t degree(int64_t example) const;

 private:
  // The owners of example i are users_[offsets_[i]], ..., users_[offsets_[i + 1] - 1].
  std::vector<size_t> offsets_;
  std::vector<int64_t> users_;
  int64_t num_users_ = 0;
};

// Returns examples of which no two have an owner in common, in increasing order. They are chosen
// greedily: those of few owners first, those of equally many owners in increasing order. The set is
// maximal among the examples of at most max_degree owners (arXiv 2503.03622, Algorithm 2, with one
// example per user). A sampler of these examples then samples each user at most once. Throws
// UserError (kValue) for a max_degree below 1.
std::vector<int64_t> greedy_contribution_bound(const MultiOwnerGraph& graph,
                                               int64_t max_degree = 8);

struct MultiOwnerMinSepOptions {
  int64_t batch_size = 1;
  int64_t iterations = 0;
  // Any min_sep consecutive batches have at most one example of a user, and so has each batch.
  int64_t min_sep = 1;
  // The ratio of the caps on users and on examples: while users may take part u times, an example
  // may be used ceil(u / user_example_ratio) times.
  double user_example_ratio = 4;
  // The key with which examples of equally many owners are shuffled before each pass. If absent,
  // they are in increasing order.
  std::optional<random::Key> shuffle_key = std::nullopt;
};

// A sampler whose batches all have batch_size examples, and are made when it is constructed. It
// repeats passes over the examples, in which those that were used least and have few owners come
// first. An example becomes the next one of the current batch if min_sep and the caps allow it. The
// caps (on how often a user, and an example, is used) begin at 1, and grow if a pass takes nothing.
// A pass takes time linear in the number of edges.
//
// The order is jax_privacy's until a cap grows. After that jax_privacy no longer uses examples that
// were used or met a cap, while this class takes them again.
class MultiOwnerMinSepSampling {
 public:
  // Throws UserError (kValue) for options below 1 (iterations below 0), for a user_example_ratio
  // that is not finite and above 0, and for a min_sep with which batches cannot be filled; the
  // message has the number of examples that were found.
  MultiOwnerMinSepSampling(const MultiOwnerGraph& graph, const MultiOwnerMinSepOptions& options);

  // Return the largest number of batches that an example, and a user, is in.
  int64_t example_maxpart() const { return order_->example_maxpart; }
  int64_t user_maxpart() const { return order_->user_maxpart; }
  // Returns the examples of all batches one after the other, batch_size of each, as they were
  // taken.
  const std::vector<int64_t>& example_order() const { return order_->examples; }

  // Returns the description, in which examples are counted. The guarantee is for the contents of a
  // user's examples, which are used user_maxpart() times, min_sep apart.
  SamplingDescription description() const;
  // Returns the batches. The key is ignored: it is a parameter because the other samplers of
  // BatchSelectionStrategy have it.
  Batches batches(const SamplingKey& key, int64_t first_step = 0) const;
  Batch batch(const SamplingKey& key, int64_t step) const;

  struct Order {
    MultiOwnerMinSepOptions options;
    int64_t num_examples;
    std::vector<int64_t> examples;
    int64_t example_maxpart, user_maxpart;
  };

 private:
  std::shared_ptr<const Order> order_;
};

}  // namespace tessera::privacy::batch_selection
