// Finds values that cannot contain -0. For such an x, x + 0 is x, bit for bit. An array that
// collects sums (the cotangent of a loop) starts as zeros, and no addition to it makes a -0.
#pragma once

#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/control_flow.h"

namespace tessera::fusion {

// A function and, if it is a region of a loop or of a branch, that op.
class Scope {
 public:
  explicit Scope(const Function& function) : function_(function) {}
  // The function is region `region` of `op`, which is an op of the function of `around`.
  Scope(const Function& function, const Scope& around, const Op& op, size_t region)
      : function_(function), around_(&around), op_(&op), region_(region) {}

  // Returns whether it is certain that no element of the value is -0 (for complex numbers: neither
  // part of one). Integers have no -0. The search examines a limited number of values, and returns
  // false if that is not enough.
  bool has_no_negative_zero(ValueId value) const;

 private:
  struct Search;
  void find_makers() const;

  const Function& function_;
  const Scope* around_ = nullptr;
  const Op* op_ = nullptr;
  size_t region_ = 0;
  // For each value, the op that makes it; -1: an input. The first query sets it.
  mutable std::vector<int> makers_;
};

}  // namespace tessera::fusion
