#include "tessera/numpy/printing.h"

#include <ostream>

#include "tessera/base/format_array.h"
#include "tessera/ir/format.h"

namespace tessera {

using namespace ir;

namespace {

std::string traced(const Array& x) { return fmt::format("Traced<{}>", describe(x.type())); }

}  // namespace

std::ostream& operator<<(std::ostream& out, const Array& x) {
  return out << (x.is_tracer() ? traced(x) : to_string(x.to_host()));
}
std::string str(const Array& x) { return x.is_tracer() ? traced(x) : str(x.to_host()); }
std::string repr(const Array& x) {
  return x.is_tracer() ? traced(x) : repr(x.to_host(), x.weak_type());
}

}  // namespace tessera
