#include "seeds.h"

#include <algorithm>

#include "tessera/trace/trace.h"
#include "tests/generate/run.h"
#include "work.h"

namespace tessera::costs {

using namespace generate;
using namespace tracing;

const char* name_of(Axis axis) {
  switch (axis) {
    case Axis::kRows:
      return "rows";
    case Axis::kTrips:
      return "trips";
    case Axis::kDepth:
      return "depth";
    case Axis::kOps:
      return "ops";
    case Axis::kLeaves:
      return "leaves";
    case Axis::kShapes:
      return "shapes";
  }
  return "";
}

namespace {

// Multiplies the iterations of every loop by `times`, if nothing else depends on them. Returns
// whether there was such a loop.
bool scale_trips(Program& program, int64_t times) {
  bool scaled = false;
  for_each_node(program, [&](Node& node) {
    if (node.kind == NodeKind::kFori && node.p.j > node.p.i) {
      node.p.j = node.p.i + (node.p.j - node.p.i) * times;
      scaled = true;
    } else if (node.kind == NodeKind::kScan && node.p.i == std::ssize(node.operands) &&
               node.p.i == std::ssize(node.bodies[0].outputs)) {
      node.p.j *= times;
      scaled = true;
    }
  });
  return scaled;
}

// Returns a number that depends on every float of `arrays`.
Array mixed(const Arrays& arrays) {
  const Array loss = loss_of(arrays);
  return loss.defined() ? astype(tanh(loss), float32) : full({}, 0.5, float32);
}
Arrays shifted(const Arrays& args, const Array& by) {
  Arrays out;
  for (const Array& x : args)
    out.push_back(is_inexact(x.dtype()) ? x + astype(by * 0.01F, x.dtype()) : x);
  return out;
}

// Returns f within `depth` loops, branches and calls. (vmaps and checkpoints are left out, because
// within them the cost of an op grows with the depth: by dimensions, and by repeated computation.)
Arrays nested(const FlatFn& f, const Arrays& args, int64_t depth) {
  if (depth == 0) return {mixed(f(args))};
  const auto inner = [&f, depth](const Arrays& x) { return nested(f, x, depth - 1); };
  switch (depth % 3) {
    case 0:
      return jit(inner)(args);
    case 1: {
      const auto step = [&](const Array& carry, const Arrays&) {
        return std::pair(carry + inner(shifted(args, carry))[0], Arrays{});
      };
      return {scan(step, full({}, 0.5, float32), Arrays{}, {.length = 2}).first};
    }
    default:
      return cond(
          mixed(args) > 0, inner, [](const Arrays& x) { return Arrays{mixed(x)}; }, args);
  }
}

Arrays mapped(const FlatFn& f, const Arrays& args) {
  return vmap([&](const Arrays& x) { return f(x); })(args);
}

// Returns the results of the program at a size.
Arrays call(const Case& c, Axis axis, const Arrays& args, int64_t size) {
  const FlatFn f = [&c](const Arrays& x) { return run(c, x); };
  const size_t inputs = c.main.inputs.size();
  const auto part = [&](int64_t k) {
    const auto begin = args.begin() + static_cast<ptrdiff_t>(k * std::ssize(c.main.inputs));
    return Arrays(begin, begin + static_cast<ptrdiff_t>(inputs));
  };
  switch (axis) {
    case Axis::kRows:
      return mapped(f, args);
    case Axis::kTrips: {
      Case longer = c;
      if (!scale_trips(longer.main, size)) value_error("trips", "expected a loop, got none");
      type_case(longer);
      return run(longer, args);
    }
    case Axis::kDepth:
      return nested(f, args, size);
    case Axis::kOps: {
      Arrays results = f(args);
      for (int64_t k = 1; k < size; ++k) results = f(shifted(args, mixed(results)));
      return results;
    }
    case Axis::kLeaves: {
      Arrays results;
      for (int64_t k = 0; k < size; ++k)
        for (const Array& x : f(part(k))) results.push_back(x);
      return results;
    }
    case Axis::kShapes: {
      Arrays results;
      for (int64_t k = 0; k < size; ++k)
        for (const Array& x : mapped(f, part(k))) results.push_back(x);
      return results;
    }
  }
  return {};
}

std::vector<Type> input_types(const Case& c, Axis axis, int64_t size) {
  const bool copies = axis == Axis::kLeaves || axis == Axis::kShapes;
  std::vector<Type> out;
  for (int64_t k = 0; k < (copies ? size : 1); ++k)
    for (const Var& var : c.main.inputs) {
      Type type{.dtype = var.type.dtype, .shape = var.type.shape};
      if (axis == Axis::kRows) type.shape.insert(type.shape.begin(), size);
      if (axis == Axis::kShapes) type.shape.insert(type.shape.begin(), k + 2);
      out.push_back(type);
    }
  return out;
}

Function traced(const Case& c, Axis axis, bool gradient, int64_t size) {
  try {
    const FlatFn value = [&](const Arrays& x) { return call(c, axis, x, size); };
    const FlatFn body = [&](const Arrays& x) -> Arrays {
      if (!gradient) return value(x);
      std::vector<bool> inexact;
      for (const Array& array : x) inexact.push_back(is_inexact(array.dtype()));
      const Split parts = split(x);
      return grad([&](const Arrays& y) { return loss_of(value(joined(y, parts.rest, inexact))); })(
          parts.inexact);
    };
    return trace_function(body, input_types(c, axis, size)).function;
  } catch (const Untypable& error) {
    value_error("costs", "expected a program, got {}", error.what());
  }
}

// Returns the smallest size, which is above the thresholds of fusion and alignment.
int64_t smallest(Axis axis) {
  switch (axis) {
    case Axis::kRows:
      return 256;
    case Axis::kTrips:
      return 32;
    case Axis::kDepth:
      return 3;  // one of each kind
    case Axis::kOps:
      return 8;
    case Axis::kLeaves:
    case Axis::kShapes:
      return 4;
  }
  return 0;
}

bool text_grows(Axis axis) { return axis != Axis::kRows && axis != Axis::kTrips; }

}  // namespace

Family family_of(const Case& c, Axis axis, bool gradient) {
  Family out;
  out.name =
      fmt::format("seed {}, {}{}", c.seed, name_of(axis), gradient ? " of the gradient" : "");
  out.program = [=](int64_t size) { return traced(c, axis, gradient, size); };
  if (gradient) out.asks = [=](int64_t size) { return traced(c, axis, false, size); };
  out.text_grows = text_grows(axis);
  // The residuals of the innermost body are results of every loop around it.
  if (gradient && axis == Axis::kDepth)
    out.text = [](int64_t size) { return static_cast<double>(size * size); };
  if (axis == Axis::kDepth) out.depth = [](int64_t size) { return static_cast<double>(size); };
  out.size = smallest(axis);
  return out;
}

std::vector<Family> families_of(const Case& c) {
  // Neighbouring seeds have different axes. The program of each seed is made larger along one axis,
  // and longer along another one.
  const bool gradient = c.seed % 2 == 1;
  const Axis larger = c.seed % 3 == 0 ? Axis::kTrips : Axis::kRows;
  static constexpr Axis kLonger[] = {Axis::kDepth, Axis::kOps, Axis::kLeaves, Axis::kShapes};
  return {family_of(c, larger, gradient), family_of(c, kLonger[c.seed / 2 % 4], gradient)};
}

}  // namespace tessera::costs
