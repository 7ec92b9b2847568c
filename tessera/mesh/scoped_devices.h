// ScopedDevices: sets other devices for the calling thread, for example to plan a program for
// hardware on which the process does not run.
#pragma once

#include <string>
#include <vector>

#include "tessera/mesh/device.h"

namespace tessera {

// As long as it exists, devices() of this thread are those of `spec` (parse_devices), whatever
// initialize() sets; other threads do not see them. Throws UserError for a malformed specification.
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
