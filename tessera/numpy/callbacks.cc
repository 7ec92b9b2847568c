#include "tessera/numpy/callbacks.h"

#include <fmt/args.h>

#include <algorithm>
#include <iostream>

#include "tessera/base/parallel_copy.h"
#include "tessera/ir/format.h"
#include "tessera/ir/token_type.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/printing.h"
#include "tessera/ops/core/identity.h"

namespace tessera::internal {

using namespace ir;

namespace {

std::string_view name_of(HostCallKind kind) {
  switch (kind) {
    case HostCallKind::kPure:
      return "pure_callback";
    case HostCallKind::kIo:
      return "io_callback";
    case HostCallKind::kDebug:
      return "debug::callback";
  }
  __builtin_unreachable();
}

// A function, the types of its results for one example, and its name in errors.
struct NamedBody {
  std::string_view op;
  HostBody body;
  std::vector<Type> results;

  // Returns results of these types with the dimensions `batch` in front.
  std::vector<Literal> operator()(const Dims& batch, const std::vector<Array>& arguments) const {
    const std::vector<Array> arrays = called(arguments);
    if (arrays.size() != results.size())
      type_error(op,
                 "expected {} arrays from the function of the host, got {}; return as many as "
                 "the results that were declared",
                 results.size(), arrays.size());
    std::vector<Literal> out;
    for (size_t r = 0; r < results.size(); ++r) {
      Shape shape = batch;
      shape.insert(shape.end(), results[r].shape.begin(), results[r].shape.end());
      if (arrays[r].dtype() != results[r].dtype || arrays[r].shape() != shape)
        type_error(op,
                   "expected {}{} from the function of the host as result {}, got {}{}; return "
                   "what was declared, or declare what it returns",
                   dtype_name(results[r].dtype), shape, r, dtype_name(arrays[r].dtype()),
                   arrays[r].shape());
      out.push_back(arrays[r].to_host());
    }
    return out;
  }

 private:
  std::vector<Array> called(const std::vector<Array>& arguments) const {
    try {
      return body(arguments);
    } catch (const UserError&) {
      throw;
    } catch (const std::exception& e) {
      value_error(op,
                  "expected the function of the host to return, got an exception: {}; catch it "
                  "there, or mend its cause",
                  e.what());
    } catch (...) {
      value_error(op,
                  "expected the function of the host to return, got an exception that is not a "
                  "std::exception; catch it there");
    }
  }
};

// Arguments are copied, since the function may keep them and the program reuses their memory.
Array copied_argument(const Type& type, const Dims& batch, const void* data) {
  Shape shape = batch;
  shape.insert(shape.end(), type.shape.begin(), type.shape.end());
  Literal out = Literal::uninitialized(type.dtype, shape);
  copy_bytes(out.mutable_raw(), static_cast<const std::byte*>(data), out.bytes());
  return Array(std::move(out));
}

int64_t registered(NamedBody body, const std::vector<Type>& arguments,
                   const lax::HostCallOptions& options) {
  const std::vector<Type> results =
      body.results.empty() ? std::vector<Type>{token_type()} : body.results;
  return lax::add_host_function(
      [body = std::move(body), arguments](const lax::HostBatch& batch,
                                          std::span<const void* const> in,
                                          std::span<void* const> out) {
        std::vector<Array> arrays;
        for (size_t i = 0; i < arguments.size(); ++i)
          arrays.push_back(copied_argument(arguments[i], batch.arguments[i], in[i]));
        const std::vector<Literal> results = body(batch.results, arrays);
        for (size_t r = 0; r < results.size(); ++r)
          copy_bytes(static_cast<std::byte*>(out[r]), results[r].raw(), results[r].bytes());
      },
      arguments, results, options);
}

}  // namespace

std::vector<Array> call_host(HostCallKind kind, HostBody body, const std::vector<Array>& arguments,
                             const std::vector<Array>& results,
                             const lax::HostCallOptions& options) {
  const std::string_view op = name_of(kind);
  NamedBody named{op, std::move(body), {}};
  for (const Array& x : results) {
    if (canonical_dtype(x.dtype()) != x.dtype())
      type_error(op,
                 "expected results of at most 32 bits while x64 is disabled, got {}; call "
                 "enable_x64(true)",
                 describe(x.type()));
    named.results.push_back({.dtype = x.dtype(), .shape = x.shape()});
  }
  const bool traced =
      Trace::current() != nullptr ||
      std::any_of(arguments.begin(), arguments.end(), [](const Array& x) { return x.is_tracer(); });
  if (!traced) {
    std::vector<Array> out;
    for (const Literal& literal : named({}, arguments)) out.push_back(from_host(literal));
    return out;
  }
  std::vector<Type> types;
  for (const Array& x : arguments) types.push_back({.dtype = x.dtype(), .shape = x.shape()});
  const std::vector<Type> result_types = named.results;
  const int64_t number = registered(std::move(named), types, options);
  switch (kind) {
    case HostCallKind::kPure:
      return lax::pure_callback(number, result_types, arguments);
    case HostCallKind::kIo:
      return lax::io_callback(number, result_types, arguments);
    case HostCallKind::kDebug: {
      std::vector<Array> values;
      for (const Array& x : arguments) values.push_back(lax::stop_gradient(x));
      return lax::io_callback(number, result_types, values);
    }
  }
  __builtin_unreachable();
}

namespace {

std::string formatted(const std::string& format, const std::vector<Array>& arguments) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const Array& x : arguments) {
    if (x.size() != 1 || is_complex(x.dtype())) {
      store.push_back(str(x));
    } else if (x.dtype() == bool_) {
      store.push_back(x.item<bool>());
    } else if (is_integer(x.dtype())) {
      store.push_back(to_vector<int64_t>(x)[0]);
    } else {
      store.push_back(x.item<double>());
    }
  }
  return fmt::vformat(format, store);
}

}  // namespace

void check_format(const std::string& format, const std::vector<Array>& arguments) {
  std::vector<Array> zeros;
  for (const Array& x : arguments)
    zeros.push_back(Array(Literal(x.dtype(), x.size() == 1 ? Shape{} : Shape{0})));
  try {
    formatted(format, zeros);
  } catch (const fmt::format_error& e) {
    value_error("debug::print",
                "expected a format for {} arguments, got \"{}\" ({}); write {{}} "
                "for each of them",
                arguments.size(), format, e.what());
  }
}

void print_formatted(const std::string& format, const std::vector<Array>& arguments) {
  std::cout << formatted(format, arguments) + "\n" << std::flush;
}

}  // namespace tessera::internal
