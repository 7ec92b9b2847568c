// Collectives and sharding constraints.
#include <algorithm>

#include "maker.h"

namespace tessera::generate {

void Maker::constraint() {
  const auto found = find([](const ValueType& t) { return t.shape.rank() > 0; });
  if (!found || mesh_.rank() == 0) return;
  const Shape& shape = type(*found).shape;
  std::vector<DimSpec> dims(static_cast<size_t>(shape.rank()));
  for (const std::string& name : c_.axis_names) {
    const bool manual =
        std::any_of(axes_.begin(), axes_.end(), [&](const Axis& a) { return a.name == name; });
    const int64_t d = pick(shape.rank());
    if (manual || chance(40)) continue;
    if (vmaps_ > 0 &&
        shape[d] % (mesh_.axis_size(name) *
                    std::max<int64_t>(1, static_cast<int64_t>(dims[d].axes.size()) * 8)) !=
            0)
      continue;
    dims[d].axes.push_back({name});
  }
  for (DimSpec& dim : dims)
    if (dim.axes.empty() && chance(40)) dim.open = true;
  Attributes p;
  p.sharding = NamedSharding(mesh_, PartitionSpec(std::move(dims)));
  op("constraint", {*found}, p, bound(*found));
}

void Maker::collective() {
  std::vector<std::string> names, manual;
  for (size_t k = named_from_; k < axes_.size(); ++k) {
    if (axes_[k].name.empty()) continue;
    names.push_back(axes_[k].name);
    if (axes_[k].manual) manual.push_back(axes_[k].name);
  }
  if (names.empty()) return;
  std::vector<std::string> axes{names[pick(static_cast<int64_t>(names.size()))]};
  if (manual.size() > 1 && chance(35)) {
    axes = manual;
    if (chance(50)) std::reverse(axes.begin(), axes.end());
    if (axes.size() > 2 && chance(50)) axes.pop_back();
  }
  int64_t size = 1;
  for (const std::string& name : axes)
    for (const Axis& axis : axes_)
      if (axis.name == name) size *= axis.size;
  if (chance(15)) {
    op("axis_index", {}, {.axes = axes}, static_cast<double>(size));
    return;
  }
  collective_of(any_float(), axes, size);
}

void Maker::collective_of(int x, const std::vector<std::string>& axes, int64_t size) {
  const Shape shape = type(x).shape;
  const int64_t rank = shape.rank(), d = pick(rank);
  const double b = bound(x);
  Attributes p{.i = d, .axes = axes};
  const bool manual = std::all_of(axes.begin(), axes.end(), [&](const std::string& name) {
    return std::any_of(axes_.begin(), axes_.end(),
                       [&](const Axis& a) { return a.manual && a.name == name; });
  });
  switch (pick(14)) {
    case 0:
    case 1:
    case 2:
      op("psum", {x}, p, b * static_cast<double>(size));
      return;
    case 3:
    case 4:
      op("pmean", {x}, p, b);
      return;
    case 5: {
      const int constant = must("stop_gradient", {x}, {}, b);
      op(chance(50) ? "pmax" : "pmin", {constant}, p, b);
      return;
    }
    case 6:
    case 7:
      p.flag = rank > 0 && chance(60);
      if (!p.flag) p.i = pick(rank + 1);
      if (rank < 3 || p.flag)
        op(manual && chance(25) ? "all_gather_invariant" : "all_gather", {x}, p, b);
      return;
    case 8:
    case 9:
      if (rank == 0 || size == 0) return;
      p.flag = shape[d] != size || chance(50);
      op("psum_scatter", {x}, p, b * static_cast<double>(size));
      return;
    case 10:
      if (rank == 0 || size == 0) return;
      p.j = pick(rank);
      op("all_to_all", {x}, p, b);
      return;
    case 11:
    case 12: {
      const int shift = pick(size);
      for (int r = 0; r < size; ++r)
        if (chance(90)) p.pairs.emplace_back(r, static_cast<int>((r + shift) % size));
      op("ppermute", {x}, p, b);
      return;
    }
    default:
      if (!manual) return;
      p.i = pick(size);
      op(chance(50) ? "pcast" : "pbroadcast", {x}, p, b);
  }
}

}  // namespace tessera::generate
