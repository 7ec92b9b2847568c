#include "tessera/privacy/auditing/audit_report.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "../errors.h"

namespace tessera::privacy::auditing::audit_report_test {
namespace {

using tessera::test::expect_error;
using ::testing::HasSubstr;

std::vector<double> numbers(double first, int count) {
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(first + i / 3.0);
  return out;
}

AuditReport separated(double accounted = 1) {
  return make_audit_report(numbers(100, 200), numbers(-100, 200),
                           {.accounted_epsilon = accounted, .delta = 1e-5});
}

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("audit_report_" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

TEST(AuditReport, SaysWhetherTheRunIsContradicted) {
  const AuditReport report = separated();
  EXPECT_EQ(report.auroc, 1);
  EXPECT_GT(report.epsilon, 2);
  EXPECT_TRUE(report.contradicts());
  EXPECT_THAT(to_string(report),
              HasSubstr("audit of 400 canaries, 200 of them trained on, at delta 1e-05\n"
                        "accounted epsilon       1\n"));
  EXPECT_THAT(to_string(report), HasSubstr("the run spent more than it is accounted for"));
  const AuditReport private_enough = separated(50);
  EXPECT_FALSE(private_enough.contradicts());
  EXPECT_THAT(to_string(private_enough), HasSubstr("do not contradict the accounting"));
  EXPECT_FALSE(separated(std::numeric_limits<double>::infinity()).contradicts());
}

TEST(AuditReport, IsReadAsItWasWritten) {
  const Folder folder;
  const std::string path = folder.path / "audit.txt";
  const double infinity = std::numeric_limits<double>::infinity();
  const AuditReport report =
      make_audit_report({0.1, infinity, 1e-300, 2. / 3}, {-infinity, -0.3},
                        {.accounted_epsilon = infinity, .delta = 1e-7, .significance = 0.01});
  save_audit(path, report);
  const AuditReport read = load_audit(path);
  EXPECT_EQ(read.in_scores, report.in_scores);
  EXPECT_EQ(read.out_scores, report.out_scores);
  EXPECT_EQ(read.accounted_epsilon, infinity);
  EXPECT_EQ(read.delta, 1e-7);
  EXPECT_EQ(read.significance, 0.01);
  EXPECT_EQ(to_string(read), to_string(report));
}

TEST(AuditReport, PagesShowRatesAndScores) {
  const std::string page = audit_page(separated());
  EXPECT_THAT(page, HasSubstr("<td>accounted epsilon</td><td>1 at delta 1e-05</td>"));
  EXPECT_THAT(page, HasSubstr("spent more than it is accounted for"));
  EXPECT_THAT(page, HasSubstr("<title>trained on</title>"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("nan")));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("inf ")));
  const std::string same = audit_page(make_audit_report({1, 1}, {1}, {.delta = 0.1}));
  EXPECT_THAT(same, ::testing::Not(HasSubstr("nan")));
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string open = audit_page(
      make_audit_report({infinity}, {-infinity}, {.accounted_epsilon = infinity, .delta = 0.1}));
  EXPECT_THAT(open, ::testing::Not(HasSubstr("nan")));
  const Folder folder;
  write_audit_page(folder.path / "audit.html", separated());
  std::ifstream file(folder.path / "audit.html");
  std::stringstream written;
  written << file.rdbuf();
  EXPECT_EQ(written.str(), page);
}

TEST(AuditReport, BadNumbersAreErrors) {
  const auto with = [](AuditClaim claim) {
    return [claim] { make_audit_report({1}, {0}, claim); };
  };
  expect_error(with({.accounted_epsilon = -1, .delta = .1}),
               "accounted epsilon that is not negative");
  expect_error(with({.accounted_epsilon = std::nan(""), .delta = .1}), "that is not negative");
  expect_error(with({.delta = 0}), "expected a delta in (0, 1), got 0");
  expect_error(with({.delta = 1}), "expected a delta in (0, 1), got 1");
  expect_error(with({.delta = .1, .significance = 1}), "expected a significance in (0, 1)");
  expect_error([] { make_audit_report({}, {0}, {.delta = .1}); }, "at least one held-in score");
}

TEST(AuditReport, BadFilesAreErrors) {
  const Folder folder;
  const std::string path = folder.path / "audit.txt";
  const auto with = [&](const std::string& text) {
    std::ofstream(path) << text;
    return [&] { load_audit(path); };
  };
  const std::string head = "tessera audit 1\naccounted_epsilon 1\ndelta 1e-05\nsignificance 0.05\n";
  expect_error(with(""), "expected tessera audit 1 in line 1");
  expect_error(with("something else\n"),
               "got \"something else\"; read a file that save_audit wrote");
  expect_error(with("tessera audit 1\ndelta 1\n"), "expected accounted_epsilon in line 2");
  expect_error(with("tessera audit 1\naccounted_epsilon x\n"),
               "expected accounted_epsilon in line 2");
  expect_error(with(head + "in 2\n1\n"), "expected a score in line 7 of");
  expect_error(with(head + "in 1\n1 2\nout 1\n0\n"), "expected a score in line 6");
  expect_error(with(head + "in 1.5\n1\n"), "expected a number of scores that the file holds");
  expect_error(with(head + "in 1e300\n1\n"), "expected a number of scores that the file holds");
  expect_error(with(head + "in 1\n1\nout 1\n0\nmore\n"), "expected the end of the file in line 9");
  expect_error(with(head + "in 1\nnan\nout 1\n0\n"), "that are numbers, got NaN");
  expect_error([&] { load_audit(folder.path / "missing.txt"); }, "missing.txt");
}

}  // namespace
}  // namespace tessera::privacy::auditing::audit_report_test
