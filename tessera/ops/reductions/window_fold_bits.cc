#include "tessera/ops/reductions/window_fold_code.h"

namespace tessera::ops {

template void fold_windows_of<ReduceKind::kAnd>(const WindowFold& fold);
template void fold_windows_of<ReduceKind::kOr>(const WindowFold& fold);

}  // namespace tessera::ops
