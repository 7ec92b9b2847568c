// The domain of a group (plan.h): the loop dimensions of the kernel that it becomes. Those of the
// root come first; they are the parallel and inner dimensions of the kernel.
//
// Example, softmax of f32[n, m]: extents (n, m), one parallel dimension, one family {1}. A sum over
// k of a value f32[n, k] that only this kernel reads adds a dimension of extent k and a family {2}.
#pragma once

#include "tessera/fusion/plan.h"

namespace tessera::fusion {

// Returns whether the non-unit dimensions on which `access` depends are exactly the leading `rank`
// ones, in order.
bool covers_leading(const Group& group, int rank, const Access& access);
// Returns whether each element of the domain (the root's, or that of one of its reductions) is read
// once, in order.
bool covers_elements(const Group& group, const Access& access);
// Returns whether the domain, with those of its reductions, has one element.
bool one_element(const Group& group);
// Makes the leading `parallel_rank` dimensions the parallel ones, for a kernel that runs
// `instances` times. Returns false if the group has another structure already, or would be left
// without enough parallel work.
bool structure(Group& group, int parallel_rank, int64_t instances);
// Returns the family of the dimensions `reduced` of an operand: one that folds the same extents,
// otherwise a new one, over dimensions of its own.
int family_of(Group& group, const Shape& operand, const Dims& reduced);
// Returns the access of an operand of `op`, a reduction of the group over `family`, given that of
// its result.
Access reduced_access(const Group& group, const GraphOp& op, int family, const Shape& operand,
                      const Access& access);

}  // namespace tessera::fusion
