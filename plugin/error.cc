#include "plugin/error.h"

#include <new>

#include "tessera/base/error.h"

namespace tessera::plugin {

void unimplemented(const std::string& what) { throw ApiError(PJRT_Error_Code_UNIMPLEMENTED, what); }
void invalid(const std::string& message) {
  throw ApiError(PJRT_Error_Code_INVALID_ARGUMENT, message);
}

PJRT_Error* current_error() {
  try {
    throw;
  } catch (const ApiError& e) {
    return new PJRT_Error{e.code(), e.what()};
  } catch (const UserError& e) {
    return new PJRT_Error{PJRT_Error_Code_INVALID_ARGUMENT, e.what()};
  } catch (const std::bad_alloc&) {
    return new PJRT_Error{PJRT_Error_Code_RESOURCE_EXHAUSTED,
                          "[tessera] expected memory, got none left"};
  } catch (const std::exception& e) {
    return new PJRT_Error{PJRT_Error_Code_INTERNAL, e.what()};
  } catch (...) {
    return new PJRT_Error{PJRT_Error_Code_INTERNAL, "[tessera] an exception of unknown type"};
  }
}

}  // namespace tessera::plugin
