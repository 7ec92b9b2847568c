#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "tessera/privacy/auditing/audit_report.h"
#include "tests/tools/command_fixture.h"

namespace tessera::tools::audit_test {
namespace {

using privacy::auditing::AuditReport;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Audit : CommandTest {
  // Saves the audit of a run that is accounted for with this epsilon, in which an attack
  // distinguishes all canaries. Returns its path.
  std::string saved(double accounted) const {
    std::vector<double> in(100), out(100);
    std::iota(in.begin(), in.end(), 200.0);
    std::iota(out.begin(), out.end(), 0.0);
    privacy::auditing::save_audit(path("audit.txt"),
                                  privacy::auditing::make_audit_report(
                                      in, out, {.accounted_epsilon = accounted, .delta = 1e-5}));
    return path("audit.txt");
  }
};

TEST_F(Audit, PrintsWhatIsSavedAndDrawsIt) {
  const Outcome outcome = tessera_command({"privacy", "audit", saved(8), "--plot", path("a.html")});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(outcome.out, to_string(privacy::auditing::load_audit(path("audit.txt"))));
  EXPECT_THAT(outcome.out, HasSubstr("accounted epsilon       8\n"));
  EXPECT_GT(std::filesystem::file_size(path("a.html")), 1000u);
}

TEST_F(Audit, FailsIfToldToWhereTheRunIsContradicted) {
  EXPECT_EQ(tessera_command({"privacy", "audit", saved(8), "--fail"}).code, 0);
  EXPECT_EQ(tessera_command({"privacy", "audit", saved(.1)}).code, 0);
  const Outcome outcome = tessera_command({"privacy", "audit", saved(.1), "--fail"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("spent more than it is accounted for"));
  EXPECT_THAT(outcome.err, HasSubstr("expected an audited epsilon of at most the accounted 0.1"));
}

TEST_F(Audit, BadInputsAreErrors) {
  const Outcome missing = tessera_command({"privacy", "audit", path("none.txt")});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("none.txt"));
  EXPECT_EQ(tessera_command({"privacy", "audit", write("other.txt", "x\n")}).code, 1);
  EXPECT_EQ(tessera_command({"privacy", "audit"}).code, 2);
  EXPECT_EQ(tessera_command({"privacy"}).code, 2);
  EXPECT_EQ(tessera_command({"privacy", "audit", saved(1), "--plot", path("no/folder.html")}).code,
            1);
}

}  // namespace
}  // namespace tessera::tools::audit_test
