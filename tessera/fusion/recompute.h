// The cost of computing a value again and of storing it, which the planner compares.
#pragma once

#include <vector>

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Up to about this much work for an element, recomputing a value costs less than storing and
// loading it.
inline constexpr float kCheapWork = 20;

class RecomputeCosts {
 public:
  // `stored`: values that are stored whatever the planner decides. `graph` must outlive this
  // object.
  RecomputeCosts(const Graph& graph, const std::vector<char>& stored);

  // Returns the work for one element of v from stored values.
  float work(int v) const { return work_[v]; }
  // Returns the bytes that computing all of v reads: every stored value once.
  float read_bytes(int v) const;
  // The alternative of storing not v but its expensive sources that are much smaller, that others
  // read as well, or that are reductions: the remaining work for an element of v, and the sources'
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
