#include "plugin/custom_partitioner.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/buffer.h"
#include "plugin/error.h"
#include "plugin/op_sharding.h"
#include "plugin/wire.h"
#include "tessera/interchange/bytecode/reader.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/control/custom_partitioning.h"

namespace tessera::plugin {
namespace {

using String = JAX_CustomCallPartitioner_string;

std::string_view view(const String& s) { return {s.data, s.size}; }
String borrowed(const std::string& s) { return {s.data(), s.size()}; }

// Returns XLA's PrimitiveType, which has other numbers than PJRT's types.
uint64_t element_type(DType dtype) {
  switch (to_pjrt(dtype)) {
    case PJRT_Buffer_Type_PRED:
      return 1;
    case PJRT_Buffer_Type_S8:
      return 2;
    case PJRT_Buffer_Type_S16:
      return 3;
    case PJRT_Buffer_Type_S32:
      return 4;
    case PJRT_Buffer_Type_S64:
      return 5;
    case PJRT_Buffer_Type_U8:
      return 6;
    case PJRT_Buffer_Type_U16:
      return 7;
    case PJRT_Buffer_Type_U32:
      return 8;
    case PJRT_Buffer_Type_U64:
      return 9;
    case PJRT_Buffer_Type_F16:
      return 10;
    case PJRT_Buffer_Type_F32:
      return 11;
    case PJRT_Buffer_Type_F64:
      return 12;
    case PJRT_Buffer_Type_C64:
      return 15;
    case PJRT_Buffer_Type_BF16:
      return 16;
    case PJRT_Buffer_Type_C128:
      return 18;
    case PJRT_Buffer_Type_F8E5M2:
      return 19;
    case PJRT_Buffer_Type_F8E4M3FN:
      return 20;
    case PJRT_Buffer_Type_S4:
      return 21;
    case PJRT_Buffer_Type_U4:
      return 22;
    default:
      unimplemented(
          fmt::format("[custom_partitioning] expected arrays of bool, of integers of 4 to 64 bits, "
                      "of floats or "
                      "of complex numbers, got {}; convert it around the function",
                      dtype_name(dtype)));
  }
}

constexpr uint64_t kTupleType = 13;

// Returns XLA's ShapeProto of a type.
std::string shape_of(const ir::Type& type) {
  MessageWriter out;
  out.add(2, element_type(type.dtype));
  out.add_packed(3, {type.shape.begin(), type.shape.end()});
  return out.bytes();
}

// The shapes and shardings of a call, in the form in which callbacks take them.
class Question {
 public:
  Question(const std::string& config, std::span<const ir::Type> operands,
           std::span<const ir::Type> results)
      : config_(config) {
    for (const ir::Type& type : operands) add(shape_of(type), sharding_of(type));
    if (results.size() == 1) {
      add(shape_of(results[0]), sharding_of(results[0]));
    } else {
      MessageWriter tuple;
      std::vector<std::string> shardings;
      tuple.add(2, kTupleType);
      for (const ir::Type& type : results) {
        tuple.add(4, shape_of(type));
        shardings.push_back(sharding_of(type));
      }
      add(tuple.bytes(), tuple_op_sharding(shardings));
    }
    for (const auto& [shape, sharding] : texts_)
      avals_.push_back({borrowed(shape), true, borrowed(sharding)});
    args.num_args = operands.size();
    args.op_args = avals_.data();
    args.op_result = avals_.back();
    args.backend_config = borrowed(config_);
  }
  ~Question() {
    if (args.header.cleanup_fn) args.header.cleanup_fn(args.header.data);
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  JAX_CustomCallPartitioner_Partition_Args args{};

 private:
  static std::string sharding_of(const ir::Type& type) {
    return to_op_sharding(type.sharding ? *type.sharding : NamedSharding(), type.rank());
  }
  void add(std::string shape, std::string sharding) {
    texts_.emplace_back(std::move(shape), std::move(sharding));
  }

  const std::string& config_;
  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<JAX_CustomCallPartitioner_aval> avals_;
};

// The callbacks of one name. When they are not needed any more, their destructor is called.
class Callbacks {
 public:
  Callbacks(std::string name, JAX_CustomCallPartitioner_Callbacks* callbacks)
      : name_(std::move(name)), callbacks_(callbacks) {}
  ~Callbacks() { callbacks_->dtor(callbacks_); }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  ops::CustomPartition partition(const std::string& config, const Mesh& mesh,
                                 std::span<const ir::Type> operands,
                                 std::span<const ir::Type> results) const {
    Question question(config, operands, results);
    const JAX_CustomCallPartitioner_Partition_Args& answer = question.args;
    callbacks_->partition(callbacks_, &question.args);
    if (answer.header.has_error)
      invalid(
          fmt::format("[custom_partitioning] expected the callback `partition` of '{}' to return, "
                      "got its error: "
                      "{}; correct the callback",
                      name_, view(answer.header.error_msg)));
    ops::CustomPartition out;
    for (size_t k = 0; k < operands.size(); ++k)
      out.operands.push_back(
          from_op_sharding(view(answer.args_sharding[k]), mesh, operands[k].rank()));
    const std::vector<std::string> parts = op_sharding_parts(view(answer.result_sharding));
    for (size_t r = 0; r < std::min(parts.size(), results.size()); ++r)
      out.results.push_back(from_op_sharding(parts[r], mesh, results[r].rank()));
    // The body's collectives are over groups of devices of the mesh; all of its axes are manual.
    const ir::AxisEnv::Scope scope(mesh, mesh.axis_names(), /*check_vma=*/false);
    out.body = std::make_shared<const ir::Function>(
        interchange::read_module(view(answer.mlir_module), name_).main);
    return out;
  }

 private:
  const std::string name_;
  JAX_CustomCallPartitioner_Callbacks* const callbacks_;
};

}  // namespace

PJRT_Custom_Partitioner_Extension make_custom_partitioner_extension(PJRT_Extension_Base* next) {
  PJRT_Custom_Partitioner_Extension out{};
  out.base = {PJRT_Custom_Partitioner_Extension_STRUCT_SIZE, PJRT_Extension_Type_Custom_Partitioner,
              next};
  out.register_custom_partitioner = [](PJRT_Register_Custom_Partitioner_Args* a) {
    return guarded([&] {
      const std::string name(a->name, a->name_size);
      auto callbacks = std::make_shared<const Callbacks>(name, a->callbacks);
      ops::set_custom_partitioner(
          name, [callbacks](const auto&... question) { return callbacks->partition(question...); });
    });
  };
  // Native functions are called on whole arrays, which is also right for those that may be called
  // on parts of a batch.
  out.register_batch_partitionable = [](PJRT_Register_Batch_Partitionable_Args*) -> PJRT_Error* {
    return nullptr;
  };
  return out;
}

}  // namespace tessera::plugin
