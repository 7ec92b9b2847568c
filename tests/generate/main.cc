// Runs generated programs. Prints programs with a difference, reduced, as C++ source.
// scripts/generate runs it.
//
//   tessera_generate [N] [--from SEED] [--jobs N] [--check NAME] [--seconds N]   N programs
//   tessera_generate --print SEED                                  a seed's program
//   tessera_generate --reduce SEED --check NAME [--seconds N]      a difference, reduced
//
// Programs run in other processes, so that a crash is a difference like any other.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>

#include "checks.h"
#include "make.h"
#include "print.h"
#include "reduce.h"
#include "tessera/base/namespaces.h"

namespace tessera::generate {

using namespace fusion;

namespace {

constexpr uint32_t kSeedsOfAWorker = 200;
constexpr unsigned kSecondsOfASeed = 180;

struct Options {
  uint32_t from = 0, count = 100;
  int jobs = 2;
  int seconds = 60;
  std::string check;
  std::optional<uint32_t> print, reduce;
  bool reduces = true;
};

Options parse(int argc, char** argv) {
  Options out;
  for (int k = 1; k < argc; ++k) {
    const std::string name = argv[k];
    const auto value = [&] {
      if (++k == argc) throw std::invalid_argument(name + " needs a value");
      return std::string(argv[k]);
    };
    const auto number = [&] { return static_cast<uint32_t>(std::stoul(value())); };
    if (name == "--from") {
      out.from = number();
    } else if (name == "--jobs") {
      out.jobs = static_cast<int>(number());
    } else if (name == "--seconds") {
      out.seconds = static_cast<int>(number());
    } else if (name == "--check") {
      out.check = value();
    } else if (name == "--print") {
      out.print = number();
    } else if (name == "--reduce") {
      out.reduce = number();
    } else if (name == "--no-reduce") {
      out.reduces = false;
    } else {
      out.count = static_cast<uint32_t>(std::stoul(name));
    }
  }
  return out;
}

std::vector<std::string> chosen(const Case& c, const std::string& only) {
  std::vector<std::string> out = checks_of(c);
  if (!only.empty()) out.assign(1, only);
  return out;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

// --- A worker: writes lines `s SEED`, `d SEED CHECK TEXT`, `n SEED NODES MANUAL_GRAD CHECKS SAID`.
// ---

void write_line(int fd, const std::string& line) {
  const std::string text = line + "\n";
  if (write(fd, text.data(), text.size()) < 0) _exit(9);
}

void work(int fd, uint32_t from, uint32_t to, const std::string& only) {
  for (uint32_t seed = from; seed < to; ++seed) {
    alarm(kSecondsOfASeed);
    write_line(fd, fmt::format("s {}", seed));
    try {
      const Case c = make_case(seed);
      bool manual_grad = false;
      int checks = 0, said = 0;  // the checks, and those that compared something
      for (const std::string& check : chosen(c, only)) {
        const Outcome outcome = run_check(check, c);
        ++checks;
        said += outcome.verdict != Verdict::kNothing;
        if (outcome.verdict == Verdict::kDifferent)
          write_line(fd, fmt::format("d {} {} {}", seed, check, one_line(outcome.difference.text)));
        const bool derives =
            check.find("grad") != std::string::npos || check == "checkpoint" || check == "hvp";
        manual_grad = manual_grad || (derives && outcome.verdict == Verdict::kSame &&
                                      contains(c.main, NodeKind::kShardMap));
      }
      manual_grad = manual_grad || contains_within(c.main, NodeKind::kShardMap, NodeKind::kGrad);
      write_line(fd, fmt::format("n {} {} {} {} {}", seed, count_nodes(c.main), manual_grad ? 1 : 0,
                                 checks, said));
    } catch (const std::exception& error) {
      write_line(fd, fmt::format("d {} make {}", seed, one_line(error.what())));
    }
  }
}

struct Worker {
  pid_t pid = 0;
  int fd = -1;
  uint32_t seed = 0, to = 0;
  std::string rest;  // the rest of a line
};

class Supervisor {
 public:
  explicit Supervisor(const Options& options)
      : options_(options), next_(options.from), end_(options.from + options.count) {}

  int run() {
    while (next_ < end_ || !workers_.empty()) {
      while (static_cast<int>(workers_.size()) < options_.jobs && next_ < end_)
        start(next_, std::min(end_, next_ + kSeedsOfAWorker));
      wait_for_lines();
    }
    report(true);
    return different_.empty() ? 0 : 1;
  }

 private:
  void start(uint32_t from, uint32_t to) {
    int fds[2];
    if (pipe(fds) != 0) throw std::runtime_error("pipe");
    std::cout.flush();
    std::fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
      close(fds[0]);
      work(fds[1], from, to, options_.check);
      _exit(0);
    }
    close(fds[1]);
    workers_.push_back({pid, fds[0], from, to, {}});
    next_ = std::max(next_, to);
  }

  void wait_for_lines() {
    std::vector<pollfd> polls;
    for (const Worker& w : workers_) polls.push_back({w.fd, POLLIN, 0});
    poll(polls.data(), polls.size(), 1000);
    for (size_t k = polls.size(); k-- > 0;)
      if (polls[k].revents != 0) read_from(k);
    report(false);
  }

  void read_from(size_t k) {
    Worker& w = workers_[k];
    char buffer[4096];
    const ssize_t got = read(w.fd, buffer, sizeof buffer);
    if (got > 0) {
      w.rest.append(buffer, static_cast<size_t>(got));
      size_t end;
      while ((end = w.rest.find('\n')) != std::string::npos) {
        line(w, w.rest.substr(0, end));
        w.rest.erase(0, end + 1);
      }
      return;
    }
    close(w.fd);
    int status = 0;
    waitpid(w.pid, &status, 0);
    const Worker ended = w;
    workers_.erase(workers_.begin() + static_cast<int64_t>(k));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    difference(ended.seed, "signal",
               fmt::format("ended by signal {}",
                           WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status)));
    if (ended.seed + 1 < ended.to) start(ended.seed + 1, ended.to);
  }

  void line(Worker& w, const std::string& text) {
    std::istringstream in(text.substr(2));
    uint32_t seed = 0;
    in >> seed;
    if (text[0] == 's') {
      w.seed = seed;
    } else if (text[0] == 'n') {
      int64_t nodes = 0, manual_grad = 0, checks = 0, said = 0;
      in >> nodes >> manual_grad >> checks >> said;
      ++done_;
      nodes_ += nodes;
      manual_grad_ += manual_grad;
      checks_ += checks;
      said_ += said;
    } else {
      std::string check, what;
      in >> check;
      std::getline(in, what);
      difference(seed, check, what);
    }
  }

  void difference(uint32_t seed, const std::string& check, const std::string& what) {
    different_[seed] += check + " ";
    fmt::print("\nseed {}: {}:{}\n", seed, check, what);
    std::fflush(stdout);
    if (!options_.reduces || check == "make") return;
    const std::string command = fmt::format("/proc/{}/exe --reduce {} --check {} --seconds {}",
                                            getpid(), seed, check, options_.seconds);
    if (std::system(command.c_str()) != 0) fmt::print("(not reduced)\n");
  }

  void report(bool last) {
    const auto now = std::chrono::steady_clock::now();
    if (!last && now - reported_ < std::chrono::seconds(1)) return;
    reported_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::string text = fmt::format(
        "{} of {} programs (next: --from {}), {} with shard_map under grad, {} of {} checks "
        "compared, {:.1f} ops each, {} differences, {:.0f} s per 1,000",
        done_, options_.count, oldest(), manual_grad_, said_, checks_,
        done_ ? static_cast<double>(nodes_) / static_cast<double>(done_) : 0.0, different_.size(),
        done_ ? 1000 * seconds / static_cast<double>(done_) : 0.0);
    if (last) {
      fmt::print("{}\n", text);
    } else if (isatty(2)) {
      fmt::print(stderr, "\r{}", text);
    } else if (now - logged_ > std::chrono::seconds(30)) {
      logged_ = now;
      fmt::print(stderr, "{}\n", text);
    }
  }
  uint32_t oldest() const {
    uint32_t out = next_;
    for (const Worker& w : workers_) out = std::min(out, w.seed);
    return out;
  }

  using Time = std::chrono::steady_clock::time_point;
  const Options options_;
  uint32_t next_, end_;
  std::vector<Worker> workers_;
  std::map<uint32_t, std::string> different_;
  int64_t done_ = 0, nodes_ = 0, manual_grad_ = 0, checks_ = 0, said_ = 0;
  const Time start_ = std::chrono::steady_clock::now();
  Time reported_{}, logged_ = start_;
};

// --- Reduction: every candidate in a process of its own. ---

// Runs a check in another process. Returns 0 for the same, 1 for another value, 2 for an error,
// otherwise the signal that ended the process.
int in_a_process(const std::string& check, const Case& c, std::string* text) {
  int fds[2];
  if (pipe(fds) != 0) return 0;
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    for (const std::string& name : chosen(c, check == "signal" ? "" : check)) {
      const Outcome outcome = run_check(name, c);
      if (outcome.verdict != Verdict::kDifferent || check == "signal") continue;
      write_line(fds[1], outcome.difference.text);
      _exit(outcome.difference.is_error ? 2 : 1);
    }
    _exit(0);
  }
  close(fds[1]);
  std::string all;
  char buffer[4096];
  for (ssize_t got; (got = read(fds[0], buffer, sizeof buffer)) > 0;)
    all.append(buffer, static_cast<size_t>(got));
  close(fds[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (text) *text = all;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

// Returns the text of an error without its numbers.
std::string kind_of(const std::string& text) {
  std::string out;
  for (char c : text.substr(0, 40))
    if (!std::isdigit(static_cast<unsigned char>(c))) out += c;
  return out;
}

int reduce_and_print(const Options& options) {
  const Case c = make_case(*options.reduce);
  Difference difference{.check = options.check};
  const int how = in_a_process(options.check, c, &difference.text);
  if (how == 0) {
    fmt::print("seed {}: no difference in {}\n", c.seed, options.check);
    return 1;
  }
  const std::string kind = kind_of(difference.text);
  const Case small = reduce(
      c,
      [&](const Case& candidate) {
        std::string text;
        return in_a_process(options.check, candidate, &text) == how &&
               (how != 2 || kind_of(text) == kind);
      },
      options.seconds);
  in_a_process(options.check, small, &difference.text);
  fmt::print("{}\n", program_source(small, difference));
  return 0;
}

int run_main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    setenv("TESSERA_CACHE_DIR", "off", 1);  // nothing compiles these kernels again
    initialize({.devices = "cpu:8"});
    enable_x64(true);
    set_warning_handler([](const std::string&) {});  // small programs gather much
    if (options.print) {
      const Case c = make_case(*options.print);
      std::string checks;
      for (const std::string& check : checks_of(c)) checks += " " + check;
      fmt::print("{}", program_source(c, {.check = "jit", .text = "checks:" + checks}));
      return 0;
    }
    if (options.reduce) return reduce_and_print(options);
    return Supervisor(options).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "tessera_generate: {}\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace tessera::generate

int main(int argc, char** argv) { return tessera::generate::run_main(argc, argv); }
