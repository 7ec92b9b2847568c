// The axis that vmap maps over. Batching rules of ops that can name it (collectives) read it here.
#pragma once

#include <string>
#include <vector>

#include "tessera/base/shape.h"
#include "tessera/ir/forward.h"

namespace tessera::ops {}  // namespace tessera::ops

namespace tessera {

// What vmap of a sharding constraint does with mesh axes over which one example's dimension cannot
// be sharded.
enum class Indivisible : uint8_t { kError, kHoist, kReplicate };

}  // namespace tessera

namespace tessera::ops {
struct BatchAxis {
  int64_t size = 0;
  std::string name;                         // may be empty
  std::vector<std::string> spmd_axes = {};  // mesh axes over which the mapped dimension is sharded
  Indivisible indivisible = Indivisible::kError;
  // Whether a result for one example has the same bits in every batch: products over the axis are
  // summed with DotSum::kInvariant.
  bool invariant = false;
  // Whether the axis enumerates examples: cotangents of values that all examples share are summed
  // over it with DotSum::kExamples.
  bool sums_examples = false;

  // Returns the innermost mapped axis of this thread. Batching rules run only while there is one.
  static const BatchAxis& current();
  // Returns the innermost mapped axis of this thread, or null if there is none.
  static const BatchAxis* current_if_any();
  class Scope;
};

// Returns whether the op, its regions, or the function contain a collective over the current axis.
// Such a collective moves data between examples, even if its operand is not mapped.
bool names_batch_axis(const Op& op);
bool names_batch_axis(const Function& function);

// Makes `axis` the current one as long as the scope exists.
class BatchAxis::Scope {
 public:
  explicit Scope(BatchAxis axis);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const BatchAxis* saved_;
  BatchAxis axis_;
};

}  // namespace tessera::ops
