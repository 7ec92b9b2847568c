// for_panels: transforms of many lines in lanes, several groups of lanes at a time, on all threads.
#pragma once

#include <algorithm>

#include "tessera/base/thread_pool.h"
#include "tessera/ops/fourier/lane_transform.h"

namespace tessera::ops::fourier {

// The number of points that make a task worth a thread.
inline constexpr int64_t kTaskPoints = 16384;

inline int64_t groups_of(int64_t lines, int64_t width) { return (lines + width - 1) / width; }

// Calls fn(first, count, panel) for ranges of `lines` lines of `points` points. `first` is a
// multiple of the lanes' width, and the panel has buffers for `count` lanes.
template <class T, class F>
void for_panels(int64_t lines, int64_t points, F&& fn) {
  const int64_t width = lane_routines<T>().width, groups = groups_of(lines, width);
  // Every thread gets at least about two panels.
  const int64_t share = std::max<int64_t>(1, groups / (2 * num_threads()));
  const int64_t at_once = std::min<int64_t>(LanePanel<T>::groups_for(points), share);
  const int64_t panels = groups_of(groups, at_once), size = at_once * width;
  const int64_t grain = std::max<int64_t>(1, kTaskPoints / (points * size));
  parallel_for_ranges(panels, grain, [&](int64_t begin, int64_t end) {
    LanePanel<T> panel(points, static_cast<int>(at_once));
    for (int64_t p = begin; p < end; ++p) fn(p * size, std::min(size, lines - p * size), panel);
  });
}

}  // namespace tessera::ops::fourier
