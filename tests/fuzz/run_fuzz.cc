// Fuzzes everything after the parser: small programs that parse are propagated, partitioned, fused,
// explained, compiled and run on eight devices. Each step must end, possibly with a UserError.
// scripts/fuzz runs it.
//
// folders: base mesh ir ops trace transform sharding spmd fusion codegen runtime compile
//
// flags: -isystem /usr/lib/llvm-19/include -I/usr/include/x86_64-linux-gnu/openblas-pthread
//
// libraries: -lfmt -L/usr/lib/llvm-19/lib -lLLVM-19 -ldnnl -lopenblas
//
// seeds: tests/fuzz/parse tests/golden/stablehlo
//
// Random bytes hardly ever parse, so texts are changed by tokens: an extent, a dtype, an op or an
// attribute is replaced everywhere, or once. In addition to the seeds, every sample of every op is
// a text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "tessera/base/visit_dtype.h"
#include "tessera/compile/lowered.h"
#include "tessera/control/control_flow_ops.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tessera/mesh/device.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/sharding/propagate.h"

namespace tessera {

using namespace interchange;
using namespace sharding;

namespace {

constexpr int64_t kMaxOps = 200, kMaxElements = 1 << 12, kMaxTrips = 4;

// ---- Programs that end soon

struct Size {
  int64_t ops = 0, largest = 0;
};

void measure(const Function& f, int64_t times, Size& size) {
  for (const Type& type : f.types) size.largest = std::max(size.largest, type.elements());
  for (const Op& op : f.ops) {
    const auto* scan = op.def == &scan_op ? &op.params.as<ScanParams>() : nullptr;
    const int64_t trips = scan ? scan->length : op.def == &while_op ? kMaxTrips : 1;
    const int64_t inside = std::min<int64_t>(times * std::max<int64_t>(trips, 1), kMaxOps + 1);
    size.ops = std::min(size.ops + times, kMaxOps + 1);
    for (const Attribute& field : op.params.fields()) {
      if (const auto* one = std::get_if<FunctionRef>(&field); one && *one)
        measure(**one, inside, size);
      if (const auto* many = std::get_if<std::vector<FunctionRef>>(&field))
        for (const FunctionRef& region : *many) measure(*region, inside, size);
    }
  }
}

ValueId add(Function& f, const OpDef& def, OpParams params, ValueIds operands) {
  const std::vector<Type> types = infer_types(def, f.types_of(operands), params);
  return f.add_op(def, std::move(params), std::move(operands), types)[0];
}
ValueId number(Function& f, int64_t value) {
  return add(f, constant_op, ConstantParams{Literal::scalar(static_cast<int32_t>(value)), {}}, {});
}

// Returns f with while loops that count their iterations and end after kMaxTrips.
Function bounded(const Function& f) {
  Function out;
  out.name = f.name;
  std::vector<ValueId> map(f.types.size(), -1);
  for (ValueId v : f.inputs) map[v] = out.add_input(f.types[v]);
  for (const Op& op : f.ops) {
    OpParams params = map_control_regions(op, bounded);
    std::vector<Type> types = f.types_of(op.results);
    ValueIds operands;
    for (ValueId v : op.operands) operands.push_back(map[v]);
    if (op.def == &while_op) {
      Function cond = *params.as<WhileParams>().cond, body = *params.as<WhileParams>().body;
      const Type counter{int32, {}};
      const ValueId seen = cond.add_input(counter), before = body.add_input(counter);
      const ValueId goes_on =
          add(cond, compare_op, CompareParams{Comparison::kLt, CompareType::kSigned},
              {seen, number(cond, kMaxTrips)});
      cond.outputs[0] = add(cond, bitwise_and_op, NoParams{}, {cond.outputs[0], goes_on});
      body.outputs.push_back(add(body, add_op, NoParams{}, {before, number(body, 1)}));
      operands.push_back(number(out, 0));
      types.push_back(counter);
      params = WhileParams{std::make_shared<const Function>(std::move(cond)),
                           std::make_shared<const Function>(std::move(body))};
    }
    const ValueIds results =
        out.add_op(*op.def, std::move(params), std::move(operands), types, op.source);
    for (size_t r = 0; r < op.results.size(); ++r) map[op.results[r]] = results[r];
  }
  for (ValueId v : f.outputs) out.outputs.push_back(map[v]);
  return out;
}

// ---- The steps of a program

Literal argument(const Type& type, size_t seed) {
  Literal out(type.dtype, type.shape);
  visit_dtype(type.dtype, [&]<class T>(TypeTag<T>) {
    for (int64_t i = 0; i < out.elements(); ++i) {
      const auto value = static_cast<int>((static_cast<size_t>(i) * 7 + seed * 3) % 11);
      if constexpr (std::is_same_v<T, bool>) {
        out.mutable_data<T>()[i] = value % 2 != 0;
      } else {
        out.mutable_data<T>()[i] = T(static_cast<float>(std::is_unsigned_v<T> ? value : value - 4));
      }
    }
  });
  return out;
}

void explain_and_run(const ParsedModule& module) {
  const ShardingRequest request{.inputs = module.input_shardings,
                                .outputs = module.output_shardings};
  const Lowered lowered(bounded(module.main), request, {}, devices()[0]);
  for (const char* stage : {"traced", "propagated", "partitioned", "fused"}) lowered.text(stage);
  lowered.explain();
  for (const Mesh& mesh : module.meshes)
    if (mesh.rank() > 0 && mesh.is_abstract()) return;
  std::vector<Array> arguments;
  for (size_t i = 0; i < module.main.inputs.size(); ++i)
    arguments.emplace_back(argument(module.main.type(module.main.inputs[i]), i));
  for (const Array& result : lowered.compile()->run(arguments)) result.to_host();
}

void try_text(std::string_view text) {
  try {
    const ParsedModule module = parse_module(text, "fuzz");
    verify(module.main);
    Size size;
    measure(module.main, 1, size);
    if (size.ops > kMaxOps || size.largest > kMaxElements) return;
    explain_and_run(module);
  } catch (const UserError& error) {
    const std::string_view what = error.what();
    TESSERA_CHECK(what.starts_with("[") && what.find("] ") != what.npos, "{}", what);
  }
}

// ---- Texts

const std::vector<std::string>& samples() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    for (const OpDef* def : all_ops()) {
      if (!def->samples || def->dialect == "tessera_internal") continue;
      for (const Sample& sample : def->samples()) try {
          Function f;
          for (const Type& type : sample.operands) f.add_input(type);
          const ValueIds operands(f.inputs.begin(), f.inputs.end());
          const std::vector<Type> types = infer_types(*def, sample.operands, sample.params);
          for (ValueId v : f.add_op(*def, sample.params, operands, types)) f.outputs.push_back(v);
          out.push_back(to_mlir(f));
        } catch (const UserError&) {  // for an op that exists only inside others
        }
    }
    return out;
  }();
  return all;
}

struct Span {
  size_t begin, end;
};
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '%';
}
// Returns the tokens of a text: numbers, also those between the x of a shape, and words.
std::vector<Span> tokens(const std::string& text) {
  std::vector<Span> out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    if (std::isdigit(static_cast<unsigned char>(text[i]))) {
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    } else if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
      // The dtype of a shape follows an x, as in 3xf32.
      if (text[i] == 'x' && i > 0 && std::isdigit(static_cast<unsigned char>(text[i - 1]))) {
        ++i;
        if (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) continue;
      }
    }
    if (end > i) out.push_back({i, end});
    i = std::max(end, i + 1);
  }
  return out;
}

std::string replacement(const std::string& token, const std::string& other, std::mt19937& random) {
  static const char* const kNumbers[] = {"0", "1", "2", "3", "4", "5", "7", "8", "16", "-1", "64"};
  static const char* const kTypes[] = {"i1",  "i8",  "i32", "i64",  "ui8", "ui32",        "ui64",
                                       "f16", "f32", "f64", "bf16", "i16", "complex<f32>"};
  static const std::vector<std::string> ops = [] {
    std::vector<std::string> out;
    for (const OpDef* def : all_ops()) out.push_back(fmt::format("{}.{}", def->dialect, def->name));
    return out;
  }();
  if (random() % 4 == 0) return other;
  if (std::isdigit(static_cast<unsigned char>(token[0]))) return kNumbers[random() % 11];
  for (const char* type : kTypes)
    if (token == type) return kTypes[random() % 13];
  if (token.find('.') != std::string::npos) return ops[random() % ops.size()];
  return other;
}

// Replaces one token by another, once or everywhere.
void replace_token(std::string& text, std::mt19937& random) {
  const std::vector<Span> all = tokens(text);
  if (all.empty()) return;
  const auto word = [&](const Span& s) { return text.substr(s.begin, s.end - s.begin); };
  const Span chosen = all[random() % all.size()];
  const std::string from = word(chosen),
                    to = replacement(from, word(all[random() % all.size()]), random);
  const bool everywhere = random() % 3 != 0;
  std::string out;
  size_t at = 0;
  for (const Span& s : all) {
    if (everywhere ? word(s) != from : s.begin != chosen.begin) continue;
    out += text.substr(at, s.begin - at) + to;
    at = s.end;
  }
  text = out + text.substr(at);
}

// Removes a line, repeats it, or moves it.
void move_line(std::string& text, std::mt19937& random) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  if (lines.empty()) return;
  const size_t from = random() % lines.size(), to = random() % lines.size();
  const std::string line = lines[from];
  if (random() % 2) lines.erase(lines.begin() + static_cast<int64_t>(from));
  if (random() % 2)
    lines.insert(lines.begin() + static_cast<int64_t>(std::min(to, lines.size())), line);
  text.clear();
  for (const std::string& l : lines) text += l;
}

}  // namespace
}  // namespace tessera

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::mt19937 random(seed);
  if (random() % 20 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string>& samples = tessera::samples();
  if (random() % 8 == 0 || size < 8) text = samples[random() % samples.size()];
  for (size_t changes = 1 + random() % 4; changes > 0; --changes)
    random() % 6 == 0 ? tessera::move_line(text, random) : tessera::replace_token(text, random);
  const size_t length = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), length);
  return length;
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  tessera::initialize({.devices = "cpu:8"});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::try_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
