#include "tessera/privacy/report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <vector>

#include "tessera/base/format.h"
#include "tessera/io/file.h"
#include "tessera/io/replace_file.h"
#include "tessera/numpy/creation.h"

namespace tessera::privacy::internal {
namespace {

constexpr double kWidth = 760, kHeight = 220, kLeft = 70, kTop = 14, kBottom = 26;
constexpr int64_t kEpsilons = 64;  // the largest number of epsilons that are computed

struct Point {
  double x, y;
};
struct Curve {
  const char* label;
  const char* color;
  std::vector<Point> points;  // points that are not finite make gaps
};

struct Range {
  double low = 0, high = 1;
};
Range range_of(const std::vector<Curve>& curves) {
  Range out{0, 0};
  for (const Curve& curve : curves)
    for (const Point& p : curve.points)
      if (std::isfinite(p.y)) out = {std::min(out.low, p.y), std::max(out.high, p.y)};
  if (!(out.high > out.low)) out.high = out.low + 1;
  return out;
}

// Returns the SVG path commands of one curve.
std::string path_of(const Curve& curve, const std::function<Point(const Point&)>& place) {
  std::string out;
  bool pen_down = false;
  for (const Point& p : curve.points) {
    const bool seen = std::isfinite(p.y);
    if (seen) {
      const Point at = place(p);
      out += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", at.x, at.y);
    }
    pen_down = seen;
  }
  return out;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
}

std::string chart(const std::string& title, int64_t steps, const std::vector<Curve>& curves) {
  const Range range = range_of(curves);
  const double bottom = kHeight - kBottom;
  const auto place = [&](const Point& p) {
    return Point{kLeft + p.x / static_cast<double>(steps) * (kWidth - kLeft - 10),
                 bottom - (p.y - range.low) / (range.high - range.low) * (bottom - kTop)};
  };
  std::string out = fmt::format(
      "<h2>{}</h2>\n<svg viewBox=\"0 0 {} {}\" width=\"{}\" role=\"img\" aria-label=\"{}\">\n",
      title, kWidth, kHeight, kWidth, title);
  for (int i = 0; i <= 4; ++i) {
    const double y = range.low + (range.high - range.low) * i / 4;
    const Point at = place({0, y});
    out += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, at.y, kWidth - 10);
    out += text_at(kLeft - 8, std::round(at.y) + 4, "end", fmt::format("{:.3g}", y));
  }
  out += text_at(kLeft, kHeight - 6, "middle", "0");
  out += text_at(kWidth - 10, kHeight - 6, "end", fmt::format("step {}", steps));
  for (const Curve& curve : curves)
    out += fmt::format("<path d=\"{}\" stroke=\"{}\"><title>{}</title></path>\n",
                       path_of(curve, place), curve.color, curve.label);
  out += "</svg>\n<p>";
  for (const Curve& curve : curves)
    out += fmt::format("<span style=\"color:{}\">&#9644; {}</span> ", curve.color, curve.label);
  return out + "</p>\n";
}

std::vector<StepReport> reports_of(const Array& history) {
  const std::vector<float> v = to_vector<float>(history);
  std::vector<StepReport> out;
  for (size_t i = 0; i + kHistoryColumns <= v.size(); i += kHistoryColumns)
    if (!std::isnan(v[i]))
      out.push_back(report_of(from_host(
          std::vector<float>(v.begin() + static_cast<std::ptrdiff_t>(i),
                             v.begin() + static_cast<std::ptrdiff_t>(i + kHistoryColumns)),
          {kHistoryColumns})));
  return out;
}

std::vector<Point> points_of(const std::vector<StepReport>& reports,
                             const std::function<double(const StepReport&)>& value) {
  std::vector<Point> out;
  for (const StepReport& r : reports) out.push_back({static_cast<double>(r.step), value(r)});
  return out;
}

std::vector<Point> epsilons(const Plan& plan, int64_t steps_done) {
  std::vector<Point> out;
  const int64_t count = std::min(kEpsilons, steps_done);
  for (int64_t i = 0; i <= count; ++i) {
    const int64_t step = count == 0 ? 0 : steps_done * i / count;
    out.push_back({static_cast<double>(step), plan.epsilon(step)});
  }
  return out;
}

constexpr const char* kStyle =
    "body{font:15px sans-serif;max-width:800px;margin:24px auto;color:#222;background:#fff}"
    "h2{font-size:16px;margin:24px 0 4px}svg path{fill:none;stroke-width:1.5}"
    "svg text{font-size:12px;fill:#555}svg .grid{stroke:#ddd;stroke-width:1}";

}  // namespace

std::string progress_line(const Plan& plan, const StepReport& report) {
  if (!plan.is_private()) return to_string(report) + ", NOT PRIVATE";
  return fmt::format("{}, epsilon {:.3f} of {:.3f} (delta {:.2g})", to_string(report),
                     plan.epsilon(report.step), plan.epsilon(), plan.delta());
}

std::string report_page(const Plan& plan, const Array& history, int64_t steps_done,
                        int64_t non_finite) {
  const std::vector<StepReport> reports = reports_of(history);
  const auto of = [&](auto member) {
    return points_of(reports, [=](const StepReport& r) { return static_cast<double>(r.*member); });
  };
  const auto steps = static_cast<double>(plan.steps());
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Private "
      "training</title><style>{}</style></head><body>\n<h1>Private training</h1>\n<p>Plan: "
      "{}.</p>\n<p>{} of {} steps done, epsilon {:.4g} spent; {} examples were not finite.</p>\n"
      "<p>Losses and norms are of the examples themselves, without noise: the guarantee does not "
      "cover this page.</p>\n",
      kStyle, to_string(plan), steps_done, plan.steps(), plan.epsilon(steps_done), non_finite);
  out +=
      chart("Loss", plan.steps(), {{"mean loss of the batch", "#1f5fa8", of(&StepReport::loss)}});
  out += chart("Gradient norms before clipping", plan.steps(),
               {{"largest", "#d9964a", of(&StepReport::max_norm)},
                {"mean", "#1f5fa8", of(&StepReport::mean_norm)},
                {"clip norm", "#b3261e", of(&StepReport::clip_norm)}});
  out += chart("Share of examples clipped", plan.steps(),
               {{"clipped", "#1f5fa8", of(&StepReport::clipped)}});
  out += chart(fmt::format("Epsilon at delta {:.3g}", plan.delta()), plan.steps(),
               {{"spent", "#1f5fa8", epsilons(plan, steps_done)},
                {"plan", "#b3261e", {{0, plan.epsilon()}, {steps, plan.epsilon()}}}});
  return out + "</body></html>\n";
}

void write_report(const FilePath& path, const Plan& plan, const Array& history, int64_t steps_done,
                  int64_t non_finite) {
  const std::string page = report_page(plan, history, steps_done, non_finite);
  constexpr const char* op = "privacy::Trainer::report_html";
  const std::filesystem::path file(path.text());
  tessera::internal::replace_file_by(op, file, [&](int fd) {
    tessera::internal::write_all(fd, page.data(), page.size(), op, file);
  });
}

}  // namespace tessera::privacy::internal
