// Looks for costs that grow too fast: scripts/costs.
//
//   tessera_costs seeds N [--from SEED]   the programs of N seeds of tests/generate
//   tessera_costs seed SEED               one, with its text made smaller
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "counts.h"
#include "family.h"
#include "seeds.h"
#include "tests/generate/make.h"

namespace tessera::costs {
namespace {

int run_main(int argc, char** argv) {
  setenv("TESSERA_CACHE_DIR", "off", 1);
  initialize({.devices = "cpu:8"});
  enable_x64(true);
  set_warning_handler([](const std::string&) {});
  if (argc == 4 && std::strcmp(argv[1], "--series") == 0) {
    // All counts of a family at all sizes.
    const generate::Case c = generate::make_case(static_cast<uint32_t>(std::atoi(argv[2])));
    const Family family = families_of(c)[static_cast<size_t>(std::atoi(argv[3]))];
    fmt::print("{}\n", family.name);
    for (int k = 0; k < 7; ++k) {
      const int64_t size = family.size << k;
      const Counts counts = counts_of([&] { return family.program(size); });
      fmt::print("{}: {} bytes, {} runs, {} evaluations, {} arena\n", size, counts.run.bytes(),
                 counts.run.runs(), counts.run.evaluations(), counts.run.arena_bytes);
      for (const PassCount& pass : counts.passes)
        fmt::print("  {} {} {} {}\n", pass.name, pass.ops, pass.allocations, pass.allocated_bytes);
    }
    return 0;
  }
  uint32_t from = 0, count = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 10;
  if (argc > 4) from = static_cast<uint32_t>(std::atoi(argv[4]));
  int found = 0, families = 0, none = 0;
  for (uint32_t seed = from; seed < from + count; ++seed) {
    const generate::Case c = generate::make_case(seed);
    for (const Family& family : families_of(c)) {
      ++families;
      const auto all = findings(family);
      if (!all) {
        ++none;
        continue;
      }
      for (const Finding& finding : *all) fmt::print("{}\n", to_string(finding)), ++found;
      std::fflush(stdout);
    }
  }
  fmt::print("{} findings in {} families ({} are no programs)\n", found, families, none);
  return found ? 1 : 0;
}

}  // namespace
}  // namespace tessera::costs

int main(int argc, char** argv) { return tessera::costs::run_main(argc, argv); }
