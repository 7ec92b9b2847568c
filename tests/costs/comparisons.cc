#include "comparisons.h"

#include "tessera/compile/pipeline.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/runtime/program.h"

namespace tessera::costs {

using namespace compile;
using namespace runtime;

bool sorts_by_comparator(const Function& function) {
  for (const Op& op : function.ops) {
    const ops::SortParams* sort = ops::as_sort(op);
    if (sort && sort->comparator) return true;
    for (const FunctionRef& region : control_regions(op))
      if (sorts_by_comparator(*region)) return true;
    if (const FunctionRef callee = callee_of(op))
      if (sorts_by_comparator(*callee)) return true;
  }
  return false;
}

int64_t interpreted_comparisons_of(const Function& function) {
  if (!sorts_by_comparator(function)) return 0;
  const Stages stages = run_pipeline(function, {});
  const SingleDeviceSharding device(Device{});
  std::vector<ArraySpec> in, out;
  std::vector<DeviceArrayRef> arrays;
  for (ValueId v : function.inputs) {
    const Type& type = function.type(v);
    Literal zeros(type.dtype, type.shape);
    std::fill_n(zeros.mutable_raw(), zeros.bytes(), std::byte{0});
    in.push_back({type.dtype, type.shape, device});
    arrays.push_back(device_array(zeros, device));
  }
  for (int slot : stages.schedule.outputs) {
    const Slot& result = stages.schedule.slots[static_cast<size_t>(slot)];
    out.push_back({result.dtype, result.shape, device});
  }
  const Program program(stages.schedule, in, out);
  const int64_t before = ops::interpreted_comparisons();
  program.run(arrays);
  return ops::interpreted_comparisons() - before;
}

}  // namespace tessera::costs
