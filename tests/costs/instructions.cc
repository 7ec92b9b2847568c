#include "instructions.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif

namespace tessera::costs {

#ifdef CALLGRIND_DUMP_STATS

namespace {

// Callgrind writes its file n to this name and ".n".
const char* output_name() { return std::getenv("TESSERA_CALLGRIND"); }

}  // namespace

bool counts_instructions() { return output_name() && RUNNING_ON_VALGRIND; }

void start_counting_instructions() {
  if (counts_instructions()) CALLGRIND_ZERO_STATS;
}

double instructions_since_start() {
  if (!counts_instructions()) return 0;
  static int files = 0;
  CALLGRIND_DUMP_STATS;
  const std::string name = std::string(output_name()) + "." + std::to_string(++files);
  std::ifstream file(name);
  const std::string before = "totals: ";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(before)) {
      std::filesystem::remove(name);
      return std::stod(line.substr(before.size()));
    }
  throw std::runtime_error("expected the line '" + before + "' in Callgrind's file " + name);
}

#else  // built without Valgrind's headers

bool counts_instructions() { return false; }
void start_counting_instructions() {}
double instructions_since_start() { return 0; }

#endif

}  // namespace tessera::costs
