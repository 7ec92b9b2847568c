#include <iostream>

#include "tools/commands.h"

int main(int argc, char** argv) {
  return tessera::tools::run_tessera_opt({argv + 1, argv + argc}, {std::cin, std::cout, std::cerr});
}
