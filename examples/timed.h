// Lets a program be timed against its peer in benchmarks/examples: with --time it prints what it
// computed and how long its compiled call takes, as one line of JSON.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <vector>

// Prints `value`, the shortest and the median time of `call`, and the time of all CPUs that it takes
// on average, in microseconds, if the program was started with --time. The call must have run
// before, so that it is compiled.
template <class Call>
void print_times(int argc, char** argv, double value, const Call& call) {
  if (argc < 2 || std::string_view(argv[argc - 1]) != "--time") return;
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  const std::clock_t cpu = std::clock();
  for (const auto start = Clock::now();
       times.size() < 7 ||
       (times.size() < 1000 && Clock::now() - start < std::chrono::seconds(1));) {
    const auto before = Clock::now();
    call();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
  }
  const double cpu_us = 1e6 / CLOCKS_PER_SEC * static_cast<double>(std::clock() - cpu) /
                        static_cast<double>(times.size());
  std::sort(times.begin(), times.end());
  std::printf("{\"value\": %.9g, \"min_us\": %.3f, \"med_us\": %.3f, \"cpu_us\": %.3f}\n", value,
              times.front(), times[times.size() / 2], cpu_us);
}
