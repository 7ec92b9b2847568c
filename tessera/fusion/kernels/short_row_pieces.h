// What a kernel over short rows computes of the pieces of an index map (a pad, a concatenation).
//
// Elsewhere all elements of a kernel compute all pieces, and each chooses among them. Short rows
// are unrolled (short_rows.h): the kernel has a copy for each column, without the pieces that the
// column does not read. So a value that is put into one of three columns is computed for a third of
// the kernel's elements, and need not be stored for the sake of the others.
#pragma once

#include <vector>

#include "tessera/fusion/plan.h"

namespace tessera::fusion {

// Returns the part of the group's elements that read operand k of op `user`, of which the group
// contains the result at `at`: that of the columns whose pieces read the operand if the kernel is
// one of short rows, else that of the elements that need the result.
float share_of_elements(const Graph& graph, int user, size_t k, const Group& group,
                        const GroupMembership& at);

// Returns whether a kernel for the group can be unrolled if it computes v: it reads arrays of short
// rows, or vectors of one element for each row.
bool reads_short_rows(const Graph& graph, int v, const std::vector<char>& stored,
                      const Group& group);

}  // namespace tessera::fusion
