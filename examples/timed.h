// Times a program for the comparison with its peer in benchmarks/examples. With --time, it prints
// as one line of JSON what the program computed and how long its compiled call takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <vector>

// If the program was started with --time, prints `value`, the shortest and the median time of
// `call`, and the mean time of all CPUs that a call takes, in microseconds. The call must have run
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
