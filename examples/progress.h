// A progress bar: redrawn in place on a terminal, printed as a line now and then elsewhere.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <string_view>

// Prints "epoch  5 [=====     ] loss ...": `done` of `total`, both counted from 1; in a file every
// `every`-th line.
inline void progress(std::string_view what, int done, int total, int every, std::string_view text) {
  constexpr int kWidth = 30;
  const bool terminal = isatty(STDOUT_FILENO);
  if (!terminal && done % every != 0) return;
  const int filled = done * kWidth / total;
  std::cout << (terminal ? "\r" : "")
            << fmt::format("{} {:2} [{}{}] {}", what, done, std::string(filled, '='),
                           std::string(kWidth - filled, ' '), text)
            << (terminal && done < total ? "" : "\n") << std::flush;
}
