// What an audit of a training run found: the scores of its canaries, the epsilon that they prove,
// and the epsilon that the run was accounted for. Made by audit() (training_audit.h) from a run, or
// from scores of one's own; printed, drawn, and kept in a file that `tessera privacy audit` reads.
//
// The scores say who of the canaries was trained on: a report is as secret as the data.
#pragma once

#include <string>
#include <vector>

#include "tessera/io/file_path.h"

namespace tessera::privacy::auditing {

struct AuditReport {
  // Of the canaries that were trained on and of the others; increasing.
  std::vector<double> in_scores, out_scores;
  // What the run says that it spent, at delta.
  double accounted_epsilon = 0;
  double delta = 0;
  // The bound below is above the true epsilon with this probability at most.
  double significance = 0;
  // The lower bound of one run (CanaryScoreAuditor::epsilon_one_run, over all thresholds).
  double epsilon = 0;
  // The same of a mechanism that is exactly Gaussian (epsilon_one_run_fdp), which a run of many
  // steps nearly is: an estimate beside the bound.
  double gaussian_epsilon = 0;
  // The area under the curve of the attack: 1/2 for guessing.
  double auroc = 0;

  // Returns whether the canaries prove that the run spent more than it says.
  bool contradicts() const { return epsilon > accounted_epsilon; }
};

// The numbers of a report that are not scores.
struct AuditClaim {
  double accounted_epsilon = 0;  // at least 0, may be infinite
  double delta = 0;              // in (0, 1)
  double significance = 0.05;    // in (0, 1)
};

// Returns the report of these scores, of canaries that were each trained on with probability 1/2.
// UserError: a number outside its range, and those of CanaryScoreAuditor.
AuditReport make_audit_report(std::vector<double> in_scores, std::vector<double> out_scores,
                              const AuditClaim& claim);

// Returns the report in a few lines, for people.
std::string to_string(const AuditReport& report);

// Returns a page of HTML with SVG inside and nothing from elsewhere: the rates of the attack within
// what the accounted epsilon allows, and the scores.
std::string audit_page(const AuditReport& report);
// Writes audit_page to a file. UserError kIo if it cannot.
void write_audit_page(const FilePath& path, const AuditReport& report);

// Writes the claim and the scores as lines of text, and reads them again: the report read is equal.
// UserError kIo if a file cannot be read or written; kValue, with the line, for what save_audit did
// not write.
void save_audit(const FilePath& path, const AuditReport& report);
AuditReport load_audit(const FilePath& path);

}  // namespace tessera::privacy::auditing
