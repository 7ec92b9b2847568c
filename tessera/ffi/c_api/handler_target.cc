#include "tessera/ffi/c_api/handler_target.h"

#include <boost/container/small_vector.hpp>
#include <cstring>
#include <deque>

#include "tessera/base/format.h"
#include "tessera/ffi/c_api/context.h"
#include "tessera/ffi/c_api/data_types.h"

namespace tessera::ffi {
namespace {

using ir::Type;
using lax::FfiAttributes;
using ops::FfiCallSite;

// Attributes in the layout that handlers read. The table points into this object.
class AttributeTable {
 public:
  explicit AttributeTable(const FfiAttributes& attributes) {
    for (const auto& [name, attribute] : attributes) {
      names_.push_back(name);
      spans_.push_back({names_.back().data(), names_.back().size()});
      if (const auto* text = std::get_if<std::string>(&attribute.value)) {
        add_text(*text);
      } else if (const auto* literal = std::get_if<Literal>(&attribute.value)) {
        add_literal(*literal);
      } else {
        const auto& nested = std::get<std::shared_ptr<const FfiAttributes>>(attribute.value);
        nested_.push_back(std::make_unique<AttributeTable>(*nested));
        add(XLA_FFI_AttrType_DICTIONARY, &nested_.back()->attrs_);
      }
    }
    for (XLA_FFI_ByteSpan& span : spans_) span_pointers_.push_back(&span);
    attrs_ = {XLA_FFI_Attrs_STRUCT_SIZE,
              nullptr,
              static_cast<int64_t>(values_.size()),
              types_.data(),
              span_pointers_.data(),
              values_.data()};
  }
  AttributeTable(const AttributeTable&) = delete;
  AttributeTable& operator=(const AttributeTable&) = delete;

  const XLA_FFI_Attrs& attrs() const { return attrs_; }

 private:
  void add(XLA_FFI_AttrType type, void* value) {
    types_.push_back(type);
    values_.push_back(value);
  }
  void add_text(const std::string& text) {
    texts_.push_back(text);
    text_spans_.push_back({texts_.back().data(), texts_.back().size()});
    add(XLA_FFI_AttrType_STRING, &text_spans_.back());
  }
  void add_literal(const Literal& literal) {
    literals_.push_back(literal);
    void* data = literals_.back().mutable_raw();
    const XLA_FFI_DataType dtype = to_ffi(literal.dtype());
    if (literal.shape().rank() == 0) {
      scalars_.push_back({dtype, data});
      return add(XLA_FFI_AttrType_SCALAR, &scalars_.back());
    }
    arrays_.push_back({dtype, static_cast<size_t>(literal.elements()), data});
    add(XLA_FFI_AttrType_ARRAY, &arrays_.back());
  }

  // These are deques, because their elements do not move.
  std::deque<std::string> names_, texts_;
  std::deque<XLA_FFI_ByteSpan> spans_, text_spans_;
  std::deque<Literal> literals_;
  std::deque<XLA_FFI_Scalar> scalars_;
  std::deque<XLA_FFI_Array> arrays_;
  std::vector<std::unique_ptr<AttributeTable>> nested_;
  std::vector<XLA_FFI_AttrType> types_;
  std::vector<XLA_FFI_ByteSpan*> span_pointers_;
  std::vector<void*> values_;
  XLA_FFI_Attrs attrs_{};
};

[[noreturn]] void fail(const std::string& name, std::unique_ptr<XLA_FFI_Error> error) {
  throw HandlerError(error->code,
                     fmt::format("[ffi_call] expected the handler of '{}' to succeed, got the "
                                 "error: {}; mend the call's operands and attributes, or the "
                                 "handler",
                                 name, error->message));
}

// If the handler returned a future, waits until it is complete, and throws its error.
void wait_for(const std::string& name, XLA_FFI_Future* future) {
  const std::unique_ptr<XLA_FFI_Future> owned(future);
  const std::shared_ptr<XLA_FFI_Future::State> state = owned->state;
  std::unique_lock lock(state->mutex);
  state->completed.wait(lock, [&] { return state->done; });
  if (state->error) fail(name, std::move(state->error));
}

// One call in a program: the data that is the same in each run.
class HandlerCall {
 public:
  HandlerCall(std::string name, const HandlerBundle& handlers, const FfiCallSite& site)
      : name_(std::move(name)), handlers_(handlers), attributes_(site.attributes) {
    for (const Type& type : site.operands) args_.push_back(buffer_of(type));
    for (const Type& type : site.results) rets_.push_back(buffer_of(type));
    // The vectors of dimensions do not move any more, so they can be pointed to.
    for (size_t i = 0; i < args_.size(); ++i) args_[i].dims = dims_[i].data();
    for (size_t i = 0; i < rets_.size(); ++i) rets_[i].dims = dims_[args_.size() + i].data();
    arg_types_.assign(args_.size(), XLA_FFI_ArgType_BUFFER);
    ret_types_.assign(rets_.size(), XLA_FFI_RetType_BUFFER);
    for (const lax::FfiAlias& alias : site.aliases)
      aliases_.push_back({static_cast<size_t>(alias.operand), static_cast<size_t>(alias.result),
                          bytes_of(site.operands[static_cast<size_t>(alias.operand)])});
    if (!handlers_.instantiate) return;
    // Handlers of this stage get no operands and no results.
    XLA_FFI_ExecutionContext context{.instantiated = &state_};
    XLA_FFI_CallFrame frame = frame_of(context);
    call(handlers_.instantiate, XLA_FFI_ExecutionStage_INSTANTIATE, frame);
  }

  void operator()(std::span<const void* const> in, std::span<void* const> out) const {
    State prepared, initialized;
    XLA_FFI_ExecutionContext context{&state_, &prepared, &initialized};
    boost::container::small_vector<XLA_FFI_Buffer, 8> buffers(args_.begin(), args_.end());
    buffers.insert(buffers.end(), rets_.begin(), rets_.end());
    boost::container::small_vector<void*, 8> pointers;
    for (size_t i = 0; i < buffers.size(); ++i) {
      buffers[i].data =
          i < in.size() ? const_cast<void*>(in[i]) : out[i - in.size()];  // NOLINT: a C interface
      pointers.push_back(&buffers[i]);
    }
    for (const Alias& alias : aliases_) {
      void* memory = out[alias.result];
      if (memory != in[alias.operand]) std::memcpy(memory, in[alias.operand], alias.bytes);
      buffers[alias.operand].data = memory;
    }
    XLA_FFI_CallFrame frame = frame_of(context);
    frame.args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, static_cast<int64_t>(args_.size()),
                  const_cast<XLA_FFI_ArgType*>(arg_types_.data()), pointers.data()};
    frame.rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, static_cast<int64_t>(rets_.size()),
                  const_cast<XLA_FFI_RetType*>(ret_types_.data()), pointers.data() + args_.size()};
    if (handlers_.prepare) call(handlers_.prepare, XLA_FFI_ExecutionStage_PREPARE, frame);
    if (handlers_.initialize) call(handlers_.initialize, XLA_FFI_ExecutionStage_INITIALIZE, frame);
    call(handlers_.execute, XLA_FFI_ExecutionStage_EXECUTE, frame);
  }

 private:
  struct Alias {
    size_t operand, result, bytes;
  };

  static size_t bytes_of(const Type& type) {
    return static_cast<size_t>(type.shape.elements() * itemsize(type.dtype));
  }

  XLA_FFI_Buffer buffer_of(const Type& type) {
    dims_.emplace_back(type.shape.begin(), type.shape.end());
    return {XLA_FFI_Buffer_STRUCT_SIZE, nullptr, to_ffi(type.dtype), nullptr,
            type.shape.rank(),          nullptr};
  }

  XLA_FFI_CallFrame frame_of(XLA_FFI_ExecutionContext& context) const {
    XLA_FFI_CallFrame out{};
    out.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    out.api = &api_table();
    out.ctx = &context;
    out.args.struct_size = XLA_FFI_Args_STRUCT_SIZE;
    out.rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE;
    out.attrs = attributes_.attrs();
    return out;
  }

  void call(Handler* handler, XLA_FFI_ExecutionStage stage, XLA_FFI_CallFrame& frame) const {
    frame.stage = stage;
    frame.future = nullptr;
    std::unique_ptr<XLA_FFI_Error> error(handler(&frame));
    if (frame.future) wait_for(name_, frame.future);
    if (error) fail(name_, std::move(error));
  }

  std::string name_;
  HandlerBundle handlers_;
  AttributeTable attributes_;
  std::deque<std::vector<int64_t>> dims_;
  std::vector<XLA_FFI_Buffer> args_, rets_;
  std::vector<XLA_FFI_ArgType> arg_types_;
  std::vector<XLA_FFI_RetType> ret_types_;
  std::vector<Alias> aliases_;
  mutable State state_;  // handlers change what it holds at their own risk, as in XLA
};

class HandlerTarget final : public ops::FfiTarget {
 public:
  HandlerTarget(std::string name, const HandlerBundle& handlers)
      : name_(std::move(name)), handlers_(handlers) {}

  ir::HostCall instantiate(const FfiCallSite& site) const override {
    const auto call = std::make_shared<const HandlerCall>(name_, handlers_, site);
    return
        [call](std::span<const void* const> in, std::span<void* const> out) { (*call)(in, out); };
  }

 private:
  std::string name_;
  HandlerBundle handlers_;
};

}  // namespace

void expect_known_version(const std::string& name, Handler* handler) {
  constexpr int kOldestMinor = 2, kNewestMinor = 5;
  XLA_FFI_Metadata metadata{};
  metadata.struct_size = XLA_FFI_Metadata_STRUCT_SIZE;
  metadata.api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  // Newer handlers do not write fields behind the last one of an older struct.
  static_assert(sizeof(XLA_FFI_Metadata) >= XLA_FFI_Metadata_STRUCT_SIZE);
  XLA_FFI_Metadata_Extension extension{
      {XLA_FFI_Metadata_Extension_STRUCT_SIZE, XLA_FFI_Extension_Metadata, nullptr}, &metadata};
  XLA_FFI_CallFrame frame{};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.extension_start = &extension.extension_base;
  frame.api = &api_table();
  frame.args.struct_size = XLA_FFI_Args_STRUCT_SIZE;
  frame.rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE;
  frame.attrs.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  if (const std::unique_ptr<XLA_FFI_Error> error(handler(&frame)); error)
    value_error("ffi",
                "expected a handler of '{}' that says its version, got the error: {}; build it "
                "with the headers of jax.ffi.include_dir()",
                name, error->message);
  const XLA_FFI_Api_Version& version = metadata.api_version;
  if (version.major_version != XLA_FFI_API_MAJOR || version.minor_version < kOldestMinor ||
      version.minor_version > kNewestMinor)
    value_error("ffi",
                "expected a handler of '{}' for version {}.{} to {}.{} of XLA's FFI, got one for "
                "{}.{}; build it with the headers of jax.ffi.include_dir()",
                name, XLA_FFI_API_MAJOR, kOldestMinor, XLA_FFI_API_MAJOR, kNewestMinor,
                version.major_version, version.minor_version);
}

std::shared_ptr<const ops::FfiTarget> make_handler_target(const std::string& name,
                                                          const HandlerBundle& handlers) {
  return std::make_shared<const HandlerTarget>(name, handlers);
}

}  // namespace tessera::ffi
