// privacy-ratios: what clipping and noise cost, as a table in Markdown.
//
//   privacy-ratios [--rounds 5] [--seconds 0.4] [--json] [MODEL ...]
//
// Of each model whose name contains a word it times every way of a step (private_training.h) for
// some seconds, one way after the other, in as many rounds. A cell is the median over the rounds of
// the ratio to the plain step of the same round, so that a moment's load on the machine counts for
// all ways. In brackets stand the smallest and the largest ratio.
#include <fmt/format.h>
#include <tessera/tessera.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "private_training.h"

using namespace tessera;
using namespace tessera::bench;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const Run& run) {
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The median of the runs that fit into `seconds`, at least 5.
double median_time(const Run& run, double seconds) {
  std::vector<double> times;
  double spent = 0;
  while (spent < seconds || times.size() < 5) {
    times.push_back(seconds_of(run));
    spent += times.back();
  }
  return median(std::move(times));
}

struct Measured {
  StepKind kind;
  std::vector<double> seconds;  // by round
};

std::vector<Measured> measured(PrivateModel model, int rounds, double seconds) {
  std::vector<Measured> out;
  std::vector<Run> runs;
  for (const StepKind kind : kStepKinds) {
    if (kind == StepKind::kNotFinite && !can_be_not_finite(model)) continue;
    runs.push_back(private_step(model, kind));
    runs.back()();  // compiles
    out.push_back({kind, {}});
  }
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < runs.size(); ++i)
      out[i].seconds.push_back(median_time(runs[i], seconds));
  return out;
}

// Of each round: the time of a way over that of another.
std::vector<double> ratios(const Measured& kind, const Measured& baseline) {
  std::vector<double> out;
  for (size_t i = 0; i < kind.seconds.size(); ++i)
    out.push_back(kind.seconds[i] / baseline.seconds[i]);
  return out;
}

const Measured* find(const std::vector<Measured>& all, StepKind kind) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Measured& m) { return m.kind == kind; });
  return found == all.end() ? nullptr : &*found;
}

std::string cell(const std::vector<Measured>& all, StepKind kind, StepKind baseline) {
  const Measured *of = find(all, kind), *to = find(all, baseline);
  if (!of) return "";
  const std::vector<double> r = ratios(*of, *to);
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", median(r), *std::min_element(r.begin(), r.end()),
                     *std::max_element(r.begin(), r.end()));
}

void print_head() {
  std::cout << "| | plain step | clipped | with Gaussian noise | of kSystem | discrete Gaussian | "
               "discrete over Gaussian | clipped, one example NaN |\n"
               "|---|---|---|---|---|---|---|---|\n";
}

void print_row(PrivateModel model, const std::vector<Measured>& all) {
  const auto to_plain = [&](StepKind kind) { return cell(all, kind, StepKind::kPlain); };
  std::cout << fmt::format("| {} | {:.1f} ms | {} | {} | {} | {} | {} | {} |", name_of(model),
                           1e3 * median(find(all, StepKind::kPlain)->seconds),
                           to_plain(StepKind::kClipped), to_plain(StepKind::kGaussian),
                           to_plain(StepKind::kSystem), to_plain(StepKind::kDiscrete),
                           cell(all, StepKind::kDiscrete, StepKind::kGaussian),
                           to_plain(StepKind::kNotFinite))
            << std::endl;
}

void print_json(PrivateModel model, const std::vector<Measured>& all) {
  for (const Measured& m : all) {
    const nlohmann::ordered_json line{
        {"model", name_of(model)}, {"way", name_of(m.kind)}, {"seconds", m.seconds}};
    std::cout << line.dump() << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times steps of private training beside the plain step");
  std::vector<std::string> words;
  int rounds = 5;
  double seconds = 0.4;
  bool json = false;
  app.add_option("words", words, "measure the models whose name contains one of these");
  app.add_option("--rounds", rounds, "how often each way is timed")->check(CLI::Range(1, 1000));
  app.add_option("--seconds", seconds, "how long each time")->check(CLI::Range(0.0, 600.0));
  app.add_flag("--json", json, "the times of all rounds, one JSON line a model and way");
  CLI11_PARSE(app, argc, argv);

  bool any = false;
  try {
    for (const PrivateModel model : kPrivateModels) {
      const std::string name = name_of(model);
      const bool wanted =
          words.empty() || std::any_of(words.begin(), words.end(), [&](const std::string& word) {
            return name.find(word) != std::string::npos;
          });
      if (!wanted) continue;
      if (!any && !json) print_head();
      any = true;
      const std::vector<Measured> all = measured(model, rounds, seconds);
      json ? print_json(model, all) : print_row(model, all);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  if (!any) std::cerr << "no model's name contains any of the words\n";
  if (!std::cout.flush()) {
    std::cerr << "the standard output cannot be written\n";
    return 1;
  }
  return any ? 0 : 1;
}
