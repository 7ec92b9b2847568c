#include "tessera/fusion/recompute.h"

#include <algorithm>

namespace tessera::fusion {
namespace {

constexpr float kAlwaysStored = 1e6F;  // the work of a reduction, whatever it folds
constexpr size_t kMaxReads = 16;       // the number of stored values that are counted

}  // namespace

RecomputeCosts::RecomputeCosts(const Graph& graph, const std::vector<char>& stored)
    : g_(graph), work_(graph.values.size(), 0), reads_(graph.values.size()) {
  for (const GraphOp& op : g_.ops) {
    if (op.stored()) continue;
    for (int r : op.results) {
      const GraphValue& result = g_.values[r];
      float work = op.work;
      Reads reads;
      auto add = [&](int source, float bytes) {
        for (auto& [value, most] : reads) {
          if (value != source) continue;
          most = std::max(most, bytes);
          return;
        }
        if (reads.size() < kMaxReads) reads.emplace_back(source, bytes);
      };
      for (int v : op.operands) {
        const float part = std::min<float>(
            1, static_cast<float>(result.elements()) /
                   static_cast<float>(std::max<int64_t>(1, g_.values[v].elements())));
        if (stored[v]) {
          add(v, part * static_cast<float>(g_.values[v].bytes()));
        } else {
          work += work_[v];
          for (const auto& [source, bytes] : reads_[v]) add(source, part * bytes);
        }
      }
      work_[r] = op.kind == OpKind::kReduce ? kAlwaysStored : std::min(work, kAlwaysStored);
      reads_[r] = std::move(reads);
    }
  }
}

float RecomputeCosts::read_bytes(int v) const {
  float bytes = 0;
  for (const auto& [source, part] : reads_[v]) bytes += part;
  return bytes;
}

RecomputeCosts::FromSources RecomputeCosts::from_sources(int v,
                                                         const std::vector<char>& stored) const {
  constexpr int kMaxDepth = 8;
  FromSources out;
  add_sources(v, stored, kMaxDepth, &out);
  return out;
}

void RecomputeCosts::add_sources(int v, const std::vector<char>& stored, int depth,
                                 FromSources* out) const {
  const GraphOp& op = g_.ops[g_.values[v].op];
  if (op.kind == OpKind::kReduce || depth == 0) {
    out->work += work_[v];
    return;
  }
  // A scalar that is broadcast is an operand of instructions.
  const bool of_scalar = op.kind == OpKind::kIndexMap && g_.values[op.operands[0]].elements() == 1;
  if (!of_scalar) out->work += op.work;
  for (int u : op.operands) {
    const GraphValue& source = g_.values[u];
    if (stored[u]) continue;
    if (work_[u] <= kCheapWork) {
      out->work += work_[u];
      continue;
    }
    const bool small = 4 * source.elements() <= g_.values[v].elements();
    const bool shared = std::any_of(source.users.begin(), source.users.end(),
                                    [&](int user) { return &g_.ops[user] != &op; });
    if (small || shared || g_.ops[source.op].kind == OpKind::kReduce) {
      out->bytes += static_cast<float>(source.bytes());
    } else {
      add_sources(u, stored, depth - 1, out);
    }
  }
}

}  // namespace tessera::fusion
