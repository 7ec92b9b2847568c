// Looks for costs that grow by more than they should: scripts/costs.
//
//   tessera_costs seeds [N] [--from SEED]   programs of tests/generate
//   tessera_costs loops [N] [--from SEED]   loops that change arrays
//   tessera_costs functions|samples         one op a program
//   tessera_costs instructions [N] [--from SEED]   programs that are long to compile, and programs of
//                                           tests/generate whose text grows, under Callgrind
//   tessera_costs compiling                 seconds and memory of programs that are long to compile
//   tessera_costs --counts seeds|loops SEED FAMILY   every count of a family at six sizes
//
// What is found is printed, the program made smaller.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "compiling.h"
#include "counts.h"
#include "instructions.h"
#include "loops.h"
#include "ops.h"
#include "seeds.h"
#include "tessera/base/namespaces.h"
#include "tests/generate/make.h"
#include "tests/generate/print.h"
#include "tests/generate/reduce.h"

namespace tessera::costs {
namespace {

constexpr double kSecondsToReduce = 60;

struct Options {
  std::string what;
  uint32_t from = 0, count = 100;
  std::vector<std::string> counts;  // the words after --counts
};

Options parse(int argc, char** argv) {
  Options out;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--from" && k + 1 < argc) {
      out.from = static_cast<uint32_t>(std::stoul(argv[++k]));
    } else if (word == "--counts") {
      while (++k < argc) out.counts.emplace_back(argv[k]);
    } else if (out.what.empty()) {
      out.what = word;
    } else {
      out.count = static_cast<uint32_t>(std::stoul(word));
    }
  }
  return out;
}

class Runner {
 public:
  // Prints the findings of a family, and `text` of the first one.
  void check(const Family& family, const std::function<std::string(const Finding&)>& text) {
    ++families_;
    const auto all = findings(family);
    if (!all) {
      ++none_;
      return;
    }
    if (all->empty()) return;
    ++found_;
    for (const Finding& finding : *all) std::printf("%s\n", to_string(finding).c_str());
    std::printf("%s\n", text(all->front()).c_str());
    std::fflush(stdout);
  }
  int report() const {
    std::printf("%d of %d families cost more than they should, %d have no program at these sizes\n",
                found_, families_, none_);
    return found_ == 0 ? 0 : 1;
  }

 private:
  int families_ = 0, found_ = 0, none_ = 0;
};

bool shows(const Family& family, const Finding& finding) {
  const auto all = findings(family);
  return all && std::any_of(all->begin(), all->end(),
                            [&](const Finding& f) { return f.metric == finding.metric; });
}

std::vector<Family> families_of_loop(const LoopProgram& program) {
  return {family_of(program, Grows::kTrips), family_of(program, Grows::kTripsAndLength)};
}

void check_seed(Runner& runner, uint32_t seed) {
  const generate::Case c = generate::make_case(seed);
  const std::vector<Family> families = families_of(c);
  for (size_t k = 0; k < families.size(); ++k)
    runner.check(families[k], [&](const Finding& finding) {
      const generate::Case small = generate::reduce(
          c, [&](const generate::Case& other) { return shows(families_of(other)[k], finding); },
          kSecondsToReduce);
      return generate::function_source(small);
    });
}

void check_loop(Runner& runner, uint32_t seed) {
  const LoopProgram program = make_loop(seed);
  const std::vector<Family> families = families_of_loop(program);
  for (size_t k = 0; k < families.size(); ++k)
    runner.check(families[k], [&](const Finding& finding) {
      return fmt::format("loop {}: {}", seed,
                         to_string(reduced(program, [&](const LoopProgram& other) {
                           return shows(families_of_loop(other)[k], finding);
                         })));
    });
}

int print_counts(const Options& options) {
  if (options.counts.size() != 3) throw std::invalid_argument("--counts WHAT SEED FAMILY");
  const auto seed = static_cast<uint32_t>(std::stoul(options.counts[1]));
  const Family family = (options.counts[0] == "loops" ? families_of_loop(make_loop(seed))
                                                      : families_of(generate::make_case(seed)))
                            .at(std::stoul(options.counts[2]));
  for (int k = 0; k < 6; ++k) {
    const int64_t size = family.size << k;
    const Counts counts = counts_of([&] { return family.program(size); });
    std::printf("%s: size %ld: %g bytes, %g steps run, %g evaluations, %ld bytes of arena\n",
                family.name.c_str(), size, counts.run.bytes(), counts.run.runs(),
                counts.run.evaluations(), counts.run.arena_bytes);
    for (const PassCount& pass : counts.passes)
      std::printf("  %-18s %8g ops %10g allocations %12g bytes\n", pass.name.c_str(), pass.ops,
                  pass.allocations, pass.allocated_bytes);
    for (const runtime::StepCost& step : counts.run.steps)
      std::printf("  %10g bytes, %10g runs: %s\n", step.bytes(), step.runs, step.name.c_str());
    std::fflush(stdout);
  }
  return 0;
}

// Prints a table with an eighth, a quarter and a half of each program, and all of it.
int print_compiling() {
  for (const Family& family : families_of_compiling()) {
    std::printf("%s\n", family.name.c_str());
    for (int k = 0; k < 4; ++k) {
      const int64_t size = family.size << k;
      const auto start = std::chrono::steady_clock::now();
      const Counts counts = counts_of([&] { return family.program(size); });
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      double allocations = 0, bytes = 0;
      for (const PassCount& pass : counts.passes)
        allocations += pass.allocations, bytes += pass.allocated_bytes;
      std::printf("  size %5ld: %7.3f s, %9.0f allocations, %7.1f MB allocated, peak %4ld MB\n",
                  size, seconds, allocations, bytes / 1e6, usage.ru_maxrss / 1024);
      for (const PassCount& pass : counts.passes)
        if (pass.instructions > 0)
          std::printf("    %s: %.2f million instructions\n", pass.name.c_str(),
                      pass.instructions / 1e6);
        else if (pass.seconds > 0.1 * seconds)
          std::printf("    %s: %.3f s\n", pass.name.c_str(), pass.seconds);
      std::fflush(stdout);
    }
  }
  return 0;
}

// Checks smaller programs than `compiling` has, because Callgrind takes fifty times as long.
void check_instructions(Runner& runner, const Options& options) {
  if (!counts_instructions())
    throw std::runtime_error("expected to run under Callgrind: scripts/costs instructions");
  const auto nothing = [](const Finding&) { return std::string(); };
  for (Family family : families_of_compiling()) {
    family.size = std::max<int64_t>(1, family.size / 4);
    runner.check(family, nothing);
  }
  for (uint32_t seed = options.from; seed < options.from + options.count; ++seed)
    for (const Axis axis : {Axis::kOps, Axis::kLeaves, Axis::kShapes}) {
      const generate::Case c = generate::make_case(seed);
      Family family = family_of(c, axis, seed % 2 == 1);
      runner.check(family, [&](const Finding&) { return generate::function_source(c); });
    }
}

int run_main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    setenv("TESSERA_CACHE_DIR", "off", 1);
    initialize({.devices = "cpu:8"});
    enable_x64(true);
    set_warning_handler([](const std::string&) {});  // small programs gather much
    if (!options.counts.empty()) return print_counts(options);
    if (options.what == "compiling") return print_compiling();
    Runner runner;
    const auto nothing = [](const Finding&) { return std::string(); };
    if (options.what == "functions") {
      for (const Family& family : families_of_functions()) runner.check(family, nothing);
    } else if (options.what == "samples") {
      for (const Family& family : families_of_samples()) runner.check(family, nothing);
    } else if (options.what == "instructions") {
      check_instructions(runner, options);
    } else if (options.what == "seeds" || options.what == "loops") {
      for (uint32_t seed = options.from; seed < options.from + options.count; ++seed)
        options.what == "seeds" ? check_seed(runner, seed) : check_loop(runner, seed);
    } else {
      throw std::invalid_argument(
          "expected seeds, loops, functions, samples, instructions or "
          "compiling, got '" +
          options.what + "'");
    }
    return runner.report();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tessera_costs: %s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace tessera::costs

int main(int argc, char** argv) { return tessera::costs::run_main(argc, argv); }
