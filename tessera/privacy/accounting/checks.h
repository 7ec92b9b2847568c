// The checks that every accountant makes before it changes. Only source files of accounting/
// include this header.
#pragma once

#include <utility>
#include <vector>

#include "tessera/base/format.h"
#include "tessera/privacy/accounting/dp_event.h"
#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy::accounting::internal {

inline void expect_delta(const char* op, double delta) {
  if (!(delta >= 0 && delta <= 1))
    value_error(op, "expected a delta in [0, 1], got {}; it is a probability", delta);
}
inline void expect_epsilon(const char* op, double epsilon) {
  if (!(epsilon >= 0))
    value_error(op, "expected an epsilon that is not negative, got {}; 0 is perfect privacy",
                epsilon);
}

// Returns whether the accountant can compose the event: whether unsupported() is empty for every
// leaf.
template <class Accountant>
bool all_supported(const DpEvent& event, const Accountant& accountant) {
  bool all = true;
  for_each_leaf(event, 1, [&](const DpEvent& leaf, int64_t) {
    all = all && accountant.unsupported(leaf).empty();
  });
  return all;
}

// Returns the leaves of an event that counts `count` times. Throws UserError if the event is
// invalid or if the accountant does not support one of them.
template <class Accountant>
std::vector<std::pair<DpEvent, int64_t>> checked_leaves(const char* op, const DpEvent& event,
                                                        int64_t count,
                                                        const Accountant& accountant) {
  if (count < 0)
    value_error(op, "expected a count that is not negative, got {}; 0 is no event", count);
  validate(event);
  std::vector<std::pair<DpEvent, int64_t>> out;
  for_each_leaf(event, count, [&](const DpEvent& leaf, int64_t times) {
    if (const std::string why = accountant.unsupported(leaf); !why.empty())
      value_error(
          op,
          "expected an event that can be accounted for, got {} under {}: {}; compose another "
          "event or take another accountant or relation",
          to_string(leaf), name(accountant.neighboring_relation()), why);
    out.emplace_back(leaf, times);
  });
  return out;
}

}  // namespace tessera::privacy::accounting::internal
