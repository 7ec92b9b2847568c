// The result of an audit of a training run: the scores of its canaries, the epsilon that they
// prove, and the epsilon of the run's accounting. audit() (training_audit.h) makes it from a run,
// and make_audit_report() from the caller's scores. It can be printed, drawn, and saved in a file
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
  // The bound `epsilon` is above the true epsilon with at most this probability.
  double significance = 0;
  // The lower bound on epsilon from one run (CanaryScoreAuditor::epsilon_one_run, over all
  // thresholds).
  double epsilon = 0;
  // The same for a mechanism that is exactly Gaussian (epsilon_one_run_fdp), which a run of many
  // steps nearly is. It is an estimate in addition to the bound.
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

// Returns a self-contained page of HTML with SVG: a plot of the attack's rates with the limit that
// the accounted epsilon sets, and one of the scores.
std::string audit_page(const AuditReport& report);
// Writes audit_page() to a file. Throws UserError kIo if it cannot.
void write_audit_page(const FilePath& path, const AuditReport& report);

// save_audit() writes the claim and the scores as lines of text, and load_audit() returns an equal
// report. Both throw UserError: kIo if the file cannot be read or written, and kValue, with the
// line, for text that save_audit() did not write.
void save_audit(const FilePath& path, const AuditReport& report);
AuditReport load_audit(const FilePath& path);

}  // namespace tessera::privacy::auditing
