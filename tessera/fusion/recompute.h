// What computing a value again costs, against storing it: what the planner weighs.
#pragma once

#include <vector>

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Recomputing a value costs less than storing and loading it up to about this much work an element.
inline constexpr float kCheapWork = 20;

class RecomputeCosts {
 public:
  // `stored`: values that are stored whatever the planner decides. `graph` must outlive this.
  RecomputeCosts(const Graph& graph, const std::vector<char>& stored);

  // Of one element of v, as far up as nothing is stored.
  float work(int v) const { return work_[v]; }
  // What computing all of v reads: every stored value once.
  float read_bytes(int v) const;
  // Where not v but its expensive sources are stored, those that are much smaller, that others read
  // as well, or that are reductions: the work that is left for an element of v, and the sources'
  // bytes.
  struct FromSources {
    float work = 0, bytes = 0;
  };
  FromSources from_sources(int v, const std::vector<char>& stored) const;

 private:
  void add_sources(int v, const std::vector<char>& stored, int depth, FromSources* out) const;

  using Reads = boost::container::small_vector<std::pair<int, float>, 4>;
  const Graph& g_;
  std::vector<float> work_;
  std::vector<Reads> reads_;  // stored values and how many bytes of each
};

}  // namespace tessera::fusion
