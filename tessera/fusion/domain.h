// The domain of a group (plan.h): the loop dimensions of the kernel that it becomes, those of the
// root first, which its parallel and inner dimensions are, and what a reader tells apart of them.
//
// Example, softmax of f32[n, m]: extents (n, m), one parallel dimension, one family {1}. A sum over
// k of a value f32[n, k] that only this kernel reads adds a dimension of extent k and a family {2}.
#pragma once

#include "tessera/fusion/plan.h"

namespace tessera::fusion {

// Non-unit dimensions that `access` tells apart are exactly the leading `rank` ones, in order.
bool covers_leading(const Group& group, int rank, const Access& access);
// Each element of the domain (the root's, or that of one of its reductions) is read once, in order.
bool covers_elements(const Group& group, const Access& access);
// Whether the domain, those of its reductions included, has one element.
bool one_element(const Group& group);
// Makes the leading `parallel_rank` dimensions the parallel ones, of a kernel that runs `instances`
// times; false if it is otherwise structured already, or would be left without enough parallel
// work.
bool structure(Group& group, int parallel_rank, int64_t instances);
// The family of the dimensions `reduced` of an operand: one that folds the same extents, else a new
// one, over dimensions of its own.
int family_of(Group& group, const Shape& operand, const Dims& reduced);
// The access of an operand of `op`, a reduction of the group over `family`, given that of its
// result.
Access reduced_access(const Group& group, const GraphOp& op, int family, const Shape& operand,
                      const Access& access);

}  // namespace tessera::fusion
