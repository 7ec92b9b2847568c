#include "plugin/callbacks.h"

#include <array>
#include <string>

#include "plugin/error.h"
#include "tessera/ops/control/host_callback.h"

int64_t tessera_add_callback(TesseraCallback function, int64_t key) {
  return tessera::lax::add_host_function(
      [=](std::span<const void* const> in, std::span<void* const> out) {
        std::array<char, 16384> error{};
        if (function(key, in.data(), out.data(), error.data(), error.size() - 1) != 0)
          throw tessera::plugin::ApiError(
              {PJRT_Error_Code_INTERNAL,
               std::string("[callback] the function of the host failed: ") + error.data()});
      });
}

void tessera_remove_callback(int64_t number) { tessera::lax::remove_host_function(number); }
