// The cotangent of a value while a function is transposed: the sum of the cotangents of its uses.
#pragma once

#include <vector>

#include "tessera/ops/core/elementwise.h"
#include "tessera/transform/derivative.h"

namespace tessera::transforms {

// Adds up the cotangents of a value's uses. If a use varies over more manual axes than the value,
// the value was cast for it, and the transpose of that cast is a sum over the devices along these
// axes. Cotangents with the same axes are added before that sum, so that there is one sum for them.
class Cotangent {
 public:
  bool defined() const { return !by_variance_.empty(); }
  void add(const Array& ct) {
    if (!ct.defined()) return;
    for (Array& sum : by_variance_)
      if (sum.type().varying == ct.type().varying) {
        sum = lax::add(sum, ct);
        return;
      }
    by_variance_.push_back(ct);
  }
  // Returns the cotangent of a value of this type; undefined if nothing was added.
  Array at(const Type& like) const {
    Array out;
    for (const Array& part : by_variance_) {
      const Array settled = cotangent_of(part, like);
      out = out.defined() ? lax::add(out, settled) : settled;
    }
    return out;
  }

 private:
  std::vector<Array> by_variance_;
};

}  // namespace tessera::transforms
