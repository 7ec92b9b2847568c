#include "loops.h"

#include <random>

#include "tessera/ops/structural/sort.h"
#include "tessera/tessera.h"
#include "tessera/trace/trace.h"

namespace tessera::costs {

using namespace tracing;

namespace {

using Arrays = std::vector<Array>;
using Kind = LoopOp::Kind;

constexpr int64_t kRow = 8;

// --- From a seed ---

class LoopMaker {
 public:
  explicit LoopMaker(uint32_t seed) : engine_(seed) {}

  LoopProgram make() {
    LoopProgram out;
    out.loop = static_cast<LoopProgram::Loop>(pick(4));
    out.gradient = out.loop != LoopProgram::Loop::kWhile && pick(3) == 0;
    out.body = ops(2 + pick(5), 0);
    return out;
  }

 private:
  int pick(int n) { return static_cast<int>(engine_() % static_cast<uint32_t>(n)); }
  std::vector<LoopOp> ops(int count, int depth) {
    std::vector<LoopOp> out;
    for (; count > 0; --count) {
      LoopOp op{.kind = static_cast<Kind>(pick(depth < 2 ? 10 : 8)),
                .second = pick(2) == 1,
                .at = pick(9),
                .from = pick(9),
                .body = {}};
      if (op.kind == Kind::kLoop || op.kind == Kind::kBranch) op.body = ops(1 + pick(3), depth + 1);
      out.push_back(std::move(op));
    }
    return out;
  }

  std::mt19937 engine_;
};

// --- As a program ---

struct State {
  Array a, b, m, s;
  Arrays list() const { return {a, b, m, s}; }
  explicit State(const Arrays& x) : a(x[0]), b(x[1]), m(x[2]), s(x[3]) {}
};

Array place(const Array& trip, int at) { return trip * (1 + at % 3) + at; }

Arrays run_ops(const std::vector<LoopOp>& ops, const Array& trip, const Arrays& in);

Arrays inner_loop(const LoopOp& op, const Array& trip, const Arrays& in) {
  return fori_loop(
      0, 3,
      [&](const Array& i, const Arrays& x) { return run_ops(op.body, trip + astype(i, int32), x); },
      in);
}

Arrays branch(const LoopOp& op, const Array& trip, const Arrays& in) {
  return cond(
      in[3] > 0, [&](const Arrays& x) { return run_ops(op.body, trip, x); },
      [](const Arrays& x) { return x; }, in);
}

void run_op(const LoopOp& op, const Array& trip, State& v) {
  Array& x = op.second ? v.b : v.a;
  const Array i = place(trip, op.at), j = place(trip, op.from);
  const auto row = [&] { return dynamic_slice_in_dim(v.m, j, 1, 0); };
  switch (op.kind) {
    case Kind::kReadElement:
      v.s = v.s * 0.5F + squeeze(dynamic_slice_in_dim(x, i, 1, 0), 0);
      return;
    case Kind::kWriteElement:
      x = dynamic_update_slice_in_dim(x, expand_dims(v.s, 0), i, 0);
      return;
    case Kind::kAddElement:
      x = at(x)[{i}].add(v.s);
      return;
    case Kind::kReadRow:
      v.s = v.s * 0.5F + sum(row());
      return;
    case Kind::kWriteRow:
      v.m = dynamic_update_slice_in_dim(v.m, row() * v.s, i, 0);
      return;
    case Kind::kSortRow: {
      const DType dtypes[] = {float32};
      const std::vector<Array> keys{row()};
      v.m = dynamic_update_slice_in_dim(
          v.m, lax::sort(keys, 1, ops::sort_comparator(1, false, false, dtypes))[0], i, 0);
      return;
    }
    case Kind::kWriteSlice:
      x = dynamic_update_slice_in_dim(x, squeeze(row(), 0), i, 0);
      return;
    case Kind::kScatter:
      x = at(x)[{arange(4) * 3 + i}].add(v.s);
      return;
    case Kind::kLoop:
      v = State(inner_loop(op, trip, v.list()));
      return;
    case Kind::kBranch:
      v = State(branch(op, trip, v.list()));
      return;
  }
}

Arrays run_ops(const std::vector<LoopOp>& ops, const Array& trip, const Arrays& in) {
  State v(in);
  for (const LoopOp& op : ops) run_op(op, trip, v);
  v.s = tanh(v.s);
  return v.list();
}

Arrays run_loop(const LoopProgram& program, int64_t trips, const Arrays& in) {
  const auto trip = [&](const Array& i, const Arrays& x) {
    return run_ops(program.body, astype(i, int32), x);
  };
  switch (program.loop) {
    case LoopProgram::Loop::kFori:
      return fori_loop(0, trips, trip, in);
    case LoopProgram::Loop::kWhile: {
      Arrays carry = in;
      carry.push_back(astype(0, int32));
      carry = while_loop([&](const Arrays& x) { return x[4] < trips; },
                         [&](const Arrays& x) {
                           Arrays out = trip(x[4], Arrays(x.begin(), x.begin() + 4));
                           out.push_back(x[4] + 1);
                           return out;
                         },
                         carry);
      carry.pop_back();
      return carry;
    }
    case LoopProgram::Loop::kScan:
    case LoopProgram::Loop::kStack: {
      const bool stacks = program.loop == LoopProgram::Loop::kStack;
      auto [carry, ys] = scan(
          [&](const Arrays& x, const Array& i) {
            Arrays out = trip(i, x);
            return std::pair(out, stacks ? Arrays{out[3]} : Arrays{});
          },
          in, lax::iota(int32, {trips}, 0));
      carry.insert(carry.end(), ys.begin(), ys.end());
      return carry;
    }
  }
  return {};
}

Function traced(const LoopProgram& program, bool gradient, int64_t length, int64_t trips) {
  const Type floats{.dtype = float32, .shape = {length}},
      rows{.dtype = float32, .shape = {length / kRow, kRow}}, number{.dtype = float32, .shape = {}};
  const FlatFn value = [&](const Arrays& x) { return run_loop(program, trips, x); };
  const FlatFn body = [&](const Arrays& x) -> Arrays {
    if (!gradient) return value(x);
    return grad([&](const Arrays& y) {
      Array loss = full({}, 0, float32);
      for (const Array& out : value(y)) loss = loss + sum(sin(out));
      return loss;
    })(x);
  };
  return trace_function(body, std::vector<Type>{floats, floats, rows, number}).function;
}

// --- As text ---

void append(std::string& out, const std::vector<LoopOp>& ops, int indent) {
  const std::string space(static_cast<size_t>(indent), ' ');
  for (const LoopOp& op : ops) {
    const char x = op.second ? 'b' : 'a';
    const auto place = [](int at) { return fmt::format("{} * t + {}", 1 + at % 3, at); };
    const std::string i = place(op.at), j = place(op.from);
    out += space;
    switch (op.kind) {
      case Kind::kReadElement:
        out += fmt::format("s = s / 2 + {}[{}]\n", x, i);
        break;
      case Kind::kWriteElement:
        out += fmt::format("{}[{}] = s\n", x, i);
        break;
      case Kind::kAddElement:
        out += fmt::format("{}[{}] += s\n", x, i);
        break;
      case Kind::kReadRow:
        out += fmt::format("s = s / 2 + sum(m[{}])\n", j);
        break;
      case Kind::kWriteRow:
        out += fmt::format("m[{}] = m[{}] * s\n", i, j);
        break;
      case Kind::kSortRow:
        out += fmt::format("m[{}] = sort(m[{}])\n", i, j);
        break;
      case Kind::kWriteSlice:
        out += fmt::format("{}[{} : + 8] = m[{}]\n", x, i, j);
        break;
      case Kind::kScatter:
        out += fmt::format("{}[({}) + [0, 3, 6, 9]] += s\n", x, i);
        break;
      case Kind::kLoop:
        out += "for t in t, t + 1, t + 2:\n";
        append(out, op.body, indent + 2);
        break;
      case Kind::kBranch:
        out += "if s > 0:\n";
        append(out, op.body, indent + 2);
        break;
    }
  }
}

// Tries to drop each op, or an op in its body. Returns whether one was dropped.
bool drop_one(LoopProgram& program, std::vector<LoopOp>& ops,
              const std::function<bool(const LoopProgram&)>& differs) {
  for (size_t k = 0; k < ops.size(); ++k) {
    const LoopOp op = ops[k];
    const auto begin = [&] { return ops.begin() + static_cast<ptrdiff_t>(k); };
    ops.erase(begin());
    if (differs(program)) return true;
    if (!op.body.empty()) {
      ops.insert(begin(), op.body.begin(), op.body.end());
      if (differs(program)) return true;
      ops.erase(begin(), begin() + static_cast<ptrdiff_t>(op.body.size()));
    }
    ops.insert(begin(), op);
    if (drop_one(program, ops[k].body, differs)) return true;
  }
  return false;
}

}  // namespace

LoopProgram make_loop(uint32_t seed) { return LoopMaker(seed).make(); }

std::string to_string(const LoopProgram& program) {
  std::string out = program.gradient ? "the gradient of sum(sin(results)) of\n" : "";
  out += "a, b: f32[n], m: f32[n / 8, 8], s: f32\n";
  switch (program.loop) {
    case LoopProgram::Loop::kScan:
      out += "scan over t:\n";
      break;
    case LoopProgram::Loop::kStack:
      out += "scan over t that stacks s:\n";
      break;
    case LoopProgram::Loop::kFori:
      out += "fori_loop over t:\n";
      break;
    case LoopProgram::Loop::kWhile:
      out += "while_loop, t counting:\n";
      break;
  }
  append(out, program.body, 2);
  return out + "  s = tanh(s)\n";
}

Family family_of(const LoopProgram& program, Grows grows) {
  static constexpr const char* kNames[] = {"trips", "trips and length"};
  Family out;
  out.name = fmt::format("loop, {}", kNames[static_cast<size_t>(grows)]);
  const auto function = [=](bool gradient, int64_t size) {
    const int64_t length = grows == Grows::kTrips ? 4096 : size;
    return traced(program, gradient, length, size / 4);
  };
  out.program = [=](int64_t size) { return function(program.gradient, size); };
  if (program.gradient) out.asks = [=](int64_t size) { return function(false, size); };
  out.size = 1024;
  return out;
}

LoopProgram reduced(LoopProgram program, const std::function<bool(const LoopProgram&)>& differs) {
  while (drop_one(program, program.body, differs)) {
  }
  return program;
}

}  // namespace tessera::costs
