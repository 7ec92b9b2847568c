// The domain of a group (plan.h): the loop dimensions of the kernel that the group becomes. The
// dimensions of the root (the first output) come first; they become parallel and inner dimensions.
//
// Example, softmax of f32[n, m]: extents (n, m), one parallel dimension, one family {1}. A sum over
// k of a value f32[n, k] that only this kernel reads adds a dimension of extent k and a family {2}.
#pragma once

#include "tessera/fusion/plan.h"

namespace tessera::fusion {

// Returns whether `access` depends on exactly the leading `rank` dimensions, in order, apart from
// dimensions of extent 1.
bool covers_leading(const Group& group, int rank, const Access& access);
// Returns whether `access` reads each element of the root's domain, or of the domain of one of the
// group's reductions, once and in order.
bool covers_elements(const Group& group, const Access& access);
// Returns whether the domain, with the dimensions of reductions, has one element.
bool one_element(const Group& group);
// Makes the leading `parallel_rank` dimensions parallel, for a kernel that runs `instances` times.
// Returns false if the group already has another structure, or if there would not be enough
// parallel work.
bool structure(Group& group, int parallel_rank, int64_t instances);
// Returns the family for the dimensions `reduced` of an operand: an existing one that folds the
// same extents, otherwise a new family with dimensions of its own.
int family_of(Group& group, const Shape& operand, const Dims& reduced);
// Returns the access of an operand of `op`, a reduction of the group over `family`, given that of
// its result.
Access reduced_access(const Group& group, const GraphOp& op, int family, const Shape& operand,
                      const Access& access);

}  // namespace tessera::fusion
