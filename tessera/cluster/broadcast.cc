#include "tessera/cluster/broadcast.h"

#include <functional>

#include "tessera/base/hash.h"

namespace tessera::cluster {

void broadcast(Processes& processes, std::span<std::byte> bytes, const Processes::What& what) {
  CallIdentity identity{
      hash_combine(std::hash<std::string>()("broadcast"), std::hash<std::string>()(what())),
      what(),
      what,
      {}};
  for (int p = 0; p < processes.count(); ++p) identity.members.push_back(p);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  const auto size = static_cast<int64_t>(bytes.size());
  if (processes.index() > 0) in.push_back({0, bytes.data(), size});
  for (int p = 1; processes.index() == 0 && p < processes.count(); ++p)
    out.push_back({p, bytes.data(), size});
  Processes::Call call(processes, identity);
  processes.exchange(out, in, what);
  call.complete();
}

void broadcast(std::span<std::byte> bytes, const Processes::What& what) {
  if (Processes* processes = Processes::current()) broadcast(*processes, bytes, what);
}

}  // namespace tessera::cluster
