#include "tessera/base/fork.h"

#include <pthread.h>

#include <set>
#include <utility>

namespace tessera {
namespace {

// It is never destroyed: participants may outlive static destructors.
struct Participants {
  std::mutex mutex;  // locked during a fork
  std::set<std::pair<ForkParticipant::Level, ForkParticipant*>> all;
};
Participants& participants() {
  static Participants& instance = *new Participants;
  return instance;
}

void freeze_all() {
  participants().mutex.lock();
  for (const auto& [level, participant] : participants().all) participant->before_fork();
}
void release_all(bool child) {
  Participants& p = participants();
  for (auto it = p.all.rbegin(); it != p.all.rend(); ++it) it->second->after_fork(child);
  p.mutex.unlock();
}

}  // namespace

void ForkParticipant::join() {
  [[maybe_unused]] static const int installed = pthread_atfork(
      freeze_all, [] { release_all(false); }, [] { release_all(true); });
  const std::lock_guard lock(participants().mutex);
  participants().all.emplace(level_, this);
}
void ForkParticipant::leave() {
  const std::lock_guard lock(participants().mutex);
  participants().all.erase({level_, this});
}

}  // namespace tessera
