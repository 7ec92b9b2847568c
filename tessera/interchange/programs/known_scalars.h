// The integer scalars of a function that are known without running it. They have a value in each
// lane. Lanes are the trips of a loop, or the only run of a function.
#pragma once

#include <optional>
#include <vector>

#include "tessera/base/literal.h"
#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

class KnownScalars {
 public:
  // `inputs` have shape [lanes]; nullopt means unknown. Follows the ops of `f`, which must outlive
  // this object.
  KnownScalars(const Function& f, int64_t lanes, std::vector<std::optional<Literal>> inputs);

  // Returns the values of v, [lanes] of its dtype, or null if they are not known or v is no scalar
  // of integers or bools.
  const Literal* find(ValueId v) const;
  // Returns the values as numbers, or nullopt if one is not known or too large.
  std::optional<std::vector<int64_t>> numbers(ValueId v) const;
  // Returns the value if there is one lane.
  std::optional<int64_t> number(ValueId v) const;

 private:
  std::optional<Literal> evaluated(const Op& op) const;

  const Function& f_;
  const int64_t lanes_;
  std::vector<std::optional<Literal>> values_;
};

// Returns integers or bools as numbers, or nullopt if one is too large.
std::optional<std::vector<int64_t>> numbers_of(const Literal& lanes);
// in_lanes returns a scalar repeated in every lane. counted_lanes returns the values start + lane *
// step of this dtype, which wrap around.
Literal in_lanes(const Literal& scalar, int64_t lanes);
Literal counted_lanes(DType dtype, int64_t start, int64_t step, int64_t lanes);

}  // namespace tessera::interchange
