// Errors for processes that run different programs: which program each of them runs, and where the
// programs differ.
#include "tessera/base/format.h"
#include "tessera/cluster/processes.h"

namespace tessera::cluster {
namespace {

// The name that every jitted function has, whatever its name in C++ is.
constexpr std::string_view kJitted = "main";

// Returns a text about the first line in which two texts differ, with its number.
std::string first_difference(const std::string& mine, const std::string& theirs, int index,
                             int other) {
  size_t begin_a = 0, begin_b = 0;
  for (int line = 1;; ++line) {
    const size_t end_a = std::min(mine.find('\n', begin_a), mine.size()),
                 end_b = std::min(theirs.find('\n', begin_b), theirs.size());
    const std::string a = mine.substr(begin_a, end_a - begin_a),
                      b = theirs.substr(begin_b, end_b - begin_b);
    if (a != b)
      return fmt::format("they differ first in line {}: here (process {}) `{}`, in process {} `{}`",
                         line, index, a.empty() ? "nothing more" : a, other,
                         b.empty() ? "nothing more" : b);
    if (end_a == mine.size() && end_b == theirs.size())
      return "their ops are the same, and they are laid out differently";
    begin_a = std::min(end_a + 1, mine.size());
    begin_b = std::min(end_b + 1, theirs.size());
  }
}

}  // namespace

// Returns the text for the function that is called, and its location in the user's source.
std::string Processes::call_text() const {
  if (!call_site_ || call_site_->line() == 0) return call_->name;
  const std::string_view file = call_site_->file_name();
  const std::string at =
      fmt::format("jitted at {}:{}", file.substr(file.rfind('/') + 1), call_site_->line());
  return call_->name == kJitted ? "the function " + at
                                : fmt::format("{} of the function {}", call_->name, at);
}

// Exchanges the programs' texts with the processes `others`, which run something else. Throws
// UserError with the difference from the first of them.
void Processes::compare_programs(const std::vector<int>& others) {
  const std::string name = call_text(), mine = name + '\n' + call_->text();
  const uint64_t size = mine.size();
  const What what = [] { return std::string("the comparison of two programs"); };
  std::string message;
  for (int p : others) {
    uint64_t their_size = 0;
    swap_bytes(p, {reinterpret_cast<const std::byte*>(&size), sizeof size},
               {reinterpret_cast<std::byte*>(&their_size), sizeof their_size}, what);
    std::string theirs(their_size, '\0');
    swap_bytes(p, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(theirs)), what);
    if (!message.empty()) continue;
    const size_t line = theirs.find('\n');
    message = fmt::format(
        "expected one program in all processes, got {} in process {} and {} in process {} (call {} "
        "between them); {}; processes must call the same functions, on arrays of the same shapes, "
        "in the same order",
        name, index_, theirs.substr(0, line), p, pairs_[static_cast<size_t>(p)].calls,
        first_difference(mine.substr(name.size() + 1),
                         line == std::string::npos ? "" : theirs.substr(line + 1), index_, p));
  }
  fail(message);  // other processes may be members of those calls, or of this one
  value_error("cluster", "{}", message);
}

}  // namespace tessera::cluster
