#include "tessera/cluster/timeline.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tessera/base/format.h"
#include "tessera/base/warning.h"
#include "tessera/cluster/processes.h"

namespace tessera::cluster {
namespace {

// Returns the text as a JSON string.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

void write_whole(const std::string& file, const std::string& text) {
  const std::string part = file + ".part";
  std::FILE* out = std::fopen(part.c_str(), "w");
  bool good = out && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (out) good = std::fclose(out) == 0 && good;
  if (!good || std::rename(part.c_str(), file.c_str()) != 0)
    warn(
        fmt::format("[trace] expected a file that can be written, got {}; give TESSERA_TRACE the "
                    "name of another one",
                    file));
}

struct Wanted {
  std::string file;
  Timeline timeline;
};

Wanted* wanted() {
  // It is never destroyed: threads may read it while the process ends.
  static Wanted* const instance = []() -> Wanted* {
    const char* file = std::getenv("TESSERA_TRACE");
    if (!file || !*file) return nullptr;
    auto* made = new Wanted{file, {}};
    std::atexit([] {
      const Processes* processes = Processes::current();
      std::filesystem::path path(wanted()->file);
      if (processes)
        path.replace_extension(fmt::format(".{}{}", processes->index(), path.extension().string()));
      write_whole(path.string(), wanted()->timeline.text(processes ? processes->index() : 0));
    });
    return made;
  }();
  return instance;
}

}  // namespace

Timeline* Timeline::current() {
  Wanted* found = wanted();
  return found ? &found->timeline : nullptr;
}

int64_t Timeline::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void Timeline::add(Kind kind, std::string name, int64_t begin, int64_t end) {
  const std::lock_guard lock(mutex_);
  if (events_.size() == kMaxEvents) {
    ++dropped_;
    return;
  }
  events_.push_back({kind, begin, end, std::move(name)});
}

std::string Timeline::text(int process) const {
  const std::lock_guard lock(mutex_);
  std::string out = fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"dropped\":{}}},\"traceEvents\":[\n"
      "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":\"process "
      "{}\"}}}}",
      dropped_, process, process);
  const auto micros = [](int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); };
  size_t id = 0;
  for (const Event& e : events_) {
    const std::string head = fmt::format(",\n{{\"name\":{},\"pid\":{},\"tid\":{},", quoted(e.name),
                                         process, e.kind == Kind::kTransfer ? 1 : 0);
    if (e.kind != Kind::kTransfer) {
      out += fmt::format("{}\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{},\"dur\":{}}}", head,
                         e.kind == Kind::kStep ? "step" : "wait", micros(e.begin),
                         micros(e.end - e.begin));
      continue;
    }
    // Each transfer has an id, because several may be in progress at once.
    ++id;
    for (const bool begins : {true, false})
      out += fmt::format("{}\"cat\":\"transfer\",\"id\":{},\"ph\":\"{}\",\"ts\":{}}}", head, id,
                         begins ? 'b' : 'e', micros(begins ? e.begin : e.end));
  }
  return out + "\n]}\n";
}

}  // namespace tessera::cluster
