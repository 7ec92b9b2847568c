#include "tessera/privacy/auditing/audit_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "tessera/base/format.h"
#include "tessera/io/file.h"
#include "tessera/io/replace_file.h"
#include "tessera/privacy/auditing/canary_score_auditor.h"

namespace tessera::privacy::auditing {
namespace {

constexpr const char* kAuditReportOp = "privacy::AuditReport";
constexpr const char* kFirstLine = "tessera audit 1";

void write_text(const char* op, const FilePath& path, const std::string& text) {
  const std::filesystem::path file(path.text());
  tessera::internal::replace_file_by(op, file, [&](int fd) {
    tessera::internal::write_all(fd, text.data(), text.size(), op, file);
  });
}

// A reader of the lines of a saved audit, which checks each.
class Lines {
 public:
  Lines(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  std::string_view next(const char* expected) {
    ++line_;
    const size_t end = text_.find('\n', at_);
    if (end == std::string::npos) refuse(expected, "the end of the file");
    const std::string_view line = std::string_view(text_).substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }
  double number(const std::string& name) {
    const std::string what = name.empty() ? "a score" : name;
    const std::string_view line = next(what.c_str());
    const std::string start = name.empty() ? "" : name + " ";
    double value;
    const char* end = line.data() + line.size();
    if (!line.starts_with(start)) refuse(what.c_str(), line);
    const auto [stopped, error] = std::from_chars(line.data() + start.size(), end, value);
    if (error != std::errc() || stopped != end) refuse(what.c_str(), line);
    return value;
  }
  std::vector<double> scores(const char* name) {
    const double count = number(name);
    if (!(count >= 0 && count <= static_cast<double>(text_.size()) && count == std::floor(count)))
      refuse("a number of scores that the file holds", fmt::format("{}", count));
    std::vector<double> out;
    for (double i = 0; i < count; ++i) out.push_back(number(""));
    return out;
  }
  void expect_end() {
    if (at_ != text_.size()) refuse("the end of the file", next("the end of the file"));
  }
  [[noreturn]] void refuse(const char* expected, std::string_view got) const {
    value_error("privacy::load_audit",
                "expected {} in line {} of {}, got \"{}\"; read a file that save_audit wrote",
                expected, line_, file_, got.substr(0, 80));
  }

 private:
  const std::string& text_;
  std::string file_;
  size_t at_ = 0;
  int64_t line_ = 0;
};

// --- The page

constexpr double kSide = 340, kMargin = 46, kWide = 700, kLow = 200;
constexpr const char* kInColor = "#b3261e";
constexpr const char* kOutColor = "#1f5fa8";
constexpr const char* kStyle =
    "body{font:15px sans-serif;max-width:800px;margin:24px auto;color:#222;background:#fff}"
    "h2{font-size:16px;margin:24px 0 4px}svg path{fill:none;stroke-width:1.5}"
    "svg text{font-size:12px;fill:#555}svg .grid{stroke:#ddd;stroke-width:1}td{padding:2px 16px "
    "2px 0}";

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     text);
}

std::string line_of(const std::vector<std::pair<double, double>>& points, const char* color,
                    const char* title) {
  std::string path;
  for (const auto& [x, y] : points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
  return fmt::format("<path d=\"{}\" stroke=\"{}\"><title>{}</title></path>\n", path, color, title);
}

// Returns the largest true positive rate that (epsilon, delta) allows at a false positive rate.
double allowed_rate(double fpr, double epsilon, double delta) {
  return std::min(
      {1.0, std::exp(epsilon) * fpr + delta, 1 - std::exp(-epsilon) * (1 - delta - fpr)});
}

std::string rates_chart(const AuditReport& report) {
  const auto place = [](double x, double y) {
    return std::pair(kMargin + x * (kSide - kMargin - 10),
                     kSide - kMargin - y * (kSide - kMargin - 10));
  };
  std::vector<std::pair<double, double>> attack, allowed, guessing{place(0, 0), place(1, 1)};
  std::vector<double> rates;
  for (int i = 0; i <= 100; ++i) rates.push_back(i / 100.0);
  const std::vector<double> tpr =
      CanaryScoreAuditor(report.in_scores, report.out_scores).tpr_at_given_fpr(rates);
  for (size_t i = 0; i < rates.size(); ++i) {
    attack.push_back(place(rates[i], tpr[i]));
    allowed.push_back(
        place(rates[i], allowed_rate(rates[i], report.accounted_epsilon, report.delta)));
  }
  std::string out = fmt::format(
      "<h2>The attack, and what is allowed</h2>\n<svg viewBox=\"0 0 {0} {0}\" width=\"{0}\" "
      "role=\"img\" "
      "aria-label=\"true positives over false positives\">\n",
      kSide);
  for (const double tick : {0.0, 0.5, 1.0}) {
    const auto [x, y] = place(tick, tick);
    const auto [left, bottom] = place(0, 0);
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{}\"/>\n", left, y, kSide - 10);
    out += label(left - 6, y + 4, "end", fmt::format("{}", tick));
    out += label(x, bottom + 16, "middle", fmt::format("{}", tick));
  }
  out += label(kSide / 2, kSide - 8, "middle", "false positives");
  out += line_of(guessing, "#bbb", "guessing") + line_of(allowed, kOutColor, "allowed") +
         line_of(attack, kInColor, "attack");
  return out +
         fmt::format(
             "</svg>\n<p><span style=\"color:{}\">&#9644; rate of true positives of the attack"
             "</span> <span style=\"color:{}\">&#9644; largest rate of any attack at the "
             "accounted epsilon</span></p>\n",
             kInColor, kOutColor);
}

// Returns the number of scores in each of several equal bins.
std::vector<double> histogram(const std::vector<double>& scores, double low, double high,
                              size_t bins) {
  std::vector<double> out(bins);
  for (const double score : scores) {
    const double place = std::clamp((score - low) / (high - low), 0.0, 1.0);
    out[std::min(static_cast<size_t>(place * static_cast<double>(bins)), bins - 1)] += 1;
  }
  return out;
}

std::string scores_chart(const AuditReport& report) {
  constexpr size_t kBins = 40;
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const auto* scores : {&report.in_scores, &report.out_scores})
    for (const double score : *scores)
      if (std::isfinite(score)) low = std::min(low, score), high = std::max(high, score);
  if (!(low < high)) low = std::isfinite(low) ? low - 1 : 0, high = low + 2;
  const std::vector<double> in = histogram(report.in_scores, low, high, kBins),
                            out_counts = histogram(report.out_scores, low, high, kBins);
  const double most = std::max(*std::max_element(in.begin(), in.end()),
                               *std::max_element(out_counts.begin(), out_counts.end()));
  const auto steps = [&](const std::vector<double>& counts) {
    std::vector<std::pair<double, double>> out;
    for (size_t i = 0; i < kBins; ++i)
      for (const size_t edge : {i, i + 1})
        out.emplace_back(10 + static_cast<double>(edge) / kBins * (kWide - 20),
                         kLow - 24 - counts[i] / most * (kLow - 40));
    return out;
  };
  std::string out = fmt::format(
      "<h2>Scores of the canaries</h2>\n<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\" "
      "aria-label=\"histogram of scores\">\n",
      kWide, kLow);
  out += line_of(steps(out_counts), kOutColor, "left out");
  out += line_of(steps(in), kInColor, "trained on");
  out += label(10, kLow - 6, "start", fmt::format("{:.4g}", low));
  out += label(kWide - 10, kLow - 6, "end", fmt::format("{:.4g}", high));
  return out + fmt::format(
                   "</svg>\n<p><span style=\"color:{}\">&#9644; trained on</span> <span "
                   "style=\"color:{}\">&#9644; left out</span></p>\n",
                   kInColor, kOutColor);
}

std::string row(const char* name, const std::string& value) {
  return fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", name, value);
}

const char* verdict(const AuditReport& report) {
  return report.contradicts() ? "the run spent more than it is accounted for"
                              : "the canaries do not contradict the accounting";
}

}  // namespace

AuditReport make_audit_report(std::vector<double> in_scores, std::vector<double> out_scores,
                              const AuditClaim& claim) {
  if (!(claim.accounted_epsilon >= 0))
    value_error(kAuditReportOp,
                "expected an accounted epsilon that is not negative, got {}; 0 is no loss",
                claim.accounted_epsilon);
  if (!(claim.delta > 0 && claim.delta < 1))
    value_error(kAuditReportOp, "expected a delta in (0, 1), got {}; take that of the run",
                claim.delta);
  if (!(claim.significance > 0 && claim.significance < 1))
    value_error(kAuditReportOp, "expected a significance in (0, 1), got {}; 0.05 serves",
                claim.significance);
  const CanaryScoreAuditor auditor(in_scores, out_scores);
  std::sort(in_scores.begin(), in_scores.end());
  std::sort(out_scores.begin(), out_scores.end());
  const OneRunOptions one_run{.significance = claim.significance, .delta = claim.delta};
  return {.in_scores = std::move(in_scores),
          .out_scores = std::move(out_scores),
          .accounted_epsilon = claim.accounted_epsilon,
          .delta = claim.delta,
          .significance = claim.significance,
          .epsilon = auditor.epsilon_one_run(one_run),
          .gaussian_epsilon = auditor.epsilon_one_run_fdp(one_run),
          .auroc = auditor.attack_auroc()};
}

std::string to_string(const AuditReport& r) {
  return fmt::format(
      "audit of {} canaries, {} of them trained on, at delta {:.3g}\n"
      "accounted epsilon       {:.4g}\n"
      "audited epsilon         {:.4g}  (lower bound at significance {:.3g})\n"
      "  if it were Gaussian   {:.4g}\n"
      "area under the curve    {:.4g}\n"
      "{}\n",
      r.in_scores.size() + r.out_scores.size(), r.in_scores.size(), r.delta, r.accounted_epsilon,
      r.epsilon, r.significance, r.gaussian_epsilon, r.auroc, verdict(r));
}

std::string audit_page(const AuditReport& r) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Privacy "
      "audit</title><style>{}</style></head><body>\n<h1>Privacy audit</h1>\n<table>\n",
      kStyle);
  out += row("canaries", fmt::format("{}, {} of them trained on",
                                     r.in_scores.size() + r.out_scores.size(), r.in_scores.size()));
  out +=
      row("accounted epsilon", fmt::format("{:.4g} at delta {:.3g}", r.accounted_epsilon, r.delta));
  out += row("audited epsilon", fmt::format("{:.4g}, a lower bound at significance {:.3g}",
                                            r.epsilon, r.significance));
  out += row("if it were Gaussian", fmt::format("{:.4g}", r.gaussian_epsilon));
  out += row("area under the curve", fmt::format("{:.4g}", r.auroc));
  out += fmt::format("</table>\n<p><b>{}</b></p>\n", verdict(r));
  out +=
      "<p>The scores reveal which examples were trained on: the guarantee does not cover this "
      "page.</p>\n";
  return out + rates_chart(r) + scores_chart(r) + "</body></html>\n";
}

void write_audit_page(const FilePath& path, const AuditReport& report) {
  write_text("privacy::write_audit_page", path, audit_page(report));
}

void save_audit(const FilePath& path, const AuditReport& report) {
  std::string text =
      fmt::format("{}\naccounted_epsilon {}\ndelta {}\nsignificance {}\n", kFirstLine,
                  report.accounted_epsilon, report.delta, report.significance);
  const auto add = [&](const char* name, const std::vector<double>& scores) {
    text += fmt::format("{} {}\n", name, scores.size());
    for (const double score : scores) text += fmt::format("{}\n", score);
  };
  add("in", report.in_scores);
  add("out", report.out_scores);
  write_text("privacy::save_audit", path, text);
}

AuditReport load_audit(const FilePath& path) {
  constexpr const char* op = "privacy::load_audit";
  const std::filesystem::path file(path.text());
  const tessera::internal::PlainFile plain = tessera::internal::open_plain(op, file);
  std::string text(plain.bytes, '\0');
  tessera::internal::read_at(plain.file.fd(), text.data(), text.size(), 0, op, file);
  Lines lines(text, path.text());
  if (const std::string_view first = lines.next(kFirstLine); first != kFirstLine)
    lines.refuse(kFirstLine, first);
  AuditClaim claim;
  claim.accounted_epsilon = lines.number("accounted_epsilon");
  claim.delta = lines.number("delta");
  claim.significance = lines.number("significance");
  std::vector<double> in = lines.scores("in");
  std::vector<double> out = lines.scores("out");
  lines.expect_end();
  return make_audit_report(std::move(in), std::move(out), claim);
}

}  // namespace tessera::privacy::auditing
