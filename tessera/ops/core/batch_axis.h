// The axis that vmap maps over, for the batching rules of ops that can name it (collectives).
#pragma once

#include <string>
#include <vector>

#include "tessera/base/shape.h"
#include "tessera/ir/forward.h"

namespace tessera::ops {}  // namespace tessera::ops

namespace tessera {

// What vmap of a sharding constraint does with mesh axes that the per-example dimension cannot be
// cut by.
enum class Indivisible : uint8_t { kError, kHoist, kReplicate };

}  // namespace tessera

namespace tessera::ops {
struct BatchAxis {
  int64_t size = 0;
  std::string name;                         // axis_name; may be empty
  std::vector<std::string> spmd_axes = {};  // mesh axes that the mapped dimension is cut by
  Indivisible indivisible = Indivisible::kError;
  // What becomes of one example has the same bits in every batch: products over the axis are summed
  // by DotSum::kInvariant.
  bool invariant = false;
  // The axis counts examples over which cotangents of what they share are summed by
  // DotSum::kExamples.
  bool sums_examples = false;

  // The innermost mapped axis of this thread; UserError-free: a rule runs only under one.
  static const BatchAxis& current();
  // Null if there is none: a rule that is called by itself.
  static const BatchAxis* current_if_any();
  class Scope;
};

// Whether a collective over the current axis is in the op, or in its regions, or in the function:
// it moves data between examples, whether what it is given is mapped or not.
bool names_batch_axis(const Op& op);
bool names_batch_axis(const Function& function);

// While alive, `axis` is the current one.
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
