#include "plugin/error.h"

#include <new>

#include "tessera/base/error.h"
#include "tessera/ffi/ffi.h"

namespace tessera::plugin {
namespace {

// An error of any plugin begins with PJRT_Error, a pointer to the table of its functions.
struct Error : PJRT_Error {
  Failure failure;
};

const Failure& failure_of(const PJRT_Error* error) {
  return static_cast<const Error*>(error)->failure;
}

void destroy(PJRT_Error* error) { delete static_cast<Error*>(error); }

void say(const PJRT_Error* error, const char** message, size_t* size) {
  *message = failure_of(error).message.data();
  *size = failure_of(error).message.size();
}

PJRT_Error_Code error_code(const PJRT_Error* error) { return failure_of(error).code; }

void visit_payloads(const PJRT_Error*, PJRT_Error_PayloadVisitor, void*) {}

constexpr PJRT_Error_FunctionTable kFunctions{
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = PJRT_Error_STRUCT_SIZE,
    .extension_start = nullptr,
    .destroy = destroy,
    .message = say,
    .get_code = error_code,
    .for_each_payload = visit_payloads,
};

}  // namespace

void unimplemented(const std::string& what) {
  throw ApiError({PJRT_Error_Code_UNIMPLEMENTED, what});
}
void invalid(const std::string& message) {
  throw ApiError({PJRT_Error_Code_INVALID_ARGUMENT, message});
}

PJRT_Error* new_error(Failure failure) { return new Error{{&kFunctions}, std::move(failure)}; }

PJRT_Error* current_error() {
  try {
    throw;
  } catch (const ApiError& e) {
    return new_error(e.failure());
  } catch (const ffi::HandlerError& e) {
    return new_error({static_cast<PJRT_Error_Code>(e.code()), e.what()});
  } catch (const UserError& e) {
    return new_error({PJRT_Error_Code_INVALID_ARGUMENT, e.what()});
  } catch (const std::bad_alloc&) {
    return new_error(
        {PJRT_Error_Code_RESOURCE_EXHAUSTED, "[tessera] expected memory, got none left"});
  } catch (const std::exception& e) {
    return new_error({PJRT_Error_Code_INTERNAL, e.what()});
  } catch (...) {
    return new_error({PJRT_Error_Code_INTERNAL, "[tessera] an exception of unknown type"});
  }
}

void add_errors(PJRT_Api& api) {
  api.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args* a) { destroy(a->error); };
  api.PJRT_Error_Message = [](PJRT_Error_Message_Args* a) {
    say(a->error, &a->message, &a->message_size);
  };
  api.PJRT_Error_GetCode = [](auto* a) -> PJRT_Error* {
    a->code = error_code(a->error);
    return nullptr;
  };
  api.PJRT_Error_ForEachPayload = [](auto*) -> PJRT_Error* { return nullptr; };
}

}  // namespace tessera::plugin
