#include "tessera/privacy/auditing/training_audit.h"

#include <cmath>
#include <limits>
#include <random>

#include "tessera/base/format.h"
#include "tessera/ir/format.h"
#include "tessera/numpy/manipulation.h"

namespace tessera::privacy::auditing::internal {
namespace {

constexpr const char* kTrainingAuditOp = "privacy::audit";

}  // namespace

std::vector<bool> coins(int64_t canaries, std::optional<uint64_t> seed) {
  std::mt19937_64 random(seed ? *seed * 0x9e3779b97f4a7c15 + 1 : 0);
  std::random_device entropy;
  std::vector<bool> out;
  uint64_t bits = 0;
  for (int64_t i = 0; i < canaries; ++i, bits >>= 1) {
    if (i % 32 == 0) bits = seed ? random() : entropy();
    out.push_back(bits & 1);
  }
  return out;
}

Array counts_of(int64_t examples, const std::vector<bool>& trained_on) {
  std::vector<float> counts(static_cast<size_t>(examples), 1.0f);
  for (const bool counts_too : trained_on) counts.push_back(counts_too ? 1.0f : 0.0f);
  const auto size = static_cast<int64_t>(counts.size());
  return from_host(counts, {size});
}

int64_t rows_of(const char* what, const std::vector<Array>& leaves) {
  if (leaves.empty())
    value_error(kTrainingAuditOp,
                "expected {} with a row for each example, got no arrays; give what the loss takes",
                what);
  for (const Array& leaf : leaves)
    if (leaf.ndim() == 0 || leaf.shape(0) != leaves[0].shape(0))
      value_error(kTrainingAuditOp, "expected as many rows in all arrays of the {}, got {} and {}",
                  what, ir::describe(leaves[0].type()), ir::describe(leaf.type()));
  return leaves[0].shape(0);
}

void expect_examples(int64_t examples, int64_t canaries, int64_t planned) {
  if (canaries < 1)
    value_error(kTrainingAuditOp,
                "expected at least one canary, got {}; some hundreds give a tight bound", canaries);
  if (examples + canaries != planned)
    value_error(
        kTrainingAuditOp,
        "expected examples and canaries to be the plan's num_examples = {} together, got {} "
        "and {}; make a plan of {}",
        planned, examples, canaries, examples + canaries);
}

Array count_of_one(const Array& counts) {
  if (counts.ndim() > 1 || counts.size() != 1)
    value_error("privacy::counted",
                "expected the count of one example, got {}; give the counted loss to a Trainer",
                ir::describe(counts.type()));
  return reshape(counts, Shape{});
}

AuditReport report_of(const std::vector<double>& scores, const std::vector<bool>& trained_on,
                      const AuditClaim& claim) {
  std::vector<double> in, out;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double score =
        std::isnan(scores[i]) ? -std::numeric_limits<double>::infinity() : scores[i];
    (trained_on[i] ? in : out).push_back(score);
  }
  return make_audit_report(std::move(in), std::move(out), claim);
}

}  // namespace tessera::privacy::auditing::internal
