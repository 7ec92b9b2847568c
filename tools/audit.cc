#include <ostream>

#include "tessera/base/format.h"
#include "tessera/privacy/auditing/audit_report.h"
#include "tools/commands.h"

namespace tessera::tools {

void show_audit(const AuditOptions& options, std::ostream& out) {
  using namespace privacy::auditing;
  const AuditReport report = load_audit(options.file);
  if (!options.plot.empty()) write_audit_page(options.plot, report);
  out << to_string(report);
  if (options.fail && report.contradicts())
    value_error("tessera privacy audit",
                "expected an audited epsilon of at most the accounted {:.4g}, got {:.4g}; look for "
                "what the run adds to its sums besides the plan's noise, or does not clip",
                report.accounted_epsilon, report.epsilon);
}

}  // namespace tessera::tools
