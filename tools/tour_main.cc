// The tutorial of `tessera tour` as a program of its own, which scripts/tour builds and runs.
#include <exception>
#include <iostream>

#include "tools/commands.h"

int main() {
  try {
    tessera::tools::tour(std::cout);
  } catch (const std::exception& error) {
    std::cerr << "tessera-tour: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
