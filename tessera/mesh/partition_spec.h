// PartitionSpec: which mesh axes shard each dimension of an array, by name. It has no mesh;
// NamedSharding combines the two and checks them against each other.
#pragma once

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

// A mesh axis, or a part of one. An axis of size n = pre * size * post, seen as the major-to-minor
// factors (pre, size, post), has the sub-axis `pre_size = pre, size = size`, written "x":(pre)size
// as in Shardy: of an axis of size 8, "x":(1)2 is the major half-split, "x":(2)4 the four positions
// in each half. A `size` of 0 means the whole axis.
struct AxisRef {
  std::string name;
  int64_t pre_size = 1;
  int64_t size = 0;

  bool is_whole() const { return size == 0; }
  friend bool operator==(const AxisRef&, const AxisRef&) = default;
};
// Prints `x`, `x:(1)2`.
std::ostream& operator<<(std::ostream& out, const AxisRef& axis);
size_t hash_value(const AxisRef& axis);

// The entry of a dimension that is not sharded: P("x", None).
struct NoneType {
  explicit constexpr NoneType(int) {}
};
inline constexpr NoneType None{0};
// The entry of a dimension whose sharding propagation chooses: P(UNCONSTRAINED, "x").
struct UnconstrainedType {
  explicit constexpr UnconstrainedType(int) {}
};
inline constexpr UnconstrainedType UNCONSTRAINED{0};

// The sharding of one dimension: axes, major first, and whether propagation may add minor ones.
struct DimSpec {
  std::vector<AxisRef> axes;
  bool open = false;

  DimSpec();
  DimSpec(NoneType);
  DimSpec(UnconstrainedType);
  DimSpec(const char* axis);
  DimSpec(std::string axis);
  DimSpec(std::string_view axis);
  DimSpec(AxisRef axis);
  explicit DimSpec(std::vector<AxisRef> joint_axes, bool is_open = false);
  DimSpec(const DimSpec&);
  DimSpec(DimSpec&&) noexcept;
  DimSpec& operator=(const DimSpec&);
  DimSpec& operator=(DimSpec&&) noexcept;
  ~DimSpec();

  // Returns whether the entry is None: closed and without axes.
  bool is_none() const { return axes.empty() && !open; }
  // Returns whether the entry is UNCONSTRAINED: open and without axes.
  bool is_unconstrained() const { return axes.empty() && open; }
  friend bool operator==(const DimSpec&, const DimSpec&) = default;
};
// Prints `None`, `UNCONSTRAINED`, `'x'`, `('x', 'y')`; an open dimension with axes ends in `?`:
// `('x', ?)`.
std::ostream& operator<<(std::ostream& out, const DimSpec& dim);
size_t hash_value(const DimSpec& dim);

// Returns the entry of one dimension that several axes shard, each a name or an AxisRef, major
// first: P(joint("x", "y"), None).
template <class... Axes>
requires((std::convertible_to<Axes, std::string_view> ||
          std::convertible_to<Axes, AxisRef>)&&...) DimSpec joint(const Axes&... axes) {
  std::vector<AxisRef> refs;
  auto add = [&](const auto& axis) {
    if constexpr (std::convertible_to<decltype(axis), AxisRef>)
      refs.push_back(axis);
    else
      refs.push_back({std::string(std::string_view(axis))});
  };
  (add(axes), ...);
  return DimSpec(std::move(refs));
}
DimSpec joint(const std::vector<std::string>& axes);

class PartitionSpec {
 public:
  // Makes a spec with one entry for each dimension: the name of an axis, an AxisRef, joint(...),
  // None or UNCONSTRAINED. Dimensions beyond the last entry are None.
  template <class... Entries>
  requires(std::convertible_to<Entries, DimSpec>&&...) explicit(sizeof...(Entries) == 1)
      PartitionSpec(Entries&&... entries) {
    reserve(sizeof...(entries));
    (append(DimSpec(std::forward<Entries>(entries))), ...);
  }
  // `replicated` are axes that propagation must not use for this value.
  PartitionSpec(std::vector<DimSpec> dims, std::vector<AxisRef> replicated = {});
  // `axes` has one name for each dimension.
  PartitionSpec(const std::vector<std::string>& axes);
  PartitionSpec(const PartitionSpec&);
  PartitionSpec(PartitionSpec&&) noexcept;
  PartitionSpec& operator=(const PartitionSpec&);
  PartitionSpec& operator=(PartitionSpec&&) noexcept;
  ~PartitionSpec();

  // Returns the number of entries; an array may have more dimensions.
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  const std::vector<DimSpec>& dims() const { return dims_; }
  // Returns the entry of dimension `d`; None beyond the last entry.
  const DimSpec& dim(int64_t d) const;
  const std::vector<AxisRef>& replicated() const { return replicated_; }
  // Returns the same spec without None at the end.
  PartitionSpec trimmed() const;

  // None at the end does not count: P("x") == P("x", None).
  friend bool operator==(const PartitionSpec& a, const PartitionSpec& b);

 private:
  void reserve(size_t rank);
  void append(DimSpec dim);

  std::vector<DimSpec> dims_;
  std::vector<AxisRef> replicated_;
};
using P = PartitionSpec;

// Prints `PartitionSpec('x', None, ('y', 'z:(1)2'))`, followed by `replicated={'y'}` if there are
// such axes.
std::ostream& operator<<(std::ostream& out, const PartitionSpec& spec);
size_t hash_value(const PartitionSpec& spec);

}  // namespace tessera
