#include "tools/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <ostream>

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tools/clock.h"

extern char** environ;

namespace tessera::tools {
namespace {

constexpr double kLongestPause = 60;
// The seconds in which mpirun must end after a process has failed: it waits for its daemons on
// other hosts even if they never answer.
constexpr double kLongestEnd = 10;
constexpr const char* kMark = "TESSERA_LAUNCH_MARK";

bool is_executable(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Searches for a program as a shell does. Returns an empty path if there is none.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_executable(name) ? name : "";
  const char* path = std::getenv("PATH");
  for (std::string rest = path ? path : ""; !rest.empty();) {
    const size_t colon = rest.find(':');
    const std::string folder = rest.substr(0, colon);
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    if (const std::string file = (folder.empty() ? "." : folder) + "/" + name; is_executable(file))
      return file;
  }
  return "";
}

std::string signal_text(int number) {
  return fmt::format("signal {} ({})", number, strsignal(number));
}

// Returns the exit status that a shell would return for a result of waitpid.
int status_of(int waited) {
  return WIFSIGNALED(waited) ? 128 + WTERMSIG(waited) : WEXITSTATUS(waited);
}

// --- Signals: the handler writes them to a pipe, so that one can wait for them and for a child ---

struct Heard {
  int number;
  bool from_terminal;  // whether other processes of the terminal got the signal, too
};
int heard_pipe[2] = {-1, -1};

void hear(int number, siginfo_t* info, void*) {
  const int kept = errno;
  const Heard heard{number, info->si_code == SI_KERNEL};
  // If the pipe is full, it contains enough signals already.
  [[maybe_unused]] const ssize_t written = write(heard_pipe[1], &heard, sizeof heard);
  errno = kept;
}

// While one exists, this process hears signals that would end it, and signals of ended children.
class Hearing {
 public:
  Hearing() {
    if (pipe2(heard_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
      throw RuntimeError(fmt::format("[launch] expected a pipe, got: {}", std::strerror(errno)));
    struct sigaction action {};
    action.sa_sigaction = hear;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (size_t k = 0; k < kNumbers.size(); ++k) sigaction(kNumbers[k], &action, &before_[k]);
  }
  ~Hearing() {
    for (size_t k = 0; k < kNumbers.size(); ++k) sigaction(kNumbers[k], &before_[k], nullptr);
    close(heard_pipe[0]);
    close(heard_pipe[1]);
  }
  Hearing(const Hearing&) = delete;
  Hearing& operator=(const Hearing&) = delete;

  // Returns the next signal. Its number is 0 if none arrives within `seconds` (negative: no limit).
  static Heard next(double seconds) {
    pollfd waited{heard_pipe[0], POLLIN, 0};
    const int timeout = seconds < 0 ? -1 : static_cast<int>(std::ceil(seconds * 1000));
    Heard heard{0, false};
    if (poll(&waited, 1, timeout) <= 0) return heard;
    if (read(heard_pipe[0], &heard, sizeof heard) != static_cast<ssize_t>(sizeof heard))
      heard.number = 0;
    return heard;
  }

 private:
  static constexpr std::array<int, 4> kNumbers = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
  std::array<struct sigaction, 4> before_{};
};

// Starts a program that gets the signal `on_death` when this process dies.
pid_t start(const std::string& file, const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment, int on_death) {
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
  };
  const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    throw RuntimeError(
        fmt::format("[launch] expected to start {}, got: {}", file, std::strerror(errno)));
  if (child > 0) return child;
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) std::signal(number, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, on_death);
  if (getppid() != parent) _exit(127);  // the parent died before this process could notice
  execve(file.c_str(), argv.data(), envp.data());
  const std::string why =
      fmt::format("[launch] expected to start {}, got: {}\n", file, std::strerror(errno));
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, why.data(), why.size());
  _exit(127);
}

// A file whose existence announces that a process has failed. Its name is in the environment
// variable kMark; processes on hosts without access to it cannot announce failures.
class FailureMark {
 public:
  FailureMark() {
    const char* temporary = std::getenv("TMPDIR");
    folder_ = fmt::format("{}/tessera-launch-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder_.data()))
      io_error("launch",
               "expected to make a folder {}, got: {}; set TMPDIR to where one can be made",
               folder_, std::strerror(errno));
  }
  ~FailureMark() {
    remove();
    rmdir(folder_.c_str());
  }
  FailureMark(const FailureMark&) = delete;
  FailureMark& operator=(const FailureMark&) = delete;

  std::string path() const { return folder_ + "/failed"; }
  bool is_there() const { return access(path().c_str(), F_OK) == 0; }
  void remove() const { unlink(path().c_str()); }
  static void set() {
    if (const char* path = std::getenv(kMark))
      if (const int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); file >= 0) close(file);
  }

 private:
  std::string folder_;
};

// Waits until a child ends and returns the result of waitpid. Signals that arrive meanwhile are
// passed on to the child; `sent` is the first of them. The child is killed if it lives kLongestEnd
// seconds longer than the appearance of `mark` (null: never).
int wait_for(pid_t child, int& sent, const FailureMark* mark, std::ostream& err) {
  std::optional<Clock::time_point> marked;
  for (int waited = 0;;) {
    const pid_t ended = waitpid(child, &waited, WNOHANG);
    if (ended == child) return waited;
    if (ended < 0 && errno != EINTR)
      throw RuntimeError(fmt::format("[launch] expected to wait for process {}, got: {}", child,
                                     std::strerror(errno)));
    if (mark && !marked && mark->is_there()) marked = Clock::now();
    if (marked && seconds_since(*marked) > kLongestEnd) {
      err << fmt::format(
                 "[launch] expected mpirun to end when a process has failed, got nothing for {} s: "
                 "a "
                 "host may not answer; mpirun is killed\n",
                 kLongestEnd)
          << std::flush;
      kill(child, SIGKILL);
      mark = nullptr;
      marked.reset();
    }
    // If a signal was lost because the pipe was full, the next round notices the child's end.
    const Heard heard = Hearing::next(1);
    if (heard.number == 0 || heard.number == SIGCHLD) continue;
    if (!sent) sent = heard.number;
    if (!heard.from_terminal) kill(child, heard.number);
  }
}

// --- The arguments of mpirun ---

struct Mpirun {
  std::string path;
  bool has_quiet;  // takes --quiet: Open MPI 5 does not
};

Mpirun find_mpirun() {
  const std::string mpirun = find_program("mpirun");
  if (mpirun.empty())
    throw RuntimeError(
        "[launch] expected Open MPI's mpirun on PATH, got none; install openmpi-bin");
  std::string version;
  if (FILE* pipe = popen(fmt::format("'{}' --version 2>&1", mpirun).c_str(), "r")) {
    std::array<char, 256> buffer{};
    while (size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
      version.append(buffer.data(), n);
    pclose(pipe);
  }
  if (version.find("Open MPI") == std::string::npos && version.find("OpenRTE") == std::string::npos)
    throw RuntimeError(
        fmt::format("[launch] expected Open MPI's mpirun on PATH, got {}, which says `{}`; install "
                    "openmpi-bin, or put its folder first on PATH",
                    mpirun, version.substr(0, version.find('\n'))));
  // `mpirun (Open MPI) 4.1.4`
  const size_t digit = version.find_first_of("0123456789");
  const int major = digit == std::string::npos ? 0 : std::atoi(version.c_str() + digit);
  return {mpirun, major < 5};
}

std::vector<std::string> environment_of(const LaunchOptions& options, const FailureMark& mark) {
  std::vector<std::string> out;
  for (char** variable = environ; *variable; ++variable) out.emplace_back(*variable);
  const auto set = [&](const std::string& name, const std::string& value) {
    std::erase_if(out, [&](const std::string& v) { return v.starts_with(name + "="); });
    out.push_back(name + "=" + value);
  };
  // Without this variable, the program would not use the processes.
  if (const char* cluster = std::getenv("TESSERA_CLUSTER"); !cluster || !*cluster)
    set("TESSERA_CLUSTER", "mpi:whole");
  if (options.threads > 0) set("TESSERA_NUM_THREADS", std::to_string(options.threads));
  set(kMark, mark.path());
  return out;
}

std::vector<std::string> arguments_of(const LaunchOptions& options, const Mpirun& mpirun,
                                      const std::string& program,
                                      const std::vector<std::string>& environment) {
  std::vector<std::string> out = {mpirun.path,       "-n",        std::to_string(options.processes),
                                  "--oversubscribe", "--bind-to", "none"};
  if (mpirun.has_quiet) out.emplace_back("--quiet");
  if (geteuid() == 0) out.emplace_back("--allow-run-as-root");
  if (!options.hostfile.empty()) out.insert(out.end(), {"--hostfile", options.hostfile});
  // Processes on other hosts get only these variables in their environment.
  for (const std::string& variable : environment)
    if (variable.starts_with("TESSERA_"))
      out.insert(out.end(), {"-x", variable.substr(0, variable.find('='))});
  out.insert(out.end(), options.mpi.begin(), options.mpi.end());
  out.insert(out.end(), {std::filesystem::read_symlink("/proc/self/exe"), kLaunchProcess, program});
  out.insert(out.end(), options.program.begin() + 1, options.program.end());
  return out;
}

void check(const LaunchOptions& options) {
  constexpr std::string_view kOp = "launch";
  if (options.program.empty())
    value_error(kOp,
                "expected a program after `--`, got none; for example `tessera launch -n 4 -- "
                "./train --steps 100`");
  if (options.processes < 1)
    value_error(kOp, "expected at least 1 process, got -n {}; give the number of processes",
                options.processes);
  if (options.restarts < 0)
    value_error(kOp, "expected at least 0 restarts, got {}; leave --restarts out for none",
                options.restarts);
  if (options.threads < 0)
    value_error(kOp,
                "expected at least 1 thread for each process, got {}; leave --per-process-threads "
                "out to share the cores of a machine evenly",
                options.threads);
  if (!(options.pause >= 0))
    value_error(kOp, "expected a pause of at least 0 seconds, got {}; leave --pause out for 1",
                options.pause);
  if (!options.hostfile.empty() && access(options.hostfile.c_str(), R_OK) != 0)
    io_error(kOp, "expected a file of hosts, got {}: {}; write one `HOST slots=N` a line",
             options.hostfile, std::strerror(errno));
}

}  // namespace

void take_program(std::vector<std::string>& arguments, LaunchOptions& options) {
  const auto program = std::find(arguments.begin(), arguments.end(), "--");
  if (program != arguments.end()) options.program.assign(program + 1, arguments.end());
  const auto mpi = std::find(arguments.begin(), program, "--mpi");
  if (mpi != program) options.mpi.assign(mpi + 1, program);
  arguments.erase(mpi, arguments.end());
}

int launch(const LaunchOptions& options, const Streams& streams) {
  check(options);
  const std::string program = find_program(options.program[0]);
  if (program.empty())
    value_error(
        "launch",
        "expected a program that can be executed, got `{}`, {}; give the path of one, or "
        "the name of one that is on PATH",
        options.program[0],
        access(options.program[0].c_str(), F_OK) == 0 ? "which is none" : "which is not there");
  const Mpirun mpirun = find_mpirun();
  const FailureMark mark;
  const std::vector<std::string> environment = environment_of(options, mark),
                                 arguments = arguments_of(options, mpirun, program, environment);
  const Hearing hearing;
  double pause = options.pause;
  for (int64_t restarts = 0;; ++restarts) {
    const Clock::time_point begin = Clock::now();
    int sent = 0;
    mark.remove();
    const int status = status_of(
        wait_for(start(mpirun.path, arguments, environment, SIGTERM), sent, &mark, streams.err));
    if (sent) {
      streams.err << fmt::format("[launch] all processes were ended: {}\n", signal_text(sent));
      return 128 + sent;
    }
    if (status == 0) {
      if (restarts > 0)
        streams.err << fmt::format("[launch] all {} processes ended well, after {} restart{}\n",
                                   options.processes, restarts, restarts == 1 ? "" : "s");
      return 0;
    }
    if (restarts == options.restarts) {
      streams.err << fmt::format("[launch] the program failed with {} after {:.1f} s{}\n", status,
                                 seconds_since(begin),
                                 restarts == 0 ? ""
                                               : fmt::format("; it was started again {} time{}",
                                                             restarts, restarts == 1 ? "" : "s"));
      return status;
    }
    // A failure after a long run is independent of the earlier ones.
    if (seconds_since(begin) > 10 * pause) pause = options.pause;
    streams.err << fmt::format(
                       "[launch] the program failed with {} after {:.1f} s; all {} processes start "
                       "again in {:.2g} s (restart {} of {})\n",
                       status, seconds_since(begin), options.processes, pause, restarts + 1,
                       options.restarts)
                << std::flush;
    const Clock::time_point paused = Clock::now();
    for (double left = pause; left > 0; left = pause - seconds_since(paused)) {
      const Heard heard = Hearing::next(left);
      if (heard.number != 0 && heard.number != SIGCHLD) return 128 + heard.number;
    }
    pause = std::min(kLongestPause, 2 * pause);
  }
}

int launch_process(const std::vector<std::string>& program, std::ostream& err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // when mpirun dies, or what it started on this host
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (program.empty() || !rank || getppid() == 1) {
    err << "[launch-process] expected to be started by tessera launch, got another call; call "
           "tessera launch\n";
    return 2;
  }
  std::vector<std::string> environment;
  for (char** variable = environ; *variable; ++variable) environment.emplace_back(*variable);
  const Hearing hearing;
  const pid_t child = start(program[0], program, environment, SIGKILL);
  int sent = 0;
  const int waited = wait_for(child, sent, nullptr, err);
  if (status_of(waited) == 0) return 0;
  FailureMark::set();
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string how = WIFEXITED(waited)
                              ? fmt::format("ended with exit status {}", WEXITSTATUS(waited))
                          : sent || WTERMSIG(waited) == SIGTERM
                              ? "was told to end"
                              : fmt::format("died of {}", signal_text(WTERMSIG(waited)));
  // This is one write, so that lines of several processes do not mix.
  err << fmt::format("[launch] process {} ({} on {}) {}\n", rank, child, host.data(), how)
      << std::flush;
  return status_of(waited);
}

}  // namespace tessera::tools
