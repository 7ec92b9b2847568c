#include "tessera/ops/reductions/window_fold_code.h"

namespace tessera::ops {

template void fold_windows_of<ReduceKind::kSum>(const WindowFold& fold);
template void fold_windows_of<ReduceKind::kProduct>(const WindowFold& fold);

}  // namespace tessera::ops
