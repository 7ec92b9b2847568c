#include "tessera/cluster/joined_rounds.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

namespace tessera::cluster {
namespace {

class Joined {
 public:
  explicit Joined(std::vector<Rounds> members) : members_(std::move(members)) {}

  std::optional<Round> next() {
    unpack();
    out_.clear();
    in_.clear();
    Round large;
    bool any = false;
    for (Rounds& member : members_) {
      if (!member) continue;
      const std::optional<Round> round = member();
      if (!round) {
        member = {};
        continue;
      }
      any = true;
      for (const Outgoing& message : round->out) {
        if (message.bytes > kInOneMessage) {
          large.out.push_back(message);
          continue;
        }
        std::vector<std::byte>& packed = out_[message.to];
        packed.insert(packed.end(), message.data, message.data + message.bytes);
      }
      for (const Incoming& message : round->in) {
        if (message.bytes > kInOneMessage)
          large.in.push_back(message);
        else
          in_[message.from].parts.push_back(message);
      }
    }
    if (!any) return std::nullopt;
    return with_packed(std::move(large));
  }

 private:
  struct Packed {
    std::vector<Incoming> parts;
    std::vector<std::byte> data;
  };

  Round with_packed(Round large) {
    Round round;
    for (auto& [to, data] : out_)
      round.out.push_back({to, data.data(), static_cast<int64_t>(data.size())});
    for (auto& [from, packed] : in_) {
      int64_t bytes = 0;
      for (const Incoming& part : packed.parts) bytes += part.bytes;
      packed.data.resize(static_cast<size_t>(bytes));
      round.in.push_back({from, packed.data.data(), bytes});
    }
    round.out.insert(round.out.end(), large.out.begin(), large.out.end());
    round.in.insert(round.in.end(), large.in.begin(), large.in.end());
    return round;
  }

  // Copies the data that the last round received to the memory of its members.
  void unpack() {
    for (const auto& [from, packed] : in_) {
      const std::byte* data = packed.data.data();
      for (const Incoming& part : packed.parts) {
        if (part.bytes > 0) std::memcpy(part.data, data, static_cast<size_t>(part.bytes));
        data += part.bytes;
      }
    }
  }

  std::vector<Rounds> members_;  // empty ones have ended
  std::map<int, std::vector<std::byte>> out_;
  std::map<int, Packed> in_;
};

}  // namespace

Rounds joined_rounds(std::vector<Rounds> members) {
  // std::function needs a copyable function; all copies share the state.
  return [joined = std::make_shared<Joined>(std::move(members))] { return joined->next(); };
}

}  // namespace tessera::cluster
