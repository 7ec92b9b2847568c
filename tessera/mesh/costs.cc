#include "tessera/mesh/costs.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/fork.h"
#include "tessera/base/warning.h"
#include "tessera/cluster/processes.h"
#include "tessera/mesh/format.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 2;
// Links of common machines: shared memory through MPI, and a network of 10 Gbit/s.
constexpr LinkCost kHostLink{4e9, 5e-6}, kNetworkLink{1e9, 4e-5};

Json json_of(const Speed& speed) { return {{"one_thread", speed.one}, {"all_cores", speed.all}}; }
Json json_of(const LinkCost& link) {
  return {{"bytes_per_second", link.bandwidth}, {"seconds", link.latency}};
}
Json json_of(const std::vector<SizedSpeed>& table) {
  Json out = Json::array();
  for (const SizedSpeed& row : table) {
    out.push_back(json_of(row.speed));
    out.back()["size"] = row.size;
  }
  return out;
}
Json json_of(const std::map<int, LinkCost>& links) {
  Json out = Json::array();
  for (const auto& [processes, link] : links) {
    out.push_back(json_of(link));
    out.back()["processes"] = processes;
  }
  return out;
}

// Returns the number `name`. Throws if it is not finite and positive, so that callers can divide by
// it.
double positive(const Json& json, const char* name) {
  const auto value = json.at(name).get<double>();
  if (!(value > 0) || !std::isfinite(value))
    throw std::runtime_error(fmt::format("\"{}\" is {}, not a positive number", name, value));
  return value;
}
Speed speed_of(const Json& json) {
  return {positive(json, "one_thread"), positive(json, "all_cores")};
}
LinkCost link_of(const Json& json) {
  return {positive(json, "bytes_per_second"), positive(json, "seconds")};
}
std::vector<SizedSpeed> table_of(const Json& json) {
  std::vector<SizedSpeed> out;
  for (const Json& row : json) out.push_back({positive(row, "size"), speed_of(row)});
  for (size_t k = 0; k + 1 < out.size(); ++k)
    if (out[k].size >= out[k + 1].size) throw std::runtime_error("sizes do not ascend");
  if (out.empty()) throw std::runtime_error("a table of speeds is empty");
  return out;
}
std::map<int, LinkCost> links_of(const Json& json) {
  std::map<int, LinkCost> out;
  for (const Json& row : json) {
    const auto processes = static_cast<int>(positive(row, "processes"));
    out[processes] = link_of(row);
  }
  return out;
}

// Returns the measurement for that number of processes, or for the nearest larger number, or for
// the largest one.
template <class T>
const std::pair<const int, T>& figures_for(const std::map<int, T>& measured, int processes) {
  const auto found = measured.lower_bound(processes);
  return found == measured.end() ? *measured.rbegin() : *found;
}

LinkCost link_among(const std::map<int, LinkCost>& links, int processes, const LinkCost& other) {
  if (links.empty()) return other;
  const auto& [measured, link] = figures_for(links, processes);
  LinkCost out = link;
  // The bandwidth is shared: with more processes, each has less of it.
  out.bandwidth *= static_cast<double>(measured) / std::max(1, processes);
  return out;
}

// Returns the content of the file, or nullopt if there is none or it cannot be read.
std::optional<std::string> read_costs_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    // If the user has named the file, its absence is worth a warning.
    if (std::getenv("TESSERA_COSTS"))
      warn(
          fmt::format("[costs] expected figures in {}, which TESSERA_COSTS names, got no file that "
                      "can be read; built-in figures are used. `tessera calibrate` writes it",
                      path));
    return std::nullopt;
  }
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

// Returns the costs in `text`. If it is missing or damaged, returns the built-in ones; `warns` says
// whether to warn of damage.
MachineCosts costs_of(const std::optional<std::string>& text, const std::string& path, bool warns) {
  if (!text) return {};
  try {
    return parse_costs(*text, path);
  } catch (const UserError& e) {
    if (warns) warn(fmt::format("{}; until then built-in figures are used", e.what()));
    return {};
  }
}

struct State {
  ForkSafeMutex mutex;
  std::deque<MachineCosts> all;  // never removed, so that references stay valid
  std::deque<std::vector<int>> all_hosts{{}};
  std::atomic<const MachineCosts*> current{nullptr};
  std::atomic<const std::vector<int>*> hosts{&all_hosts.front()};

  const MachineCosts& set(const MachineCosts& costs) {
    const std::lock_guard lock(mutex);
    auto found = std::find(all.begin(), all.end(), costs);
    if (found == all.end()) found = all.insert(all.end(), costs);
    current = &*found;
    return *found;
  }
  void set_hosts(const std::vector<int>& of_processes) {
    const std::lock_guard lock(mutex);
    if (*hosts.load() != of_processes) hosts = &all_hosts.emplace_back(of_processes);
  }
};
State& state() {
  static State& instance = *new State;
  return instance;
}

}  // namespace

LinkCost host_link(const MachineCosts& costs, int processes) {
  return link_among(costs.host, processes, kHostLink);
}
LinkCost network_link(const MachineCosts& costs, int processes) {
  return link_among(costs.network, processes, kNetworkLink);
}

double speed_at(const std::vector<SizedSpeed>& table, double size, double threads, double cores,
                double sharing) {
  // The part of a core's speed that is left while all cores work, since they share a cache, memory
  // and the power budget. It is taken from the largest size, where all cores had work.
  const Speed& largest = table.back().speed;
  const double crowded = std::clamp(largest.all / (cores * largest.one), 1 / cores, 1.0);
  const auto at = [&](const SizedSpeed& row) {
    if (sharing <= 1)
      return threads > 1 ? std::min(threads * row.speed.one, row.speed.all) : row.speed.one;
    // The other processes do the same work at the same time. If there are more processes than
    // cores, each has a part of a core.
    const double busy = std::min(cores, threads * sharing),
                 left = cores > 1 ? 1 + (crowded - 1) * (busy - 1) / (cores - 1) : 1;
    return std::min(threads, cores / sharing) * row.speed.one * left;
  };
  const auto above = std::find_if(table.begin(), table.end(),
                                  [&](const SizedSpeed& row) { return row.size >= size; });
  if (above == table.begin()) return at(*above);
  if (above == table.end()) return at(table.back());
  const SizedSpeed &low = *(above - 1), &high = *above;
  const double t = std::log(size / low.size) / std::log(high.size / low.size);
  return std::exp((1 - t) * std::log(at(low)) + t * std::log(at(high)));
}

double operand_elements(const std::vector<SizedSpeed>& products, double m, double n, double k) {
  const double side = std::cbrt(products.back().size / 2), flop = 2 * m * n * k;
  return std::max(0.0, m * k + k * n + 2 * m * n - flop * 2 / side);
}

double speed_left(const MachineCosts& costs, int processes) {
  if (costs.speed_left.empty() || (processes < 2 && !costs.speed_left.contains(1))) return 1;
  return figures_for(costs.speed_left, processes).second;
}

std::string to_json(const MachineCosts& costs) {
  Json left = Json::array();
  for (const auto& [processes, speed] : costs.speed_left)
    left.push_back({{"processes", processes}, {"left", speed}});
  const Json json = {{"version", kVersion},
                     {"cores", costs.cores},
                     {"call_seconds", costs.call_seconds},
                     {"step_seconds", costs.step_seconds},
                     {"kernel_speed", costs.kernel_speed},
                     {"memory_bytes_per_second", json_of(costs.memory)},
                     {"products_flop_per_second",
                      {{"float32", json_of(costs.float32_products)},
                       {"bfloat16", json_of(costs.bfloat16_products)}}},
                     {"operand_elements_per_second", json_of(costs.operands)},
                     {"speed_left_beside_processes", left},
                     {"links",
                      {{"within_a_process", json_of(costs.process)},
                       {"within_a_host", json_of(costs.host)},
                       {"between_hosts", json_of(costs.network)}}}};
  return json.dump(2) + "\n";
}

MachineCosts parse_costs(std::string_view text, const std::string& source) {
  try {
    const Json json = Json::parse(text);
    if (const int version = json.at("version").get<int>(); version != kVersion)
      throw std::runtime_error(fmt::format("\"version\" is {}, not {}", version, kVersion));
    MachineCosts out;
    out.source = source;
    out.cores = static_cast<int>(positive(json, "cores"));
    out.call_seconds = positive(json, "call_seconds");
    out.step_seconds = positive(json, "step_seconds");
    out.kernel_speed = positive(json, "kernel_speed");
    out.memory = table_of(json.at("memory_bytes_per_second"));
    const Json& products = json.at("products_flop_per_second");
    out.float32_products = table_of(products.at("float32"));
    out.bfloat16_products = table_of(products.at("bfloat16"));
    out.operands = speed_of(json.at("operand_elements_per_second"));
    for (const Json& row : json.at("speed_left_beside_processes"))
      out.speed_left[static_cast<int>(positive(row, "processes"))] = positive(row, "left");
    const Json& links = json.at("links");
    out.process = link_of(links.at("within_a_process"));
    out.host = links_of(links.at("within_a_host"));
    out.network = links_of(links.at("between_hosts"));
    return out;
  } catch (const std::exception& e) {
    fail(ErrorKind::kParse, "costs",
         "expected figures as `tessera calibrate` writes them in {}, got: {}; run `tessera "
         "calibrate` again",
         source, e.what());
  }
}

std::string costs_path() {
  if (const char* path = std::getenv("TESSERA_COSTS")) return path;
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config) return std::string(config) + "/tessera/costs.json";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.config/tessera/costs.json" : "";
}

const MachineCosts& machine_costs() {
  if (const MachineCosts* current = state().current) return *current;
  const std::string path = costs_path();
  return state().set(costs_of(read_costs_file(path), path, true));
}

void load_costs(cluster::Processes* processes) {
  if (!processes) {
    state().current = nullptr;
    state().set_hosts({});
    return;
  }
  // All processes exchange one message: the sender's host, and, from process 0, the content of the
  // file.
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const bool first_one = processes->index() == 0;
  const std::string path = first_one ? costs_path() : "";
  const std::optional<std::string> text = read_costs_file(path);
  const std::string mine =
      Json{{"host", host.data()}, {"path", path}, {"costs", text ? Json(*text) : Json()}}.dump(
          -1, ' ', false, Json::error_handler_t::replace);
  const std::vector<std::string> all =
      processes->all_gather(mine, [] { return std::string("initialize"); });
  std::vector<std::string> names;
  std::vector<int> hosts;
  for (const std::string& text : all) {
    const std::string name = Json::parse(text).at("host");
    const auto found = std::find(names.begin(), names.end(), name);
    hosts.push_back(static_cast<int>(found - names.begin()));
    if (found == names.end()) names.push_back(name);
  }
  state().set_hosts(hosts);
  const Json first = Json::parse(all[0]);
  const Json& costs = first.at("costs");
  state().set(costs_of(costs.is_null() ? std::nullopt : std::optional(costs.get<std::string>()),
                       first.at("path"), first_one));
}

const std::vector<int>& hosts_of_processes() { return *state().hosts.load(); }

}  // namespace tessera
