// The cotangent of a value while a function is walked backwards: the sum of those of its uses.
#pragma once

#include <vector>

#include "tessera/ops/core/elementwise.h"
#include "tessera/transform/derivative.h"

namespace tessera::transforms {

// A use by something that varies over more manual axes than the value is a cast of it to these; its
// transpose is the sum over the devices along them. Uses that cast alike are added up before that
// sum, which is then one; those that cast otherwise, or not at all, never meet before their own.
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
  // As that of a value of this type; undefined where nothing was added.
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
