#include "tessera/privacy/batch_selection/sampling_description.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>

#include "tessera/base/format.h"

namespace tessera::privacy::batch_selection {
namespace {

// Returns E min(X, cap) of X ~ Binomial(n, p): the sum of P(X > k) for k < cap.
double truncated_mean(int64_t n, double p, int64_t cap) {
  if (cap >= n) return static_cast<double>(n) * p;
  const boost::math::binomial_distribution<double> binomial(static_cast<double>(n), p);
  double mean = 0;
  for (int64_t k = 0; k < cap; ++k)
    mean += boost::math::cdf(boost::math::complement(binomial, static_cast<double>(k)));
  return mean;
}

bool groups_are_equal(const SamplingDescription& d) {
  return d.cycle_length > 1 && d.partition == PartitionType::kEqualSplit;
}

bool groups_are_random(const SamplingDescription& d) {
  return d.cycle_length > 1 && d.partition == PartitionType::kIndependent;
}

// Returns why the relation is not supported, and what the user can do; null if it is supported.
const char* objection(const SamplingDescription& d, NeighboringRelation relation) {
  if (d.truncated_batch_size && groups_are_random(d))
    return "without truncated_batch_size, as the sizes of the groups of "
           "PartitionType::kIndependent "
           "are random; leave it out, or use PartitionType::kEqualSplit";
  if (relation != NeighboringRelation::kAddOrRemoveOne) return nullptr;
  if (d.method == SamplingMethod::kMultiOwnerMinSep)
    return "other than MultiOwnerMinSepSampling, whose batches are made from who owns what; "
           "account "
           "for replace_special";
  if (d.truncated_batch_size)
    return "without truncated_batch_size, as its law depends on the number of examples; leave it "
           "out, or account for replace_special";
  if (d.method == SamplingMethod::kFixedBatchSize)
    return "other than of a fixed batch size, whose law depends on the number of examples; account "
           "for replace_one";
  if (groups_are_equal(d))
    return "with PartitionType::kIndependent, as equal groups depend on the number of examples; "
           "use it, or account for replace_special";
  return nullptr;
}

}  // namespace

const char* name(SamplingMethod method) {
  switch (method) {
    case SamplingMethod::kPoisson:
      return "poisson";
    case SamplingMethod::kFixedBatchSize:
      return "fixed_batch_size";
    case SamplingMethod::kBallsInBins:
      return "balls_in_bins";
    case SamplingMethod::kBMinSep:
      return "b_min_sep";
    case SamplingMethod::kRandomAllocation:
      return "random_allocation";
    case SamplingMethod::kMultiOwnerMinSep:
      return "multi_owner_min_sep";
  }
  return "?";
}

int64_t group_size(const SamplingDescription& d) { return d.num_examples / d.cycle_length; }

SamplingDescription at_step(SamplingDescription d, int64_t step) {
  for (const auto& [first, probability] : d.sampling_prob_changes)
    if (first <= step) d.sampling_prob = probability;
  d.sampling_prob_changes.clear();
  return d;
}

int64_t max_participations(const SamplingDescription& d) {
  if (d.method == SamplingMethod::kRandomAllocation ||
      d.method == SamplingMethod::kMultiOwnerMinSep)
    return d.steps_per_example;
  return d.iterations == 0 ? 0 : (d.iterations - 1) / d.min_sep + 1;
}

double expected_batch_size(const SamplingDescription& d) {
  const auto examples = static_cast<double>(d.num_examples);
  const auto mean = [&](int64_t n, double p) {
    const int64_t cap = d.truncated_batch_size.value_or(n);
    return truncated_mean(n, p, cap);
  };
  switch (d.method) {
    case SamplingMethod::kPoisson:
      if (groups_are_random(d))
        return mean(d.num_examples, d.sampling_prob / static_cast<double>(d.cycle_length));
      return mean(group_size(d), d.sampling_prob);
    case SamplingMethod::kFixedBatchSize:
    case SamplingMethod::kMultiOwnerMinSep:
      return static_cast<double>(d.batch_size);
    case SamplingMethod::kBallsInBins:
      return examples / static_cast<double>(d.cycle_length);
    case SamplingMethod::kBMinSep: {
      const double p = d.sampling_prob;
      return mean(d.num_examples, p / (static_cast<double>(d.min_sep - 1) * p + 1));
    }
    case SamplingMethod::kRandomAllocation:
      return examples * static_cast<double>(d.steps_per_example) /
             static_cast<double>(d.iterations);
  }
  return 0;
}

bool supports(const SamplingDescription& d, NeighboringRelation relation) {
  return objection(d, relation) == nullptr;
}

void check_supports(const char* op, const SamplingDescription& d, NeighboringRelation relation) {
  if (const char* why = objection(d, relation))
    value_error(op, "for {} expected a sampler {}; got {}", privacy::name(relation), why,
                name(d.method));
}

}  // namespace tessera::privacy::batch_selection
