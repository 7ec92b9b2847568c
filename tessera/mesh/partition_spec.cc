#include "tessera/mesh/partition_spec.h"

#include <algorithm>
#include <functional>
#include <ostream>

#include "tessera/base/hash.h"
#include "tessera/base/shape.h"

namespace tessera {

std::ostream& operator<<(std::ostream& out, const AxisRef& axis) {
  out << axis.name;
  if (!axis.is_whole()) out << ":(" << axis.pre_size << ')' << axis.size;
  return out;
}

size_t hash_value(const AxisRef& axis) {
  size_t seed = std::hash<std::string>()(axis.name);
  return hash_combine(hash_combine(seed, static_cast<size_t>(axis.pre_size)),
                      static_cast<size_t>(axis.size));
}

std::ostream& operator<<(std::ostream& out, const DimSpec& dim) {
  if (dim.is_none()) return out << "None";
  if (dim.is_unconstrained()) return out << "UNCONSTRAINED";
  if (dim.axes.size() == 1 && !dim.open) return out << '\'' << dim.axes[0] << '\'';
  out << '(';
  for (size_t i = 0; i < dim.axes.size(); ++i) out << (i ? ", '" : "'") << dim.axes[i] << '\'';
  return out << (dim.open ? ", ?)" : ")");
}

size_t hash_value(const DimSpec& dim) {
  size_t seed = dim.open;
  for (const AxisRef& axis : dim.axes) seed = hash_combine(seed, hash_value(axis));
  return seed;
}

DimSpec::DimSpec() = default;
DimSpec::DimSpec(NoneType) {}
DimSpec::DimSpec(UnconstrainedType) : open(true) {}
DimSpec::DimSpec(const char* axis) : axes{{axis}} {}
DimSpec::DimSpec(std::string axis) : axes{{std::move(axis)}} {}
DimSpec::DimSpec(std::string_view axis) : axes{{std::string(axis)}} {}
DimSpec::DimSpec(AxisRef axis) : axes{std::move(axis)} {}
DimSpec::DimSpec(std::vector<AxisRef> joint_axes, bool is_open)
    : axes(std::move(joint_axes)), open(is_open) {}
DimSpec::DimSpec(const DimSpec&) = default;
DimSpec::DimSpec(DimSpec&&) noexcept = default;
DimSpec& DimSpec::operator=(const DimSpec&) = default;
DimSpec& DimSpec::operator=(DimSpec&&) noexcept = default;
DimSpec::~DimSpec() = default;

DimSpec joint(const std::vector<std::string>& axes) {
  std::vector<AxisRef> refs;
  for (const std::string& axis : axes) refs.push_back({axis});
  return DimSpec(std::move(refs));
}

PartitionSpec::PartitionSpec(std::vector<DimSpec> dims, std::vector<AxisRef> replicated)
    : dims_(std::move(dims)), replicated_(std::move(replicated)) {}
PartitionSpec::PartitionSpec(const std::vector<std::string>& axes)
    : dims_(axes.begin(), axes.end()) {}
PartitionSpec::PartitionSpec(const PartitionSpec&) = default;
PartitionSpec::PartitionSpec(PartitionSpec&&) noexcept = default;
PartitionSpec& PartitionSpec::operator=(const PartitionSpec&) = default;
PartitionSpec& PartitionSpec::operator=(PartitionSpec&&) noexcept = default;
PartitionSpec::~PartitionSpec() = default;

void PartitionSpec::reserve(size_t rank) { dims_.reserve(rank); }
void PartitionSpec::append(DimSpec dim) { dims_.push_back(std::move(dim)); }

const DimSpec& PartitionSpec::dim(int64_t d) const {
  static const DimSpec& none = *new DimSpec;
  return d < rank() ? dims_[d] : none;
}

PartitionSpec PartitionSpec::trimmed() const {
  PartitionSpec result = *this;
  while (!result.dims_.empty() && result.dims_.back().is_none()) result.dims_.pop_back();
  return result;
}

bool operator==(const PartitionSpec& a, const PartitionSpec& b) {
  int64_t rank = std::max(a.rank(), b.rank());
  for (int64_t d = 0; d < rank; ++d)
    if (!(a.dim(d) == b.dim(d))) return false;
  return a.replicated_ == b.replicated_;
}

std::ostream& operator<<(std::ostream& out, const PartitionSpec& spec) {
  out << "PartitionSpec(";
  const char* separator = "";
  for (const DimSpec& dim : spec.dims()) {
    out << separator << dim;
    separator = ", ";
  }
  if (!spec.replicated().empty()) {
    out << separator << "replicated={";
    for (size_t i = 0; i < spec.replicated().size(); ++i)
      out << (i ? ", '" : "'") << spec.replicated()[i] << '\'';
    out << '}';
  }
  return out << ')';
}

size_t hash_value(const PartitionSpec& spec) {
  PartitionSpec trimmed = spec.trimmed();
  size_t seed = trimmed.dims().size();
  for (const DimSpec& dim : trimmed.dims()) seed = hash_combine(seed, hash_value(dim));
  for (const AxisRef& axis : trimmed.replicated()) seed = hash_combine(seed, hash_value(axis));
  return seed;
}

}  // namespace tessera
