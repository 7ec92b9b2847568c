// The result of an audit of a training run: the scores of its canaries, the epsilon that they
// prove, and the epsilon that the run was accounted for. audit() (training_audit.h) makes it from a
// run, make_audit_report() from scores of one's own. It can be printed, drawn, and saved in a file
// that `tessera privacy audit` reads.
//
// The scores reveal which canaries were trained on: a report is as secret as the data.
#pragma once

#include <string>
#include <vector>

#include "tessera/io/file_path.h"

namespace tessera::privacy::auditing {

struct AuditReport {
  // The scores of the canaries that were trained on, and of the others; increasing.
  std::vector<double> in_scores, out_scores;
  // The epsilon that the run claims to have spent, at delta.
  double accounted_epsilon = 0;
  double delta = 0;
  // The probability, at most, that the bound below is above the true epsilon.
  double significance = 0;
  // The lower bound of one run (CanaryScoreAuditor::epsilon_one_run, over all thresholds).
  double epsilon = 0;
  // The same for a mechanism that is exactly Gaussian (epsilon_one_run_fdp), which a run of many
  // steps nearly is: an estimate in addition to the bound.
  double gaussian_epsilon = 0;
  // The area under the attack's ROC curve: 1/2 for guessing.
  double auroc = 0;

  // Returns whether the canaries prove that the run spent more than it claims.
  bool contradicts() const { return epsilon > accounted_epsilon; }
};

// The numbers of a report that are not computed from scores.
struct AuditClaim {
  double accounted_epsilon = 0;  // at least 0, may be infinite
  double delta = 0;              // in (0, 1)
  double significance = 0.05;    // in (0, 1)
};

// Returns the report of these scores, of canaries that were each trained on with probability 1/2.
// Throws UserError for a number outside its range, and as CanaryScoreAuditor does.
AuditReport make_audit_report(std::vector<double> in_scores, std::vector<double> out_scores,
                              const AuditClaim& claim);

// Returns the report as a text of a few lines.
std::string to_string(const AuditReport& report);

// Returns a self-contained page of HTML with SVG: the rates of the attack within what the accounted
// epsilon allows, and the scores.
std::string audit_page(const AuditReport& report);
// Writes audit_page() to a file. Throws UserError kIo if it cannot.
void write_audit_page(const FilePath& path, const AuditReport& report);

// Writes the claim and the scores as lines of text, and reads them again: the report that is read
// is equal. Throws UserError kIo if a file cannot be read or written, and kValue, with the line,
// for text that save_audit() did not write.
void save_audit(const FilePath& path, const AuditReport& report);
AuditReport load_audit(const FilePath& path);

}  // namespace tessera::privacy::auditing
