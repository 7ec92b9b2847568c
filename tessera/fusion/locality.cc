#include "tessera/fusion/locality.h"

#include <algorithm>
#include <numeric>

#include "tessera/base/format.h"
#include "tessera/fusion/schedule_walk.h"

namespace tessera::fusion {

Locality::Locality(Mesh mesh, std::vector<int> process_of, int process)
    : mesh_(std::move(mesh)), process_of_(std::move(process_of)), process_(process) {
  TESSERA_CHECK(static_cast<int64_t>(process_of_.size()) == mesh_.size(), "{} processes for {}",
                process_of_.size(), mesh_);
  for (size_t p = 0; p < process_of_.size(); ++p)
    if (process_of_[p] == process) positions_.push_back(p);
  processes_ = process_of_;
  std::sort(processes_.begin(), processes_.end());
  processes_.erase(std::unique(processes_.begin(), processes_.end()), processes_.end());
}

std::vector<int32_t> Locality::of_positions(const AxisList& axes) const {
  AxisList all(static_cast<size_t>(mesh_.rank()));
  std::iota(all.begin(), all.end(), 0);
  return instance_map(mesh_, all, axes);
}

std::vector<int32_t> Locality::instances(const AxisList& axes) const {
  const std::vector<int32_t> number = of_positions(axes);
  std::vector<int32_t> out;
  for (size_t p : positions_) out.push_back(number[p]);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<int32_t> Locality::map(const AxisList& from, const AxisList& to) const {
  const std::vector<int32_t> here = instances(from), there = instances(to),
                             from_number = of_positions(from), to_number = of_positions(to);
  const auto index_in = [](const std::vector<int32_t>& sorted, int32_t number) {
    return std::lower_bound(sorted.begin(), sorted.end(), number) - sorted.begin();
  };
  std::vector<int32_t> out(here.size(), -1);
  for (size_t p : positions_) {
    int32_t& entry = out[static_cast<size_t>(index_in(here, from_number[p]))];
    if (entry < 0) entry = static_cast<int32_t>(index_in(there, to_number[p]));
  }
  return out;
}

std::vector<std::vector<int>> Locality::holders(const AxisList& axes) const {
  const std::vector<int32_t> number = of_positions(axes);
  std::vector<std::vector<int>> out(static_cast<size_t>(axes_size(mesh_, axes)));
  for (size_t p = 0; p < number.size(); ++p)
    out[static_cast<size_t>(number[p])].push_back(process_of_[p]);
  for (std::vector<int>& list : out) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return out;
}

Schedule localize(Schedule s, const std::shared_ptr<const Locality>& locality) {
  s.local = locality;
  for (Slot& slot : s.slots) slot.instances = instance_count(s, slot.axes);
  for (Step& step : s.steps) {
    replace_nested(step, [&](const Schedule& nested) { return localize(nested, locality); });
    auto* table = std::get_if<InstanceTableStep>(&step);
    if (!table) continue;
    std::vector<Literal> here;
    for (int32_t i : locality->instances(s.slots[static_cast<size_t>(table->out)].axes))
      here.push_back(table->values[static_cast<size_t>(i)]);
    table->values = std::move(here);
  }
  return s;
}

}  // namespace tessera::fusion
