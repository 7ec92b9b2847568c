#include "tessera/nnx/rngs.h"

#include <fmt/ranges.h>

#include "tessera/ir/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/operators.h"

namespace tessera::nnx {

RngStream::RngStream(const RngSeed& seed) : key(seed.key), count(zeros(Shape{}, uint32)) {}

random::Key RngStream::operator()() {
  random::Key out = random::fold_in(key, count);
  count = count + 1;
  return out;
}

RngStream RngStream::fork() { return RngStream(RngSeed((*this)())); }

Rngs::Rngs() = default;
Rngs::Rngs(const Rngs&) = default;
Rngs::Rngs(Rngs&&) noexcept = default;
Rngs& Rngs::operator=(const Rngs&) = default;
Rngs& Rngs::operator=(Rngs&&) noexcept = default;
Rngs::~Rngs() = default;
Rngs::Rngs(const RngSeed& seed) { streams_.emplace("default", RngStream(seed)); }

Rngs::Rngs(const std::map<std::string, RngSeed>& streams) {
  for (const auto& [name, seed] : streams) streams_.emplace(name, RngStream(seed));
}

RngStream& Rngs::operator[](const std::string& name) {
  auto it = streams_.find(name);
  if (it == streams_.end()) it = streams_.find("default");
  if (it == streams_.end()) {
    std::vector<std::string> names;
    for (const auto& entry : streams_) names.push_back(entry.first);
    value_error("nnx::Rngs",
                "expected a stream \"{}\" or \"default\", got [{}]; add it to the Rngs", name,
                fmt::join(names, ", "));
  }
  return it->second;
}

}  // namespace tessera::nnx
