#include "tessera/privacy/batch_selection/multi_owner.h"

#include "../errors.h"
#include "../golden/golden.h"
#include "tessera/privacy/accounting/gaussian_mechanism.h"
#include "tessera/privacy/plan.h"

namespace tessera::privacy::batch_selection::multi_owner_test {
namespace {

using tessera::test::expect_error;
using ::testing::ElementsAre;

using Owners = std::vector<std::vector<int64_t>>;

const golden::Json& golden_of(const char* key) {
  static const golden::Topic topic("privacy_head");
  return topic["multi_owner"][key];
}
MultiOwnerGraph golden_graph(const golden::Json& name) {
  return MultiOwnerGraph::from_owners_per_example(
      golden_of("graphs")[name.get<std::string>()].get<Owners>());
}

Owners random_owners(int64_t examples, int64_t users, int64_t most, uint32_t seed) {
  std::mt19937 random(seed);
  Owners out;
  for (int64_t e = 0; e < examples; ++e) {
    std::set<int64_t> owners;
    for (int64_t k = 1 + static_cast<int64_t>(random()) % most; k > 0; --k)
      owners.insert(static_cast<int64_t>(random()) % users);
    out.emplace_back(owners.begin(), owners.end());
  }
  return out;
}

// Returns how often each user takes part. Checks that steps of one user are min_sep apart.
std::vector<int64_t> participations(const MultiOwnerGraph& graph,
                                    const MultiOwnerMinSepSampling& sampler, int64_t min_sep) {
  std::vector<int64_t> counts(static_cast<size_t>(graph.num_users()), 0),
      last(counts.size(), -min_sep);
  int64_t step = 0;
  for (const Batch& batch : sampler.batches(random::key(0))) {
    for (const int64_t example : batch)
      for (const int64_t user : graph.users_of(example)) {
        EXPECT_GE(step - last[static_cast<size_t>(user)], min_sep) << user << " in step " << step;
        last[static_cast<size_t>(user)] = step;
        ++counts[static_cast<size_t>(user)];
      }
    ++step;
  }
  return counts;
}

TEST(MultiOwnerGraph, IsMadeOfEdgesOwnersOrUsers) {
  const MultiOwnerGraph graph =
      MultiOwnerGraph::from_owners_per_example(Owners{{70, -1}, {-1, 2}, {2}});
  EXPECT_EQ(graph.num_examples(), 3);
  EXPECT_EQ(graph.num_users(), 3);
  EXPECT_EQ(graph.num_edges(), 5);
  EXPECT_THAT(graph.users_of(0), ElementsAre(2, 0));
  EXPECT_EQ(graph.degree(2), 1);
  const MultiOwnerGraph users =
      MultiOwnerGraph::from_user_to_examples({{-1, {10, 20}}, {2, {20, 30}}, {5, {}}, {70, {10}}});
  for (int64_t e = 0; e < 3; ++e)
    EXPECT_THAT(users.users_of(e), ::testing::UnorderedElementsAreArray(graph.users_of(e)));
  const MultiOwnerGraph edges(std::vector<int64_t>{1, 0}, std::vector<int64_t>{4, 1});
  EXPECT_EQ(edges.num_users(), 5);
  EXPECT_THAT(edges.users_of(1), ElementsAre(4));
}

TEST(MultiOwnerGraph, MistakesAreErrors) {
  using Ids = std::vector<int64_t>;
  const auto graph = [](const Ids& examples, const Ids& users) {
    return [=] { MultiOwnerGraph(examples, users); };
  };
  expect_error(graph({0, 1}, {0}),
               "[MultiOwnerGraph] expected as many example_ids as user_ids, "
               "and at least one, got 2 and 1");
  expect_error(graph({}, {}), "got 0 and 0");
  expect_error(graph({0, -1}, {0, 0}), "expected example_ids in [0, 2^31), got -1");
  expect_error(graph({0}, {int64_t{1} << 31}), "expected user_ids in [0, 2^31), got 2147483648");
  expect_error(graph({0, 2}, {0, 0}),
               "expected an owner of every example up to 2, got none of "
               "example 1");
  expect_error(graph({0, 0}, {3, 3}), "got user 3 of example 0 twice");
  expect_error(
      [] {
        MultiOwnerGraph::from_owners_per_example(Owners{{1}, {}});
      },
      "expected an owner of every example, got none of example 1");
  expect_error([] { MultiOwnerGraph::from_user_to_examples({{3, {}}}); }, "got 0 and 0");
  expect_error([] { golden_graph("small").users_of(3); }, "expected an example in [0, 3), got 3");
}

TEST(GreedyContributionBound, IsJaxPrivacys) {
  for (const golden::Json& c : golden_of("bounds"))
    EXPECT_EQ(greedy_contribution_bound(golden_graph(c["graph"]), c["max_degree"]),
              c["selected"].get<std::vector<int64_t>>())
        << c.dump();
}

TEST(GreedyContributionBound, IsMaximalWithoutACommonOwner) {
  for (uint32_t seed = 0; seed < 20; ++seed)
    for (int64_t max_degree : {1, 2, 5}) {
      const MultiOwnerGraph graph =
          MultiOwnerGraph::from_owners_per_example(random_owners(200, 50, 5, seed));
      const std::vector<int64_t> kept = greedy_contribution_bound(graph, max_degree);
      std::set<int64_t> used;
      for (const int64_t e : kept) {
        EXPECT_LE(graph.degree(e), max_degree);
        for (const int64_t user : graph.users_of(e)) EXPECT_TRUE(used.insert(user).second);
      }
      for (int64_t e = 0; e < graph.num_examples(); ++e) {
        const auto users = graph.users_of(e);
        if (graph.degree(e) > max_degree || std::binary_search(kept.begin(), kept.end(), e))
          continue;
        EXPECT_TRUE(std::any_of(users.begin(), users.end(), [&](int64_t u) {
          return used.count(u);
        })) << e;
      }
    }
}

// Each example shares a user with the next one: every second example is taken, however long the
// path. (jax_privacy stops after max_degree rounds.)
TEST(GreedyContributionBound, FollowsLongPaths) {
  Owners path;
  for (int64_t e = 0; e < 100; ++e) path.push_back({e, e + 1});
  EXPECT_EQ(greedy_contribution_bound(MultiOwnerGraph::from_owners_per_example(path)).size(), 50u);
}

TEST(GreedyContributionBound, NoDegreeIsAnError) {
  expect_error([] { greedy_contribution_bound(golden_graph("small"), 0); },
               "[greedy_contribution_bound] expected a max_degree of at least 1, got 0");
}

TEST(MultiOwnerMinSep, OrderIsJaxPrivacysUntilCapsGrow) {
  for (const golden::Json& c : golden_of("orders")) {
    const MultiOwnerMinSepSampling sampler(golden_graph(c["graph"]),
                                           {.batch_size = c["batch_size"],
                                            .iterations = c["iterations"],
                                            .min_sep = c["min_sep"],
                                            .user_example_ratio = c["user_example_ratio"]});
    std::vector<int64_t> order;
    for (const golden::Json& batch : c["batches"])
      for (const golden::Json& example : batch) order.push_back(example);
    EXPECT_EQ(sampler.example_order(), order) << c.dump();
    EXPECT_EQ(sampler.user_maxpart(), 1);
  }
}

TEST(MultiOwnerMinSep, UsersAreApartAndCountedForAnyGraph) {
  for (uint32_t seed = 0; seed < 10; ++seed)
    for (const int64_t min_sep : {1, 3, 8}) {
      const MultiOwnerGraph graph =
          MultiOwnerGraph::from_owners_per_example(random_owners(150, 120, 3, seed));
      MultiOwnerMinSepOptions options{.batch_size = 3, .iterations = 200, .min_sep = min_sep};
      if (seed % 2) options.shuffle_key = random::key(seed);
      const MultiOwnerMinSepSampling sampler(graph, options);
      const std::vector<int64_t> counts = participations(graph, sampler, min_sep);
      EXPECT_EQ(*std::max_element(counts.begin(), counts.end()), sampler.user_maxpart());
      std::map<int64_t, int64_t> uses;
      for (const int64_t e : sampler.example_order()) ++uses[e];
      int64_t most = 0;
      for (const auto& [example, count] : uses) most = std::max(most, count);
      EXPECT_EQ(most, sampler.example_maxpart());
    }
}

// Ten examples with an owner each: each pass takes every example once.
TEST(MultiOwnerMinSep, ExamplesAreUsedAgainWhenCapsGrow) {
  Owners owners;
  for (int64_t e = 0; e < 10; ++e) owners.push_back({e});
  const MultiOwnerGraph graph = MultiOwnerGraph::from_owners_per_example(owners);
  const auto sampler = [&](double ratio) {
    return MultiOwnerMinSepSampling(
        graph, {.batch_size = 2, .iterations = 15, .min_sep = 3, .user_example_ratio = ratio});
  };
  for (const double ratio : {1.0, 4.0, 1e6}) {
    EXPECT_EQ(sampler(ratio).example_maxpart(), 3) << ratio;
    EXPECT_EQ(sampler(ratio).user_maxpart(), 3) << ratio;
    participations(graph, sampler(ratio), 3);
  }
}

// Examples that were used less come first.
TEST(MultiOwnerMinSep, UsesAreEven) {
  const MultiOwnerGraph graph = MultiOwnerGraph::from_owners_per_example(Owners(6, {0}));
  for (const int64_t iterations : {4, 6, 12}) {
    const MultiOwnerMinSepSampling sampler(graph, {.iterations = iterations});
    EXPECT_EQ(sampler.user_maxpart(), iterations);
    EXPECT_EQ(sampler.example_maxpart(), iterations == 12 ? 2 : 1);
  }
}

// User 0 owns two examples and user 1 owns one. Examples are used as often as users or half as
// often.
TEST(MultiOwnerMinSep, TheRatioBoundsHowOftenExamplesAreUsed) {
  const MultiOwnerGraph graph = MultiOwnerGraph::from_owners_per_example(Owners{{0}, {0}, {1}});
  const auto uses = [&](double ratio) {
    return MultiOwnerMinSepSampling(graph, {.iterations = 6, .user_example_ratio = ratio})
        .example_maxpart();
  };
  EXPECT_EQ(uses(1), 3);
  EXPECT_EQ(uses(2), 2);
}

TEST(MultiOwnerMinSep, ShufflingKeepsThoseOfFewOwnersFirst) {
  const MultiOwnerGraph graph =
      MultiOwnerGraph::from_owners_per_example(random_owners(60, 500, 3, 1));
  const auto order = [&](std::optional<random::Key> key) {
    const MultiOwnerMinSepSampling sampler(graph, {.iterations = 20, .shuffle_key = key});
    std::vector<int64_t> degrees;
    for (const int64_t e : sampler.example_order()) degrees.push_back(graph.degree(e));
    EXPECT_TRUE(std::is_sorted(degrees.begin(), degrees.end()));
    return sampler.example_order();
  };
  EXPECT_NE(order(random::key(0)), order(std::nullopt));
  EXPECT_NE(order(random::key(0)), order(random::key(1)));
  EXPECT_EQ(order(random::key(0)), order(random::key(0)));
}

TEST(MultiOwnerMinSep, BatchesAreThoseOfTheOrder) {
  const MultiOwnerMinSepSampling sampler(golden_graph("private"),
                                         {.batch_size = 3, .iterations = 3, .min_sep = 3});
  EXPECT_THAT(sampler.batch(random::key(0), 1), ElementsAre(3, 4, 5));
  EXPECT_EQ(sampler.batch(random::key(9), 1), sampler.batch(random::key(0), 1));
  EXPECT_EQ(*sampler.batches(random::key(0), 2).begin(), sampler.batch(random::key(0), 2));
  const BatchSelectionStrategy any = sampler;
  EXPECT_EQ(description(any), sampler.description());
  expect_error([&] { sampler.batch(random::key(0), 3); }, "got 3");
}

// A plan accounts for users: a user takes part user_maxpart times, in steps that are min_sep apart.
TEST(MultiOwnerMinSep, APlanAccountsForUsers) {
  const MultiOwnerGraph graph =
      MultiOwnerGraph::from_owners_per_example(random_owners(90, 200, 3, 3));
  const MultiOwnerMinSepSampling sampler(graph, {.batch_size = 3, .iterations = 40, .min_sep = 5});
  const SamplingDescription d = sampler.description();
  EXPECT_EQ(max_participations(d), sampler.user_maxpart());
  EXPECT_EQ(expected_batch_size(d), 3);
  EXPECT_STREQ(name(d.method), "multi_owner_min_sep");
  EXPECT_TRUE(supports(d, NeighboringRelation::kReplaceSpecial));
  EXPECT_TRUE(supports(d, NeighboringRelation::kReplaceOne));
  PlanOptions options{.sampler = sampler,
                      .noise_multiplier = 2,
                      .delta = 1e-5,
                      .relation = NeighboringRelation::kReplaceSpecial,
                      .amplified = false,
                      .mechanism = Gaussian{}};
  const Plan plan = make_plan(options);
  EXPECT_NEAR(plan.sensitivity() / plan.clipped_norm(),
              std::sqrt(static_cast<double>(sampler.user_maxpart())), 1e-12);
  EXPECT_NEAR(plan.epsilon(), accounting::get_epsilon_gaussian(2, 1e-5), 1e-3);
  const MultiOwnerMinSepSampling other(
      graph, {.batch_size = 3, .iterations = 40, .min_sep = 5, .shuffle_key = random::key(0)});
  EXPECT_NE(other.description(), d);
  options.sampler = other;
  EXPECT_NE(make_plan(options).fingerprint(), plan.fingerprint());
  options.relation = NeighboringRelation::kAddOrRemoveOne;
  expect_error([&] { make_plan(options); },
               "whose batches are made from who owns what; account for replace_special");
  options.relation = NeighboringRelation::kReplaceSpecial, options.amplified = true;
  expect_error([&] { make_plan(options); },
               "got multi_owner_min_sep; amplified = false accounts for all of them");
}

TEST(MultiOwnerMinSep, MistakesAreErrors) {
  const MultiOwnerGraph graph = golden_graph("small");
  const auto sampler = [&](const MultiOwnerMinSepOptions& options) {
    return [=] { MultiOwnerMinSepSampling(graph, options); };
  };
  expect_error(sampler({.batch_size = 0}),
               "[MultiOwnerMinSepSampling] expected a batch_size of at least 1, got 0");
  expect_error(sampler({.batch_size = 4}),
               "expected a batch_size of at most 3, the examples, got 4");
  expect_error(sampler({.iterations = -1}), "expected iterations of at least 0, got -1");
  expect_error(sampler({.iterations = int64_t{1} << 35}), "expected at most 2^34 places");
  expect_error(sampler({.min_sep = 0}), "expected a min_sep of at least 1, got 0");
  expect_error(sampler({.user_example_ratio = 0}),
               "expected a user_example_ratio above 0 and at most 1000000, got 0");
  expect_error(sampler({.user_example_ratio = std::nan("")}), "got nan");
  // Each example shares an owner with another one, so a batch of two is [0, 2], and that is all.
  expect_error(sampler({.batch_size = 2, .iterations = 2, .min_sep = 2}),
               "expected a min_sep that fills all 4 places (2 batches of 2), got 2, with which 2 "
               "were filled before every example left had an owner in the 1 batches before");
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::multi_owner_test
