// Updates in place: tests which steps they become, and that the bytes that they write do not grow
// with the array. Random loops, run as steps and as machine code, are compared with the naive
// evaluator.
#include "tessera/fusion/updates.h"

#include <set>

#include "fusion_testing.h"
#include "tessera/fusion/in_place.h"
#include "tessera/fusion/schedule_walk.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/structural/sort.h"
#include "tessera/runtime/memory_plan.h"
#include "tessera/runtime/program.h"
#include "tessera/runtime/routine_code.h"
#include "tests/trace/control_flow.h"

namespace tessera::fusion_testing::updates_test {

using namespace fusion;

namespace {

using namespace array_math;
namespace control = testing_control;

Array number(int32_t value) { return Array(Literal::scalar(value)); }

Array element(const Array& x, const Array& i) {
  return lax::reshape(lax::dynamic_slice(x, std::vector<Array>{i}, {1}), {});
}
Array with_element(const Array& x, const Array& value, const Array& i) {
  return lax::dynamic_update_slice(x, lax::reshape(value, {1}), std::vector<Array>{i});
}

int count_updates(const Schedule& s) {
  int count = 0;
  for_each_step(s, [&](const Step& step, const Schedule&) {
    count += std::holds_alternative<UpdateStep>(step) ? 1 : 0;
  });
  return count;
}

// Returns the number of bytes that the steps of one run write. Of branches, the one that writes
// most counts.
int64_t bytes_written(const Schedule& s, const runtime::MemoryPlan& plan) {
  int64_t bytes = 0;
  const auto size = [&](int slot) { return s.slots[slot].bytes(); };
  const auto storage = [&](int slot) { return plan.storage.slots[slot].storage; };
  for (size_t i = 0; i < s.steps.size(); ++i) {
    if (plan.storage.is_view[i]) continue;
    const Step& step = s.steps[i];
    if (const auto* u = std::get_if<UpdateStep>(&step)) {
      bytes += size(u->update) + (storage(u->in) == storage(u->out) ? 0 : size(u->out));
      continue;
    }
    std::set<int> there;  // results that this step does not write
    for (const auto& [in, out] : in_place_slots(step, plan.steps[i].in_place))
      if (storage(in) == storage(out)) there.insert(out);
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      int64_t dearest = 0;
      for (size_t b = 0; b < branch->branches.size(); ++b)
        dearest = std::max(dearest, bytes_written(*branch->branches[b], *plan.steps[i].nested[b]));
      bytes += dearest;
    }
    for (int slot : step_slots(step).writes)
      if (!there.contains(slot)) bytes += size(slot);
  }
  return bytes;
}

// Returns the number of bytes that an iteration of the only loop of f writes, with copies for the
// next iteration.
int64_t bytes_of_trip(const Function& f) {
  const Schedule s = fuse(simplified(f), Mesh());
  int64_t bytes = -1;
  for (const Step& step : s.steps) {
    const auto* loop = std::get_if<LoopStep>(&step);
    if (!loop) continue;
    InPlace carries, in_place;
    for (int c = 0; c < static_cast<int>(loop->in.size()); ++c) carries.emplace_back(c, c);
    const runtime::MemoryPlan plan = runtime::plan_memory(
        *loop->body, {.ends = ends_of(carries, loop->consts.size(), loop->body->inputs.size())});
    bytes = bytes_written(*loop->body, plan);
    for (const auto& pair : carries)
      if (plan.storage.overwritten[loop->consts.size() + static_cast<size_t>(pair.first)])
        in_place.push_back(pair);
    EXPECT_EQ(in_place, codegen::routine_in_place(*loop)) << to_string(s);
  }
  EXPECT_GE(bytes, 0) << to_string(s);
  return bytes;
}

// Loops over x: f32[n] that change an element or a row in each iteration.
using Loop = std::function<Arrays(int64_t n, const Arrays& x)>;
Function function_of(const Loop& loop, int64_t n) {
  return trace({f32({n})}, [&](const Arrays& x) { return loop(n, x); });
}
Arrays count_to(int64_t trips, const Arrays& carry, const FlatFn& body) {
  return control::scan(trips, {}, control::joined({number(0)}, carry), {}, body);
}

const std::vector<std::pair<const char*, Loop>>& loops() {
  static const std::vector<std::pair<const char*, Loop>> all = {
      {"a neighbour",
       [](int64_t, const Arrays& x) {
         const Arrays out = count_to(9, {x[0]}, [](const Arrays& c) {
           const Array next = c[0] + 1;
           return Arrays{next, with_element(c[1], element(c[1], c[0]) * 0.5F + 1.0F, next)};
         });
         return Arrays{out[1]};
       }},
      {"reads after the update of what it left",
       [](int64_t, const Arrays& x) {
         const Arrays out = count_to(9, {x[0]}, [](const Arrays& c) {
           const Array a = with_element(c[1], element(c[1], c[0]) + 1.0F, c[0]);
           return Arrays{c[0] + 1, with_element(a, element(a, c[0]) * 2.0F, c[0] + 3)};
         });
         return Arrays{out[1]};
       }},
      {"two arrays that read each other",
       [](int64_t n, const Arrays& x) {
         const Arrays out = count_to(9, {x[0], lax::full({n}, 0.25, float32)}, [](const Arrays& c) {
           return Arrays{c[0] + 1, with_element(c[1], element(c[2], c[0]), c[0] + 1),
                         with_element(c[2], element(c[1], c[0]) + 1.0F, c[0] + 2)};
         });
         return Arrays{out[1] + out[2]};
       }},
      {"rows",
       [](int64_t n, const Arrays& x) {
         const Arrays out = count_to(6, {lax::reshape(x[0], {n / 8, 8})}, [](const Arrays& c) {
           const Array row = lax::dynamic_slice(c[1], std::vector<Array>{c[0], number(0)}, {1, 8});
           return Arrays{c[0] + 1, lax::dynamic_update_slice(
                                       c[1], row * 2.0F, std::vector<Array>{c[0] + 1, number(0)})};
         });
         return Arrays{out[1]};
       }},
      {"scatters of one element",
       [](int64_t, const Arrays& x) {
         const Arrays out = count_to(9, {x[0]}, [](const Arrays& c) {
           const IndexDims dims{
               .offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
           const Array added = lax::scatter(c[1], lax::reshape(c[0], {1}), element(c[1], c[0] + 1),
                                            dims, ScatterKind::kAdd);
           return Arrays{c[0] + 1, lax::scatter(added, lax::reshape(c[0] - 3, {1}),
                                                element(added, c[0]), dims, ScatterKind::kSet)};
         });
         return Arrays{out[1]};
       }},
      {"through a reshape",
       [](int64_t n, const Arrays& x) {
         const Arrays out = count_to(6, {x[0]}, [n](const Arrays& c) {
           const Array rows = lax::reshape(c[1], {n / 8, 8});
           const Array row = lax::dynamic_slice(rows, std::vector<Array>{c[0], number(0)}, {1, 8});
           return Arrays{c[0] + 1, lax::reshape(lax::dynamic_update_slice(
                                                    rows, row * 2.0F,
                                                    std::vector<Array>{c[0] + 1, number(0)}),
                                                {n})};
         });
         return Arrays{out[1]};
       }},
      {"the operand and its update together",
       [](int64_t, const Arrays& x) {
         const Arrays out = count_to(9, {x[0]}, [](const Arrays& c) {
           const Array old = element(c[1], c[0] + 4);
           const Array next = with_element(c[1], element(c[1], c[0]) * 0.5F, c[0] + 1);
           return Arrays{c[0] + 1, with_element(next, element(next, c[0] + 4) - old * 2.0F, c[0])};
         });
         return Arrays{out[1]};
       }},
      {"a sum with a slice of zeros, as the derivative of a slice",
       [](int64_t n, const Arrays& x) {
         const Arrays out = count_to(9, {lax::exp(x[0])}, [n](const Arrays& c) {
           const Array part = lax::reshape(element(c[1], c[0]) - 2.0F, {1});
           const Array zeros = lax::full({n}, 0, float32);
           return Arrays{c[0] + 1, c[1] + lax::dynamic_update_slice(zeros, part,
                                                                    std::vector<Array>{c[0] + 2})};
         });
         return Arrays{out[1]};
       }},
      {"one of two branches",
       [](int64_t, const Arrays& x) {
         const Arrays out = count_to(9, {x[0]}, [](const Arrays& c) {
           const FlatFn same = [](const Arrays& in) { return Arrays{in[1]}; };
           const FlatFn changed = [](const Arrays& in) {
             return Arrays{with_element(in[1], element(in[1], in[0]) + 1.0F, in[0] + 1)};
           };
           const Array bit = lax::rem(c[0], number(2));
           return Arrays{c[0] + 1, control::branch(bit, {c[0], c[1]}, {same, changed})[0]};
         });
         return Arrays{out[1]};
       }},
      {"branches that update, one of them twice",
       [](int64_t, const Arrays& x) {
         const Arrays out = count_to(9, {x[0], x[0] * 2.0F}, [](const Arrays& c) {
           const FlatFn once = [](const Arrays& in) {
             return Arrays{with_element(in[1], element(in[2], in[0]), in[0]), in[2]};
           };
           const FlatFn twice = [](const Arrays& in) {
             const Array first = with_element(in[1], element(in[2], in[0]), in[0] + 1);
             return Arrays{with_element(first, element(first, in[0]), in[0] + 2),
                           with_element(in[2], element(first, in[0]) + 0.5F, in[0])};
           };
           const Arrays results =
               control::branch(lax::rem(c[0], number(3)), {c[0], c[1], c[2]}, {once, twice, once});
           return Arrays{c[0] + 1, results[0], results[1]};
         });
         return Arrays{out[1] + out[2]};
       }},
      {"a choice between an array and its update",
       [](int64_t, const Arrays& x) {
         const Arrays out = count_to(9, {x[0]}, [](const Arrays& c) {
           const Array even = lax::eq(lax::rem(c[0], number(2)), number(0));
           const Array next = with_element(c[1], element(c[1], c[0]) + 1.0F, c[0] + 1);
           const Array either = lax::select(even, next, c[1]);
           const Array other = with_element(either, element(either, c[0]) * 0.5F, c[0]);
           return Arrays{c[0] + 1, lax::select(even, either, other)};
         });
         return Arrays{out[1]};
       }},
  };
  return all;
}

SingleDeviceSharding one_device() { return SingleDeviceSharding(Device{}); }

void expect_as_evaluated(const Function& f, const std::vector<Literal>& inputs, bool as_steps,
                         bool donate) {
  const Schedule s = fuse(simplified(f), Mesh());
  verify(s);
  std::vector<runtime::ArraySpec> in, out;
  std::vector<runtime::DeviceArrayRef> arrays;
  for (const Literal& input : inputs) {
    in.push_back({input.dtype(), input.shape(), one_device()});
    arrays.push_back(runtime::device_array(input, one_device()));
  }
  for (int slot : s.outputs)
    out.push_back({s.slots[slot].dtype, s.slots[slot].shape, one_device()});
  std::optional<runtime::InterpretLoops> interpret;
  if (as_steps) interpret.emplace();
  const runtime::Program program(s, in, out);
  const std::vector<uint8_t> given(donate ? inputs.size() : 0, 1);
  const std::vector<Literal> want = evaluate(f, inputs);
  const auto got = program.run(arrays, given);
  for (size_t k = 0; k < want.size(); ++k)
    expect_close(got[k]->to_literal(), want[k], fmt::format("result {}\n{}", k, to_string(s)));
  if (donate) return;
  for (size_t k = 0; k < inputs.size(); ++k)
    EXPECT_EQ(arrays[k]->to_literal(), inputs[k]) << "input " << k << "\n" << to_string(s);
}

void expect_as_evaluated(const Function& f, uint32_t seed = 1) {
  const std::vector<Literal> inputs = random_inputs(f, seed);
  for (bool as_steps : {false, true})
    for (bool donate : {false, true}) {
      SCOPED_TRACE(fmt::format("as {}, {}", as_steps ? "steps" : "machine code",
                               donate ? "donated" : "kept"));
      ASSERT_NO_FATAL_FAILURE(expect_as_evaluated(f, inputs, as_steps, donate));
    }
}

TEST(Updates, ATripWritesAsMuchWhateverTheArraysSize) {
  for (const auto& [name, loop] : loops()) {
    SCOPED_TRACE(name);
    const int64_t small = bytes_of_trip(function_of(loop, 1024));
    EXPECT_LT(small, 512);
    EXPECT_EQ(bytes_of_trip(function_of(loop, 65536)), small);
  }
}

TEST(Updates, LoopsAreAsEvaluated) {
  for (const auto& [name, loop] : loops()) {
    SCOPED_TRACE(name);
    expect_as_evaluated(function_of(loop, 1024));
    expect_as_evaluated(function_of(loop, 128));
  }
}

TEST(Updates, AValueThatIsReadAfterwardsIsKept) {
  // The carry (a, b) becomes (update of a, a), so that a has to outlive its update.
  const Function f = trace({f32({500}), f32({500})}, [](const Arrays& x) {
    return count_to(7, {x[0], x[1]}, [](const Arrays& c) {
      return Arrays{c[0] + 1, with_element(c[1], element(c[2], c[0]) + 1.0F, c[0]), c[1]};
    });
  });
  expect_as_evaluated(f);
  // Two updates of one value.
  const Function g = trace({f32({500}), f32({500})}, [](const Arrays& x) {
    return count_to(7, {x[0], x[1]}, [](const Arrays& c) {
      return Arrays{c[0] + 1, with_element(c[1], element(c[2], c[0]) + 1.0F, c[0]),
                    with_element(c[1], element(c[2], c[0]) * 0.5F, c[0] + 1)};
    });
  });
  expect_as_evaluated(g);
  // Carries that are swapped.
  const Function h = trace({f32({500}), f32({500})}, [](const Arrays& x) {
    return count_to(7, {x[0], x[1]}, [](const Arrays& c) {
      return Arrays{c[0] + 1, with_element(c[2], element(c[1], c[0]), c[0]),
                    with_element(c[1], element(c[2], c[0]) * 0.5F, c[0] + 1)};
    });
  });
  expect_as_evaluated(h);
}

TEST(Updates, WhatIsNotStoredStaysInItsKernel) {
  // Only the sum is needed, so the updated array is not written.
  const Function f = trace({f32({1000}), f32({})}, [](const Arrays& x) {
    return Arrays{lax::reduce_sum(with_element(x[0], x[1], number(7)), {0})};
  });
  EXPECT_EQ(count_updates(fuse(simplified(f), Mesh())), 0);
  // An update of a small array, and one of a large part of an array.
  const Function g = trace({f32({8}), f32({}), f32({1000}), f32({600})}, [](const Arrays& x) {
    return Arrays{with_element(x[0], x[1], number(7)),
                  lax::dynamic_update_slice(x[2], x[3], std::vector<Array>{number(3)})};
  });
  EXPECT_EQ(count_updates(fuse(simplified(g), Mesh())), 0);
}

TEST(Updates, OfADonatedArgumentTheMemoryIsTheResults) {
  const Function f = trace({f32({5000}), f32({10}), array_type(int32, {})}, [](const Arrays& x) {
    return Arrays{lax::dynamic_update_slice(x[0], x[1], std::vector<Array>{x[2]})};
  });
  const Schedule s = fuse(simplified(f), Mesh());
  EXPECT_EQ(count_updates(s), 1) << to_string(s);
  const auto spec = [](DType dtype, const Shape& shape) {
    return runtime::ArraySpec{dtype, shape, one_device()};
  };
  const runtime::Program program(s, {spec(float32, {5000}), spec(float32, {10}), spec(int32, {})},
                                 {spec(float32, {5000})});
  for (int32_t start : {-5, 0, 17, 4995, 9000}) {
    std::vector<Literal> inputs = {random_literal(f32({5000}), 1), random_literal(f32({10}), 2),
                                   Literal::scalar(start)};
    std::vector<runtime::DeviceArrayRef> arrays;
    for (const Literal& input : inputs)
      arrays.push_back(runtime::device_array(input, one_device()));
    const Literal want = evaluate(f, inputs)[0];
    inputs.clear();  // the arrays share the memory of these literals
    const void* memory = arrays[0]->buffer().data();
    const std::vector<uint8_t> donate = {1, 0, 0};
    const auto out = program.run(arrays, donate);
    EXPECT_EQ(out[0]->buffer().data(), memory);
    EXPECT_EQ(out[0]->to_literal(), want);
  }
}

// Each update adds constants for four of its starts, so the list of values moves within an update.
TEST(Updates, ManyUpdatesWithStartsThatAreFixed) {
  const Function f = trace(
      {f32({80, 2, 2, 2, 2}), f32({1, 2, 2, 2, 2}), array_type(int32, {})}, [](const Arrays& x) {
        Array out = lax::sort(Arrays{x[0]}, 0, 1)[0];
        for (int k = 0; k < 40; ++k)
          out = lax::dynamic_update_slice(
              out, x[1], std::vector<Array>{x[2] + number(k), x[2], x[2], x[2], x[2]});
        return Arrays{out};
      });
  const Schedule s = fuse(simplified(f), Mesh());
  EXPECT_EQ(count_updates(s), 40);
}

TEST(Updates, StartsOfAnyIntegerDtypeAreMovedInside) {
  for (DType dtype : {int8, int16, int32, int64, uint8, uint16, uint32, uint64}) {
    const Function f =
        trace({f32({40, 30}), f32({3, 2}), array_type(dtype, {4})}, [](const Arrays& x) {
          const Arrays out = control::scan(4, {x[1]}, {x[0]}, {x[2]}, [](const Arrays& b) {
            return Arrays{lax::dynamic_update_slice(b[1], b[0], std::vector<Array>{b[2], b[2]})};
          });
          return out;
        });
    Literal starts(dtype, {4});
    visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        T* data = starts.mutable_data<T>();
        data[0] = std::numeric_limits<T>::min();
        data[1] = std::numeric_limits<T>::max();
        data[2] = 29;
        data[3] = 5;
      }
    });
    const std::vector<Literal> inputs = {random_literal(f32({40, 30}), 1),
                                         random_literal(f32({3, 2}), 2), starts};
    for (bool as_steps : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", dtype, as_steps));
      ASSERT_NO_FATAL_FAILURE(expect_as_evaluated(f, inputs, as_steps, false));
    }
  }
}

// Makes random bodies of loops over a few arrays of two shapes. They read elements and rows of any
// version of an array, update any version, and have inner loops and branches. A carry ends as any
// version of any array of its shape.
class RandomLoop {
 public:
  explicit RandomLoop(uint32_t seed) : engine_(seed) {}

  Function make() {
    length_ = pick(2) ? 96 : 400;
    return trace({f32({length_}), f32({length_}), f32({length_ / 8, 8}), f32({})},
                 [&](const Arrays& x) {
                   const Arrays out = loop(x, 0);
                   return pick(2) ? out : Arrays{out[0], out[2] + 1.0F, out[3], out[1]};
                 });
  }

 private:
  struct Versions {
    std::vector<Arrays> arrays;  // the versions of each carry, from first to last
    Arrays numbers;              // f32 scalars
    Array trip;                  // s32
  };

  int pick(int n) { return static_cast<int>(engine_() % static_cast<uint32_t>(n)); }
  const Array& version(const Versions& v, int array) {
    const Arrays& all = v.arrays[array];
    return pick(4) ? all.back() : all[pick(static_cast<int>(all.size()))];
  }
  const Array& some_number(const Versions& v) {
    return v.numbers[pick(static_cast<int>(v.numbers.size()))];
  }
  Array index(const Versions& v) {
    switch (pick(4)) {
      case 0:
        return v.trip;
      case 1:
        return number(pick(static_cast<int>(length_)));
      case 2:
        return number(static_cast<int>(length_) - 1) - v.trip;
      default:
        return v.trip * (1 + pick(3)) + (pick(5) - 1);
    }
  }

  // Returns the results of a loop over x: arrays of shapes (n), (n), (n / 8, 8), and a scalar.
  Arrays loop(const Arrays& x, int depth) {
    const int64_t trips = pick(6);
    const Arrays carry = control::joined({number(0)}, x);
    const FlatFn body = [&](const Arrays& c) {
      Arrays out = trip(c, depth);
      out.insert(out.begin(), c[0] + 1);
      return out;
    };
    Arrays out;
    if (pick(2)) {
      out = control::scan(trips, {}, carry, {}, body);
    } else {
      out = control::while_loop(
          carry,
          [&](const Arrays& c) { return Arrays{lax::lt(c[0], number(static_cast<int>(trips)))}; },
          body);
    }
    return {out.begin() + 1, out.end()};
  }

  Arrays trip(const Arrays& c, int depth) {
    Versions v{{{c[1]}, {c[2]}, {c[3]}}, {c[4]}, c[0]};
    for (int ops = 2 + pick(6); ops > 0; --ops) add_op(v, depth);
    Arrays out;
    for (int k = 0; k < 3; ++k) out.push_back(v.arrays[k].back());
    if (pick(4) == 0) out[1] = version(v, 0);
    if (pick(6) == 0) out[0] = version(v, 1);
    if (pick(6) == 0) out[2] = version(v, 2);
    out.push_back(v.numbers.back() * 0.5F);
    return out;
  }

  void add_op(Versions& v, int depth) {
    const int array = pick(2);
    switch (pick(depth < 2 ? 12 : 9)) {
      case 0:
      case 1:
        v.numbers.push_back(element(version(v, array), index(v)) * 0.5F);
        return;
      case 2:
        v.numbers.push_back(
            lax::reduce_sum(
                lax::dynamic_slice(version(v, 2), std::vector<Array>{index(v), number(pick(4))},
                                   {1, 3}),
                {0, 1}) *
            0.25F);
        return;
      case 3:
      case 4:
        v.arrays[array].push_back(with_element(version(v, array), some_number(v), index(v)));
        return;
      case 5: {
        const Array at = index(v),
                    part = lax::dynamic_slice(version(v, array), std::vector<Array>{index(v)}, {8});
        v.arrays[2].push_back(lax::dynamic_update_slice(version(v, 2), lax::reshape(part, {1, 8}),
                                                        std::vector<Array>{at, number(0)}));
        return;
      }
      case 6: {
        // Three rows of two columns, from other positions of the same array.
        const Array& from = version(v, 2);
        const Array part = lax::dynamic_slice(from, std::vector<Array>{index(v), index(v)}, {3, 2});
        v.arrays[2].push_back(lax::dynamic_update_slice(version(v, 2), part + 0.5F,
                                                        std::vector<Array>{index(v), index(v)}));
        return;
      }
      case 7: {
        const IndexDims dims{
            .offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
        v.arrays[array].push_back(lax::scatter(version(v, array), lax::reshape(index(v), {1}),
                                               some_number(v), dims, ScatterKind::kAdd));
        return;
      }
      case 8:
        v.arrays[array].push_back(version(v, array) * 0.5F + version(v, 1 - array) * 0.25F);
        return;
      case 9: {
        const Arrays inner =
            loop({version(v, 0), version(v, 1), version(v, 2), some_number(v)}, depth + 1);
        for (int k = 0; k < 3; ++k) v.arrays[k].push_back(inner[k]);
        v.numbers.push_back(inner[3]);
        return;
      }
      case 10: {
        // The form of updates in derivatives of slices and under vmap.
        const Array zeros = lax::full({length_}, 0, float32);
        const Array sum = version(v, array) + with_element(zeros, some_number(v), index(v));
        const Array choice = lax::lt(index(v), number(pick(40)));
        v.arrays[array].push_back(pick(2) ? sum : lax::select(choice, sum, version(v, array)));
        return;
      }
      default: {
        const Arrays operands = {v.trip, version(v, 0), version(v, 1), version(v, 2),
                                 some_number(v)};
        const FlatFn changed = [&](const Arrays& c) { return trip(c, depth + 1); };
        const FlatFn same = [](const Arrays& c) { return Arrays{c[1], c[2], c[3], c[4]}; };
        const Arrays out = control::branch(
            v.trip - number(1), operands,
            pick(2) ? std::vector<FlatFn>{changed, same} : std::vector<FlatFn>{same, changed});
        for (int k = 0; k < 3; ++k) v.arrays[k].push_back(out[k]);
        v.numbers.push_back(out[3]);
        return;
      }
    }
  }

  std::mt19937 engine_;
  int64_t length_ = 0;
};

TEST(Updates, RandomLoopsAreAsEvaluated) {
  int updates = 0;
  const char* wanted = std::getenv("TESSERA_UPDATE_SEEDS");
  const auto seeds = static_cast<uint32_t>(wanted ? std::atoi(wanted) : 120);
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Function f = RandomLoop(seed).make();
    updates += count_updates(fuse(simplified(f), Mesh()));
    try {
      expect_as_evaluated(f, seed);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(updates, 100);
}

}  // namespace
}  // namespace tessera::fusion_testing::updates_test
