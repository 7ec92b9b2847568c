// ScopedDevices: other devices for what the calling thread does, say to plan a program for hardware
// that is not there while the process runs on its own. Beside mesh/device.h.
#pragma once

#include <string>
#include <vector>

#include "tessera/mesh/device.h"

namespace tessera {

// While it lives, devices() of this thread are those of `spec` (parse_devices), whatever
// initialize() sets; other threads see nothing of it. UserError for a malformed specification.
class ScopedDevices {
 public:
  explicit ScopedDevices(const std::string& spec);
  ~ScopedDevices();
  ScopedDevices(const ScopedDevices&) = delete;
  ScopedDevices& operator=(const ScopedDevices&) = delete;

 private:
  const std::vector<Device>* outer_;
};

}  // namespace tessera
