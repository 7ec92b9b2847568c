// Steps and literals of small integers for schedules in the tests of loops and branches.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "tests/runtime/schedules.h"

namespace tessera::control_schedules {

using namespace runtime;

inline void add_one(void* const* buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<int32_t*>(buffers[1])[i] = static_cast<const int32_t*>(buffers[0])[i] + 1;
}
inline void add(void* const* buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<int32_t*>(buffers[2])[i] =
        static_cast<const int32_t*>(buffers[0])[i] + static_cast<const int32_t*>(buffers[1])[i];
}
inline void below_ten(void* const* buffers, int64_t, int64_t) {
  *static_cast<bool*>(buffers[1]) = *static_cast<const int32_t*>(buffers[0]) < 10;
}

inline Literal integers(std::initializer_list<int32_t> values) {
  return Literal::from(std::span<const int32_t>(values.begin(), values.size()),
                       {static_cast<int64_t>(values.size())});
}

inline std::vector<int32_t> to_vector(const DeviceArrayRef& array) {
  const Literal l = array->to_literal();
  return {l.data<int32_t>(), l.data<int32_t>() + l.elements()};
}

inline const int32_t* ints(const void* pointer) { return static_cast<const int32_t*>(pointer); }
inline int32_t* ints(void* pointer) { return static_cast<int32_t*>(pointer); }

inline std::shared_ptr<const Schedule> share(const ScheduleBuilder& b) {
  return std::make_shared<Schedule>(b.schedule);
}

// Returns the schedule (unused..., limit, x) -> x < limit.
inline std::shared_ptr<const Schedule> below_limit(int unused = 0, int64_t* tests = nullptr) {
  ScheduleBuilder b{Mesh()};
  for (int i = 0; i < unused; ++i) b.input(int32, {}, {});
  const int limit = b.input(int32, {}, {}), x = b.input(int32, {}, {}), p = b.output(bool_, {}, {});
  b.add(CallStep{.name = "below", .in = {limit, x}, .out = {p}, .fn = [tests](auto in, auto out) {
                   if (tests) ++*tests;
                   *static_cast<bool*>(out[0]) = *ints(in[1]) < *ints(in[0]);
                 }});
  return share(b);
}

}  // namespace tessera::control_schedules
