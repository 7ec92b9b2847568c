// The costs of computing a value again and of storing it, which the planner compares.
#pragma once

#include <vector>

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Recomputing a value with up to about this much work for each element costs less than storing and
// loading it.
inline constexpr float kCheapWork = 20;

class RecomputeCosts {
 public:
  // `stored` marks values that are stored whatever the planner decides. `graph` must outlive this
  // object.
  RecomputeCosts(const Graph& graph, const std::vector<char>& stored);

  // Returns the work of computing one element of v from stored values.
  float work(int v) const { return work_[v]; }
  // Returns the bytes that are read to compute all of v: each stored value counts once.
  float read_bytes(int v) const;
  // The costs if v is not stored, but its expensive sources are: sources that are much smaller,
  // that others read as well, or that are reductions. `work` is the remaining work for an element
  // of v, `bytes` the bytes of the sources.
  struct FromSources {
    float work = 0, bytes = 0;
  };
  FromSources from_sources(int v, const std::vector<char>& stored) const;

 private:
  void add_sources(int v, const std::vector<char>& stored, int depth, FromSources* out) const;

  using Reads = boost::container::small_vector<std::pair<int, float>, 4>;
  const Graph& g_;
  std::vector<float> work_;
  std::vector<Reads> reads_;  // for each value, the stored values it reads and the bytes of each
};

}  // namespace tessera::fusion
