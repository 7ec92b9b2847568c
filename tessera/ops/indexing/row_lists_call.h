// The code of list_rows and fold_lists.
#pragma once

#include "tessera/ir/factors.h"
#include "tessera/ir/lowering.h"
#include "tessera/ir/params.h"
#include "tessera/ir/type.h"

namespace tessera::ops {

HostCall list_rows_call(const OpParams& params, std::span<const Type> operands,
                        std::span<const Type> results);
HostCall fold_lists_call(const OpParams& params, std::span<const Type> operands,
                         std::span<const Type> results);

}  // namespace tessera::ops
