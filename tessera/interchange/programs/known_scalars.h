// What can be known of the integer scalars of a function without running it: their values in each
// of several lanes, which are the trips of a loop, or the one run of a function.
#pragma once

#include <optional>
#include <vector>

#include "tessera/base/literal.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

class KnownScalars {
 public:
  // `inputs`: [lanes] each; nullopt where it is not known. Follows the ops of `f`, which is kept.
  KnownScalars(const Function& f, int64_t lanes, std::vector<std::optional<Literal>> inputs);

  // The values of v, [lanes] of its dtype; null where they are not known, or v is no scalar of
  // integers or bools.
  const Literal* find(ValueId v) const;
  // The values as numbers; nullopt where one is not known or too large for that.
  std::optional<std::vector<int64_t>> numbers(ValueId v) const;
  // The only value, where there is one lane.
  std::optional<int64_t> number(ValueId v) const;

 private:
  std::optional<Literal> evaluated(const Op& op) const;

  const Function& f_;
  const int64_t lanes_;
  std::vector<std::optional<Literal>> values_;
};

// Of integers or bools; nullopt where one is too large for it.
std::optional<std::vector<int64_t>> numbers_of(const Literal& lanes);
// A scalar in every lane; values start + lane * step of this dtype, which wrap around.
Literal in_lanes(const Literal& scalar, int64_t lanes);
Literal counted_lanes(DType dtype, int64_t start, int64_t step, int64_t lanes);

}  // namespace tessera::interchange
