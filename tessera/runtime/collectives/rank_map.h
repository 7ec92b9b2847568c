// RankMap: the members of a collective. It has, for each instance of the result, its rank along the
// axes of the collective, its group, and the instance of the operand that each member of the group
// holds.
#pragma once

#include <algorithm>
#include <vector>

#include "tessera/fusion/locality.h"
#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

class RankMap {
 public:
  // Numbers instances as the schedule does. In the schedule of one process, these are the instances
  // of that process; an operand that is elsewhere is -1.
  RankMap(const Schedule& s, const Slot& out, const Slot& in, const CollectiveStep& step);
  // Numbers instances on all devices.
  static RankMap on_all_devices(const Schedule& s, const Slot& out, const Slot& in,
                                const CollectiveStep& step) {
    return {s.mesh, out, in, step};
  }

  int64_t instances() const { return static_cast<int64_t>(rank_.size()); }
  int64_t ranks() const { return ranks_; }
  // Returns the size of the largest group. Groups of an all_reduce or broadcast may differ in size.
  int64_t group_size() const { return group_size_; }
  // Returns the size of the group of instance `o`.
  int64_t group_size(int64_t o) const {
    const auto g = static_cast<size_t>(group_[static_cast<size_t>(rank(o))]);
    return begin_[g + 1] - begin_[g];
  }
  // Returns the rank of instance `o` of the result (0 if the result does not vary over the axes).
  int64_t rank(int64_t o) const { return rank_[static_cast<size_t>(o)]; }
  // Returns the position of instance `o` within its group.
  int64_t position(int64_t o) const { return position_[static_cast<size_t>(rank(o))]; }
  // Returns the instance of the operand at the coordinates of `o` and rank `r`.
  int64_t source_of_rank(int64_t o, int64_t r) const {
    return to_in_[static_cast<size_t>(outer_[static_cast<size_t>(o)] * ranks_ + r)];
  }
  // Returns the operand's instance at the g-th member of the group of `o`.
  int64_t source(int64_t o, int64_t g) const {
    return source_of_rank(
        o, members_[static_cast<size_t>(
               begin_[static_cast<size_t>(group_[static_cast<size_t>(rank(o))])] + g)]);
  }

 private:
  RankMap(const Mesh& mesh, const Slot& out, const Slot& in, const CollectiveStep& step);

  int64_t ranks_, group_size_;
  std::vector<int32_t> rank_, outer_, to_in_;
  std::vector<int64_t> position_, group_;  // of each rank
  std::vector<int64_t> members_;           // the ranks of all groups, one group after the other
  std::vector<int64_t> begin_{0};          // where each group begins in members_, and the end
};

inline RankMap::RankMap(const Mesh& mesh, const Slot& out, const Slot& in,
                        const CollectiveStep& step)
    : ranks_(axes_size(mesh, step.over)),
      group_size_(step.groups.empty() ? ranks_ : 0),
      position_(static_cast<size_t>(ranks_)),
      group_(static_cast<size_t>(ranks_)) {
  AxisList outer;
  for (int a : out.axes)
    if (std::find(step.over.begin(), step.over.end(), a) == step.over.end()) outer.push_back(a);
  AxisList joint = outer;
  joint.insert(joint.end(), step.over.begin(), step.over.end());
  to_in_ = instance_map(mesh, joint, in.axes);
  outer_ = instance_map(mesh, out.axes, outer);
  rank_ = instance_map(mesh, out.axes, step.over);
  for (int64_t r = 0; r < ranks_ && step.groups.empty(); ++r) {
    position_[static_cast<size_t>(r)] = r;
    members_.push_back(r);
  }
  if (step.groups.empty()) begin_.push_back(ranks_);
  for (size_t g = 0; g < step.groups.size(); ++g) {
    group_size_ = std::max(group_size_, step.groups[g].rank());
    begin_.push_back(begin_.back() + step.groups[g].rank());
    for (int64_t i = 0; i < step.groups[g].rank(); ++i) {
      const int64_t r = step.groups[g][i];
      group_[static_cast<size_t>(r)] = static_cast<int64_t>(g);
      position_[static_cast<size_t>(r)] = i;
      members_.push_back(r);
    }
  }
}

inline RankMap::RankMap(const Schedule& s, const Slot& out, const Slot& in,
                        const CollectiveStep& step)
    : RankMap(s.mesh, out, in, step) {
  if (!s.local) return;
  std::vector<int32_t> rank, outer;
  for (int32_t o : s.local->instances(out.axes)) {
    rank.push_back(rank_[static_cast<size_t>(o)]);
    outer.push_back(outer_[static_cast<size_t>(o)]);
  }
  rank_ = std::move(rank);
  outer_ = std::move(outer);
  const std::vector<int32_t> here = s.local->instances(in.axes);
  for (int32_t& k : to_in_) {
    const auto found = std::lower_bound(here.begin(), here.end(), k);
    k = found != here.end() && *found == k ? static_cast<int32_t>(found - here.begin()) : -1;
  }
}

}  // namespace tessera::runtime
