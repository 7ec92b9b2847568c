#include "tessera/engine/engine.h"

#include "tessera/engine/client_engine.h"
#include "tessera/engine/clients.h"
#include "tessera/engine/native_engine.h"

namespace tessera::engine {
namespace {

// Returns the engine of devices with this Device::client.
const Engine& engine(int64_t number) { return number == 0 ? native_engine() : client_engine(); }

}  // namespace

const Engine& engine_of(std::string_view op, std::span<const Device> devices) {
  return engine(client_of(op, devices));
}

const Engine& engine_of(std::string_view op, const Sharding& sharding) {
  return engine(client_of(op, sharding));
}

}  // namespace tessera::engine
