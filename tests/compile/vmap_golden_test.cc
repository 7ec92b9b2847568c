// Compares collectives over the axis of a vmap, in every kind of region, with JAX: the functions of
// tests/golden/make_vmap.py.
#include <cmath>
#include <functional>
#include <map>

#include "tessera/trace/trace.h"
#include "tests/compile/devices.h"
#include "tests/evaluate/evaluate.h"
#include "tests/golden/golden.h"

namespace tessera::vmap_golden_test {

using namespace tracing;

namespace {

using Collective = std::function<Array(const Array&, const AxisArg&)>;
using Call = std::function<Array(const Array&)>;                  // a collective of its axis
using Wrapper = std::function<Array(const Call&, const Array&)>;  // a region around it
using Example = std::function<Array(const Array& x, const Array& u)>;

Array trigonometric(double (*f)(double), int64_t n) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(f(static_cast<double>(i)));
  return array(out);
}
Array table() { return reshape(trigonometric(std::sin, 9), {3, 3}); }
Array weights() { return reshape(trigonometric(std::cos, 9), {3, 3}); }
Array ts() { return array(std::vector<double>{1, -0.5}); }
Array ys() { return array(std::vector<double>{0.5, 1, -1.5}); }
Array row0(const Array& x) { return index_in_dim(x, 0, 0, false); }

const std::map<std::string, Collective>& collectives() {
  static const std::map<std::string, Collective> all{
      {"psum", [](const Array& v, const AxisArg& i) { return psum(v, i); }},
      {"pmean", [](const Array& v, const AxisArg& i) { return pmean(v, i); }},
      {"pmax", [](const Array& v, const AxisArg& i) { return pmax(v, i); }},
      {"all_gather", [](const Array& v,
                        const AxisArg& i) { return sum(all_gather(v, i) * table(), {.axis = 0}); }},
      {"psum_scatter",
       [](const Array& v, const AxisArg& i) {
         return psum_scatter(v, i, {.tiled = true}) * row0(table());
       }},
      {"all_to_all",
       [](const Array& v, const AxisArg& i) { return all_to_all(v, i, 0, 0, {.tiled = true}); }},
      {"ppermute",
       [](const Array& v, const AxisArg& i) {
         return ppermute(v, i, {{0, 1}, {1, 2}, {2, 0}});
       }},
      {"axis_index", [](const Array& v, const AxisArg& i) { return v * (axis_index(i) + 1); }},
      {"axis_size", [](const Array& v, const AxisArg& i) { return v * axis_size(i); }},
  };
  return all;
}

Array scanned(const Call& c, const Array& v) {
  const auto step = [&](const Array& h, const Array& t) {
    const Array out = h * 0.5 + c(v * t);
    return std::pair(out, sum(out));
  };
  const auto [h, y] = scan(step, zeros({3}, float64), ts());
  return h + sum(y * ts());
}
Array carried(const Call& c, const Array& v) {
  return fori_loop(
      0, 2, [&](const Array&, const Array& h) { return tanh(c(h) + v); }, ones({3}, float64));
}
Array branched(const Call& c, const Array& v) {
  return cond(
      sum(ts()) > 0, [&](const Array& a) { return c(sin(a)); },
      [](const Array& a) { return a * 2; }, v);
}
Array while_loop_of(const Call& c, const Array& v) {
  const auto going = [](const std::pair<Array, Array>& s) { return s.first < 2; };
  const auto body = [&](const std::pair<Array, Array>& s) {
    return std::pair<Array, Array>(s.first + 1, s.second * 0.5 + c(v));
  };
  return while_loop(going, body, std::pair<Array, Array>(Array(0), v)).second;
}
Array while_condition(const Call& c, const Array& v) {
  const auto going = [&](const std::pair<Array, Array>& s) {
    return logical_and(s.first < 3, sum(c(s.second)) < 1);
  };
  const auto body = [&](const std::pair<Array, Array>& s) {
    return std::pair<Array, Array>(s.first + 1, s.second + v);
  };
  return while_loop(going, body, std::pair<Array, Array>(Array(0), v)).second;
}
Array with_vjp(const Call& c, const Array& v) {
  return custom_vjp(
      c, [&](const Array& a) { return std::pair(c(a), a); },
      [](const Array& a, const Array& ct) { return std::tuple(ct * cos(a)); })(v);
}
Array with_jvp(const Call& c, const Array& v) {
  return custom_jvp(c, [&](const std::tuple<Array>& p, const std::tuple<Array>& t) {
    return std::pair(c(std::get<0>(p)), c(std::get<0>(t) * 2));
  })(v);
}
Array under_vmap(const std::function<Array(const Array& y)>& f) {
  return sum(vmap(f, {.axis_name = "j"})(ys()), {.axis = 0});
}

const std::map<std::string, Wrapper>& wrappers() {
  static const std::map<std::string, Wrapper> all{
      {"plain", [](const Call& c, const Array& v) { return c(sin(v)); }},
      {"scan", scanned},
      {"carried", carried},
      {"cond", branched},
      {"while_loop", while_loop_of},
      {"while_condition", while_condition},
      {"checkpoint",
       [](const Call& c, const Array& v) {
         return checkpoint([&](const Array& a) { return c(sin(a)); })(v);
       }},
      {"custom_vjp", with_vjp},
      {"custom_jvp", with_jvp},
      {"jit", [](const Call& c,
                 const Array& v) { return jit([&](const Array& a) { return c(sin(a)); })(v); }},
      {"scan_of_cond",
       [](const Call& c, const Array& v) {
         return scanned([&](const Array& a) { return branched(c, a); }, v);
       }},
      {"checkpoint_of_scan",
       [](const Call& c, const Array& v) {
         return checkpoint([&](const Array& a) { return scanned(c, a); })(v);
       }},
      {"scan_of_checkpoint",
       [](const Call& c, const Array& v) {
         return scanned([&](const Array& a) { return checkpoint(c)(a); }, v);
       }},
      {"cond_of_custom_vjp",
       [](const Call& c, const Array& v) {
         return branched([&](const Array& a) { return with_vjp(c, a); }, v);
       }},
      // In another vmap, over the outer axis or over its own axis.
      {"outer",
       [](const Call& c, const Array& v) {
         return under_vmap([&](const Array& y) { return scanned(c, v * y); });
       }},
      {"inner_unmapped",
       [](const Call& c, const Array& v) {
         return under_vmap([&](const Array& y) { return scanned(c, v) * y; });
       }},
  };
  return all;
}

// Returns the function of a case. Its collective is applied to x if `mapped`, otherwise to u, which
// is the same for every example.
Example example_of(const golden::Json& c, bool mapped) {
  const std::string wrapper = c["wrapper"];
  const Collective collective = collectives().at(c["collective"]);
  const AxisArg axis =
      wrapper == "both" ? AxisArg{"i", "j"} : AxisArg(wrapper.starts_with("inner") ? "j" : "i");
  const Call call = [=](const Array& v) { return collective(v, axis); };
  if (wrapper == "cond_mapped")
    return [=](const Array& x, const Array& u) {
      return cond(
          sum(x) > 0, [&](const Array& a) { return call(sin(a)); },
          [](const Array& a) { return a * 2; }, mapped ? x : u);
    };
  const Wrapper around = wrappers().at(wrapper == "both" || wrapper == "inner" ? "outer" : wrapper);
  return [=](const Array& x, const Array& u) { return around(call, mapped ? x : u); };
}

class VmapGolden : public DevicesTest {
 protected:
  void SetUp() override { enable_x64(true); }
  void TearDown() override { enable_x64(false); }
};

// Evaluates f by the naive evaluator, because this tests how functions are mapped, not how they are
// compiled.
Literal evaluated(const std::function<Array(const Array&, const Array&)>& f, const Literal& x,
                  const Literal& u) {
  const std::vector<Type> types{traced_type(Array(x)), traced_type(Array(u))};
  const TracedFunction traced = trace_function(
      [&](const std::vector<Array>& in) { return std::vector<Array>{f(in[0], in[1])}; }, types);
  EXPECT_TRUE(traced.captures.empty());
  return evaluate(traced.function, std::vector<Literal>{x, u})[0];
}

void expect_close(const char* what, const Literal& got, const Literal& want) {
  ASSERT_EQ(got.elements(), want.elements()) << what;
  ASSERT_EQ(got.dtype(), float64) << what;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double a = got.data<double>()[i], b = want.data<double>()[i];
    EXPECT_LE(std::abs(a - b), 1e-9 * (1 + std::abs(b)))
        << what << ", element " << i << ": " << a << ", expected " << b;
  }
}

const VmapOptions kOverExamples{.in_axes = {0, None}, .axis_name = "i"};
using Pair = std::function<Array(const Array&, const Array&)>;

// Returns the gradient of the weighted sum over all examples, by x (argnum 0) or u.
template <size_t argnum>
Pair outside(const Example& f) {
  return [=](const Array& x, const Array& u) {
    const auto loss = [&](const Array& a, const Array& b) {
      return sum(vmap(f, kOverExamples)(a, b) * weights());
    };
    return grad<argnum>(loss)(x, u);
  };
}
// Returns the gradient of each example by itself.
Pair inside(const Example& f) {
  const auto gradient = [=](const Array& x, const Array& u) {
    const auto loss = [&](const Array& a, const Array& b) {
      return sum(f(a, b) * row0(weights()));
    };
    return grad(loss)(x, u);
  };
  return vmap(gradient, kOverExamples);
}

TEST_F(VmapGolden, EveryCollectiveInEveryRegion) {
  const golden::Topic topic("vmap");
  const Literal x = topic.array(topic["x"]), u(float64, {3});
  size_t tested = 0;
  for (const golden::Json& c : topic["cases"]) {
    SCOPED_TRACE(c.dump());
    const Example f = example_of(c, true);
    try {
      expect_close("values", evaluated(vmap(f, kOverExamples), x, u), topic.array(c["values"]));
      if (!c["outside"].is_null())
        expect_close("outside", evaluated(outside<0>(f), x, u), topic.array(c["outside"]));
      if (!c["inside"].is_null())
        expect_close("inside", evaluated(inside(f), x, u), topic.array(c["inside"]));
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
    ++tested;
  }
  EXPECT_EQ(tested, 166u);
}

// A value that is the same for every example counts as a copy for each.
TEST_F(VmapGolden, ValuesThatAreNotMapped) {
  const golden::Topic topic("vmap");
  const Literal u = Literal::from<double>(std::vector<double>{0.7, -1.2, 0.4}, {3});
  const Literal copies = broadcast_to(Array(u), {3, 3}).to_host();
  for (const golden::Json& c : topic["cases"]) {
    SCOPED_TRACE(c.dump());
    const Example same = example_of(c, false), each = example_of(c, true);
    try {
      expect_close("values", evaluated(vmap(same, kOverExamples), copies, u),
                   evaluated(vmap(each, kOverExamples), copies, u));
      // The rules of these custom_vjp are not derivatives, so the sums over copies differ.
      const std::string wrapper = c["wrapper"];
      if (c["outside"].is_null() || wrapper.ends_with("custom_vjp")) continue;
      const Pair summed = [&](const Array& a, const Array& b) {
        return sum(outside<0>(each)(a, b), {.axis = 0});
      };
      expect_close("outside", evaluated(outside<1>(same), copies, u), evaluated(summed, copies, u));
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

}  // namespace
}  // namespace tessera::vmap_golden_test
