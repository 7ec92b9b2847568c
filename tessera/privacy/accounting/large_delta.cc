#include "tessera/privacy/accounting/large_delta.h"

#include "tessera/base/format.h"
#include "tessera/base/warning.h"

namespace tessera::privacy::accounting {

void warn_of_large_delta(const char* op, double delta, int64_t num_examples) {
  if (delta * static_cast<double>(num_examples) < 1) return;
  warn(fmt::format(
      "[{}] expected a delta below 1 / num_examples = {:.3g}, got {:.3g}, which a mechanism has "
      "that "
      "publishes an example chosen at random; take {:.1g} or less",
      op, 1 / static_cast<double>(num_examples), delta, 0.1 / static_cast<double>(num_examples)));
}

}  // namespace tessera::privacy::accounting
