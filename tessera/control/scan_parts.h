// The operands of a scan divided into constants, carry and scanned operands, for its rules.
#pragma once

#include <span>
#include <vector>

#include "tessera/control/control_flow_rules.h"
#include "tessera/trace/trace.h"

namespace tessera::control {

struct Parts {
  size_t consts, carry, xs, ys;
  explicit Parts(const ScanParams& p)
      : consts(static_cast<size_t>(p.num_consts)),
        carry(static_cast<size_t>(p.num_carry)),
        xs(p.body->inputs.size() - consts - carry),
        ys(p.body->outputs.size() - carry) {}
  size_t operands() const { return consts + carry + xs; }
  bool is_carry(size_t k) const { return k >= consts && k < consts + carry; }
};

template <class T>
void append(std::vector<T>& to, std::span<const T> from) {
  to.insert(to.end(), from.begin(), from.end());
}
template <class T>
std::vector<T> slice(const std::vector<T>& from, size_t begin, size_t count) {
  const auto at = from.begin() + static_cast<int64_t>(begin);
  return {at, at + static_cast<int64_t>(count)};
}

// Returns the types of the body's inputs for these operands.
inline std::vector<Type> body_types(std::span<const Array> operands, const Parts& parts) {
  std::vector<Type> out;
  for (size_t k = 0; k < operands.size(); ++k) {
    Type t = traced_type(operands[k]);
    if (k >= parts.consts + parts.carry) t.shape.erase(t.shape.begin());
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace tessera::control
