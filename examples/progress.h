// A progress bar. On a terminal it is redrawn in place, otherwise a line is printed now and then.
// If there are several processes, only the first prints, and it never redraws: mpirun gives each
// process a terminal of its own and merges what they print into one output.
#pragma once

#include <fmt/format.h>
#include <tessera/mesh/device.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <string_view>

// Prints "epoch 5 [===== ] loss ..." for step `done` of `total`, both counted from 1. If the bar is
// not redrawn, only every `every`-th call prints.
inline void progress(std::string_view what, int done, int total, int every, std::string_view text) {
  constexpr int kWidth = 30;
  if (tessera::process_index() != 0) return;
  const bool redrawn = tessera::process_count() == 1 && isatty(STDOUT_FILENO);
  if (!redrawn && done % every != 0) return;
  const int filled = done * kWidth / total;
  std::cout << (redrawn ? "\r" : "")
            << fmt::format("{} {:2} [{}{}] {}", what, done, std::string(filled, '='),
                           std::string(kWidth - filled, ' '), text)
            << (redrawn && done < total ? "" : "\n") << std::flush;
}
