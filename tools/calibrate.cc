#include "tools/calibrate.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/cluster/launched.h"
#include "tessera/io/file.h"
#include "tessera/io/replace_file.h"
#include "tessera/mesh/device.h"

namespace tessera::tools {
namespace {

constexpr double kGiga = 1e9;

void start(const std::string& devices) {
  InitOptions options{.devices = devices};
  // The other processes wait for process 0, and its measurements take some time.
  if (cluster::launched().count > 1)
    options.cluster = Cluster::mpi({.gather_reads = true, .watchdog_seconds = 600});
  initialize(options);
}

// Returns the specification of this process's devices. There are four on the machine, if they can
// be divided evenly among the processes.
std::string devices_to_check() {
  const int count = std::max(1, cluster::launched().count);
  return fmt::format("cpu:{}", std::max(1, 4 / count));
}

std::string speed_text(const Speed& speed, double unit) {
  return fmt::format("{:9.2f} {:9.2f}", speed.one / unit, speed.all / unit);
}
std::string link_text(const LinkCost& link) {
  return fmt::format("{:.2f} GB/s, {:.1f} us a message", link.bandwidth / kGiga,
                     link.latency * 1e6);
}

std::string bytes_text(double bytes) {
  return bytes < 1 << 20 ? fmt::format("{:.0f} KiB", bytes / 1024)
                         : fmt::format("{:.0f} MiB", bytes / (1 << 20));
}

void print(const MachineCosts& costs, std::ostream& out) {
  out << fmt::format("{:<28}  one thread, all {} cores\n", "", costs.cores);
  const auto products = [&](const char* name, const std::vector<SizedSpeed>& table) {
    for (const SizedSpeed& row : table)
      out << fmt::format("{:<28}{} GFLOP/s\n",
                         fmt::format("{} product of {:.0f}", name, std::cbrt(row.size / 2)),
                         speed_text(row.speed, kGiga));
  };
  products("float32", costs.float32_products);
  products("bfloat16", costs.bfloat16_products);
  out << fmt::format("{:<28}{} G elements/s\n", "operands of large products",
                     speed_text(costs.operands, kGiga));
  for (const SizedSpeed& row : costs.memory)
    out << fmt::format("{:<28}{} GB/s\n", "memory, " + bytes_text(row.size),
                       speed_text(row.speed, kGiga));
  out << fmt::format(
      "a call takes {:.2f} us, a step of it {:.2f} us; kernels are {:.2f} times as "
      "fast as expected\n",
      costs.call_seconds * 1e6, costs.step_seconds * 1e6, costs.kernel_speed);
  out << fmt::format("between devices of a process: {}\n", link_text(costs.process));
  for (const auto& [processes, link] : costs.host)
    out << fmt::format("between {} processes of a host: {}\n", processes, link_text(link));
  for (const auto& [processes, left] : costs.speed_left)
    out << fmt::format("steps of training in {} process{}: {:.2f} of the speed of their parts\n",
                       processes, processes == 1 ? "" : "es of a host", left);
  for (const auto& [processes, link] : costs.network)
    out << fmt::format("between {} processes on several hosts: {}\n", processes, link_text(link));
}

// While one exists, TESSERA_COSTS is empty, so that no file with measured costs is read.
class WithoutFigures {
 public:
  WithoutFigures() {
    if (const char* value = std::getenv("TESSERA_COSTS")) before_ = value;
    setenv("TESSERA_COSTS", "", 1);
  }
  ~WithoutFigures() {
    before_ ? setenv("TESSERA_COSTS", before_->c_str(), 1) : unsetenv("TESSERA_COSTS");
  }
  WithoutFigures(const WithoutFigures&) = delete;
  WithoutFigures& operator=(const WithoutFigures&) = delete;

 private:
  std::optional<std::string> before_;
};

// Makes the folder of the file. This is done before the measurements, since those take some time.
void expect_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error)
    io_error("calibrate", "expected a folder {}, got: {}; give another file with -o",
             folder.string(), error.message());
}

// Returns the costs that were measured before; nothing if there is no file, or if it is damaged and
// will be replaced.
MachineCosts costs_before(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  try {
    return parse_costs(std::string{std::istreambuf_iterator<char>(file), {}}, path);
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace

void calibrate(const CalibrateOptions& options, const Streams& streams) {
  if (options.check) {
    if (!options.output.empty())
      value_error("calibrate", "expected --check without -o {}, got both; --check writes no file",
                  options.output);
    start(devices_to_check());
    if (!machine_costs().measured())
      value_error("calibrate",
                  "expected measured figures to check, got none in {}; run `tessera calibrate` "
                  "first",
                  costs_path().empty() ? "any file" : costs_path());
    check_predictions(streams.out);
    return;
  }
  const std::string path = options.output.empty() ? costs_path() : options.output;
  if (path.empty())
    value_error("calibrate",
                "expected a file for the figures, got neither -o nor TESSERA_COSTS nor a home; "
                "give -o FILE");
  expect_folder(path);
  // Programs are planned without the measured costs that are about to be replaced.
  const WithoutFigures without;
  start("cpu:8");
  const bool first = process_index() == 0;
  // Links between processes are measured in several processes. Everything else is measured in a
  // single process that has the machine to itself.
  MachineCosts costs = first && process_count() > 1 ? costs_before(path) : MachineCosts();
  if (first && !costs.measured()) costs = measure_process();
  if (process_count() > 1) measure_links(costs);
  if (!first) return;
  print(costs, streams.out);
  const std::string text = to_json(costs);
  internal::replace_file_by("calibrate", path, [&](int fd) {
    internal::write_all(fd, text.data(), text.size(), "calibrate", path);
  });
  streams.out << fmt::format("written to {}\n", path);
}

}  // namespace tessera::tools
