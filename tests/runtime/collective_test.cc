// Compares collectives with their definition, on the values of each device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/base/thread_pool.h"
#include "tests/runtime/schedules.h"

namespace tessera::collective_test {

using namespace runtime;

namespace {

using Values = std::vector<std::vector<float>>;  // the values of each rank, row-major

// Runs one collective over the first axis of a mesh; the second axis has size 2 and takes no part.
// The value of device (r, c) is 1000 c + a running number; `expected(values of the ranks at c)`
// returns the results of the ranks.
struct Harness {
  int64_t ranks;
  Shape in_shape, out_shape;
  CollectiveStep step;
  bool out_varies = true;
  bool minor_first = false;  // the storage order of the axes: ranks minor

  void check(const std::function<Values(const Values&)>& expected) const {
    const Mesh mesh = test_mesh({ranks, 2}, {"x", "y"});
    const AxisList axes = minor_first ? AxisList{1, 0} : AxisList{0, 1};
    ScheduleBuilder b{mesh};
    CollectiveStep c = step;
    c.over = {0};
    const int input = b.input(float32, in_shape, axes);
    c.in = b.slot(float32, in_shape, axes);
    c.out = b.output(float32, out_shape, out_varies ? axes : AxisList{1});
    b.kernel({input, c.in}, axes, [](void* const* buffers, int64_t begin, int64_t end) {
      std::copy_n(static_cast<const float*>(buffers[0]) + begin, end - begin,
                  static_cast<float*>(buffers[1]) + begin);
    });
    b.add(c);
    // The values of all devices are one array: the ranks are joined along a new leading dimension.
    const int64_t n = in_shape.elements(), m = out_shape.elements();
    const P order = minor_first ? P(joint("y", "x")) : P(joint("x", "y"));
    const NamedSharding in_sharding(mesh, order), out_sharding(mesh, out_varies ? order : P("y"));
    const auto program = b.program({{float32, {ranks * 2 * n}, in_sharding}},
                                   {{float32, {(out_varies ? ranks * 2 : 2) * m}, out_sharding}});
    auto value = [&](int64_t r, int64_t col, int64_t i) {
      return static_cast<float>(col * 1000 + (r * n + i) % 997);
    };
    auto place = [&](int64_t r, int64_t col) {
      return minor_first ? col * ranks + r : r * 2 + col;
    };
    Literal data(float32, {ranks * 2 * n});
    for (int64_t r = 0; r < ranks; ++r)
      for (int64_t col = 0; col < 2; ++col)
        for (int64_t i = 0; i < n; ++i)
          data.mutable_data<float>()[place(r, col) * n + i] = value(r, col, i);
    const Literal out = program->run({device_array(data, in_sharding)})[0]->to_literal();
    for (int64_t col = 0; col < 2; ++col) {
      Values in;
      for (int64_t r = 0; r < ranks; ++r) {
        auto& v = in.emplace_back();
        for (int64_t i = 0; i < n; ++i) v.push_back(value(r, col, i));
      }
      const Values want = expected(in);
      for (int64_t r = 0; r < (out_varies ? ranks : 1); ++r) {
        const float* got = out.data<float>() + (out_varies ? place(r, col) : col) * m;
        const std::vector<float>& wanted = want[static_cast<size_t>(r)];
        ASSERT_EQ(wanted.size(), static_cast<size_t>(m));
        const auto differs = std::mismatch(wanted.begin(), wanted.end(), got);
        ASSERT_TRUE(differs.first == wanted.end())
            << "rank " << r << " column " << col << " element " << differs.second - got << ": "
            << *differs.second << ", not " << *differs.first;
      }
    }
  }
};

void for_each_size(const std::function<void(int64_t ranks, bool minor_first)>& f) {
  for (int64_t ranks : {1, 2, 3, 8, 20, 64, 512})
    for (bool minor_first : {false, true}) {
      SCOPED_TRACE(fmt::format("{} ranks, minor first: {}", ranks, minor_first));
      f(ranks, minor_first);
    }
}

TEST(Collective, AllReduce) {
  for_each_size([](int64_t ranks, bool minor_first) {
    for (bool varies : {false, true})
      Harness{ranks, {5}, {5}, {.kind = CollectiveKind::kAllReduce}, varies, minor_first}.check(
          [&](const Values& in) {
            std::vector<float> sum(5);
            for (const auto& v : in)
              for (size_t i = 0; i < 5; ++i) sum[i] += v[i];
            return Values(static_cast<size_t>(ranks), sum);
          });
  });
}

TEST(Collective, AllReduceOfGroups) {
  const CollectiveStep c{
      .kind = CollectiveKind::kAllReduce, .groups = {{0, 3}, {2, 1}}, .reduce = ReduceKind::kMax};
  Harness{4, {20000}, {20000}, c}.check([](const Values& in) {
    Values out = in;
    for (size_t i = 0; i < in[0].size(); ++i) {
      out[0][i] = out[3][i] = std::max(in[0][i], in[3][i]);
      out[1][i] = out[2][i] = std::max(in[1][i], in[2][i]);
    }
    return out;
  });
}

TEST(Collective, AllReduceOfGroupsOfDifferentSizes) {
  for (const std::vector<Dims>& groups :
       {std::vector<Dims>{{0, 1}, {2}}, std::vector<Dims>{{2}, {1, 0}}}) {
    const CollectiveStep c{.kind = CollectiveKind::kAllReduce, .groups = groups};
    Harness{3, {20000}, {20000}, c}.check([](const Values& in) {
      Values out = in;
      for (size_t i = 0; i < in[0].size(); ++i) out[0][i] = out[1][i] = in[0][i] + in[1][i];
      return out;
    });
  }
}

TEST(Collective, ReduceScatter) {
  for_each_size([](int64_t ranks, bool minor_first) {
    Harness{ranks, {3, ranks * 2, 2}, {3, 2, 2}, {.kind = CollectiveKind::kReduceScatter, .dim = 1},
            true,  minor_first}
        .check([&](const Values& in) {
          Values out;
          for (int64_t r = 0; r < ranks; ++r) {
            auto& v = out.emplace_back();
            for (int64_t row = 0; row < 3; ++row)
              for (int64_t i = 0; i < 4; ++i) {
                float sum = 0;
                for (const auto& x : in) sum += x[static_cast<size_t>((row * ranks + r) * 4 + i)];
                v.push_back(sum);
              }
          }
          return out;
        });
  });
}

TEST(Collective, AllGather) {
  for_each_size([](int64_t ranks, bool minor_first) {
    for (int64_t dim : {0, 1}) {
      for (bool varies : {false, true}) {
        const Shape out = dim == 0 ? Shape{ranks * 2, 3} : Shape{2, ranks * 3};
        Harness{ranks,  {2, 3},     out, {.kind = CollectiveKind::kAllGather, .dim = dim},
                varies, minor_first}
            .check([&](const Values& in) {
              std::vector<float> all;
              if (dim == 0) {
                for (const auto& v : in) all.insert(all.end(), v.begin(), v.end());
              } else {
                for (int64_t row = 0; row < 2; ++row)
                  for (const auto& v : in)
                    all.insert(all.end(), v.begin() + row * 3, v.begin() + row * 3 + 3);
              }
              return Values(static_cast<size_t>(ranks), all);
            });
      }
    }
  });
}

TEST(Collective, AllGatherOfGroups) {
  const CollectiveStep c{.kind = CollectiveKind::kAllGather, .groups = {{3, 0}, {1, 2}}, .dim = 0};
  Harness{4, {2}, {4}, c}.check([](const Values& in) {
    auto join = [&](size_t a, size_t b) {
      return std::vector<float>{in[a][0], in[a][1], in[b][0], in[b][1]};
    };
    return Values{join(3, 0), join(1, 2), join(1, 2), join(3, 0)};
  });
}

TEST(Collective, AllToAll) {
  for_each_size([](int64_t ranks, bool minor_first) {
    if (ranks > 64) return;
    for (auto [split, concat] : {std::pair<int64_t, int64_t>{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
      const Shape in_shape = split == 0 ? Shape{ranks * 2, 3} : Shape{2, ranks * 3};
      Shape out_shape = {2, 3};
      out_shape[concat] *= ranks;
      Harness{ranks,     in_shape,
              out_shape, {.kind = CollectiveKind::kAllToAll, .dim = split, .concat_dim = concat},
              true,      minor_first}
          .check([&, split = split, concat = concat](const Values& in) {
            Values out(static_cast<size_t>(ranks),
                       std::vector<float>(static_cast<size_t>(out_shape.elements())));
            for (int64_t to = 0; to < ranks; ++to)
              for (int64_t from = 0; from < ranks; ++from)
                for (int64_t i = 0; i < 2; ++i)
                  for (int64_t j = 0; j < 3; ++j) {
                    const int64_t si = i + (split == 0 ? to * 2 : 0),
                                  sj = j + (split == 1 ? to * 3 : 0);
                    const int64_t di = i + (concat == 0 ? from * 2 : 0),
                                  dj = j + (concat == 1 ? from * 3 : 0);
                    out[static_cast<size_t>(to)][static_cast<size_t>(di * out_shape[1] + dj)] =
                        in[static_cast<size_t>(from)][static_cast<size_t>(si * in_shape[1] + sj)];
                  }
            return out;
          });
    }
  });
}

TEST(Collective, Permute) {
  for_each_size([](int64_t ranks, bool minor_first) {
    for (bool ring : {false, true}) {
      CollectiveStep c{.kind = CollectiveKind::kPermute};
      for (int64_t r = 0; r < ranks; ++r)
        if (ring || r + 1 < ranks) c.pairs.push_back({r, (r + 1) % ranks});
      Harness{ranks, {3}, {3}, c, true, minor_first}.check([&](const Values& in) {
        Values out(static_cast<size_t>(ranks), std::vector<float>(3));
        for (const Dims& pair : c.pairs)
          out[static_cast<size_t>(pair[1])] = in[static_cast<size_t>(pair[0])];
        return out;
      });
    }
  });
}

TEST(Collective, Broadcast) {
  for_each_size([](int64_t ranks, bool minor_first) {
    const int64_t root = ranks / 2;
    Harness{ranks, {3}, {3}, {.kind = CollectiveKind::kBroadcast, .root = root}, true, minor_first}
        .check([&](const Values& in) {
          return Values(static_cast<size_t>(ranks), in[static_cast<size_t>(root)]);
        });
  });
}

TEST(Collective, LargeExchangesAreCutIntoPieces) {
  const int64_t n = 50000;  // in floats; a piece has 32768
  Harness{3, {3 * n}, {3 * n}, {.kind = CollectiveKind::kAllToAll}}.check([&](const Values& in) {
    Values out(3);
    for (int64_t to = 0; to < 3; ++to)
      for (const auto& v : in)
        out[static_cast<size_t>(to)].insert(out[static_cast<size_t>(to)].end(), v.begin() + to * n,
                                            v.begin() + (to + 1) * n);
    return out;
  });
  Harness{3, {n, 2}, {n, 6}, {.kind = CollectiveKind::kAllGather, .dim = 1}}.check(
      [&](const Values& in) {
        std::vector<float> all;
        for (int64_t row = 0; row < n; ++row)
          for (const auto& v : in)
            all.insert(all.end(), v.begin() + row * 2, v.begin() + row * 2 + 2);
        return Values(3, all);
      });
}

// Gathers and rings move nothing if shards are already in order in memory.
TEST(Collective, ViewsShareMemory) {
  const Mesh mesh = test_mesh({8}, {"x"});
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, {4}, {0}), g = b.output(float32, {32}, {}),
            p = b.output(float32, {4}, {0});
  b.add(CollectiveStep{.kind = CollectiveKind::kAllGather, .over = {0}, .in = x, .out = g});
  CollectiveStep ring{.kind = CollectiveKind::kPermute, .over = {0}, .in = x, .out = p};
  for (int64_t r = 0; r < 8; ++r) ring.pairs.push_back({r, (r + 3) % 8});
  b.add(ring);
  const NamedSharding s(mesh, P("x")), all(mesh, P());
  const auto program = b.program({{float32, {32}, s}}, {{float32, {32}, all}, {float32, {32}, s}});
  const Literal data = random_literal(float32, {32}, 5);
  auto in = device_array(data, s);
  const auto out = program->run({in});
  EXPECT_EQ(out[0]->buffer(), in->buffer());
  EXPECT_EQ(out[1]->buffer(), in->buffer());
  EXPECT_EQ(out[0]->to_literal(), data);
  // If the permuted array is an argument again, it is gathered in its own order and permuted
  // further.
  Literal expected(float32, {32});
  for (int64_t i = 0; i < 32; ++i)
    expected.mutable_data<float>()[(i + 12) % 32] = data.data<float>()[i];
  EXPECT_EQ(out[1]->to_literal(), expected);
  const auto again = program->run({out[1]});
  EXPECT_EQ(again[0]->to_literal(), expected);
  for (int64_t i = 0; i < 32; ++i)
    expected.mutable_data<float>()[(i + 24) % 32] = data.data<float>()[i];
  EXPECT_EQ(again[1]->to_literal(), expected);
}

TEST(Collective, ReductionsOfEveryKind) {
  const Mesh mesh = test_mesh({5}, {"x"});
  const NamedSharding s(mesh, P("x")), all(mesh, P());
  auto reduce = [&](DType dtype, ReduceKind kind) {
    ScheduleBuilder b{mesh};
    const int x = b.input(dtype, {3}, {0}), y = b.output(dtype, {3}, {});
    b.add(CollectiveStep{
        .kind = CollectiveKind::kAllReduce, .over = {0}, .reduce = kind, .in = x, .out = y});
    return b.program({{dtype, {15}, s}}, {{dtype, {3}, all}})
        ->run({device_array(random_literal(dtype, {15}, 6), s)})[0]
        ->to_literal();
  };
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    const Literal in = random_literal(dtype, {15}, 6);
    for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProduct, ReduceKind::kMin,
                            ReduceKind::kMax, ReduceKind::kAnd, ReduceKind::kOr}) {
      const bool bitwise = kind == ReduceKind::kAnd || kind == ReduceKind::kOr,
                 order = kind == ReduceKind::kMin || kind == ReduceKind::kMax;
      if ((bitwise && is_inexact(dtype)) || (order && is_complex(dtype))) {
        EXPECT_THROW(reduce(dtype, kind), InternalError);
        continue;
      }
      const Literal out = reduce(dtype, kind);
      visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
        for (size_t i = 0; i < 3; ++i) {
          const T* x = in.data<T>();
          const T got = out.data<T>()[i];
          if constexpr (std::is_same_v<T, bool>) {
            bool any = false, every = true;
            for (size_t r = 0; r < 5; ++r) any |= x[r * 3 + i], every &= x[r * 3 + i];
            const bool wants_any =
                kind == ReduceKind::kSum || kind == ReduceKind::kMax || kind == ReduceKind::kOr;
            EXPECT_EQ(got, wants_any ? any : every);
          } else if constexpr (std::is_integral_v<T>) {
            T want = x[i];
            for (size_t r = 1; r < 5; ++r) {
              const T v = x[r * 3 + i];
              switch (kind) {
                case ReduceKind::kSum:
                  want = static_cast<T>(want + v);
                  break;
                case ReduceKind::kProduct:
                  want = static_cast<T>(want * v);
                  break;
                case ReduceKind::kMin:
                  want = std::min(want, v);
                  break;
                case ReduceKind::kMax:
                  want = std::max(want, v);
                  break;
                case ReduceKind::kAnd:
                  want = static_cast<T>(want & v);
                  break;
                default:
                  want = static_cast<T>(want | v);
              }
            }
            EXPECT_EQ(got, want) << dtype << " " << static_cast<int>(kind);
          } else {
            auto wide = [](T v) {
              if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
                return static_cast<float>(v);
              } else {
                return v;
              }
            };
            auto want = wide(x[i]);
            for (size_t r = 1; r < 5; ++r) {
              const auto v = wide(x[r * 3 + i]);
              if (kind == ReduceKind::kSum) want += v;
              if (kind == ReduceKind::kProduct) want *= v;
              if constexpr (!std::is_same_v<T, std::complex<float>> &&
                            !std::is_same_v<T, std::complex<double>>) {
                if (kind == ReduceKind::kMin) want = std::min(want, v);
                if (kind == ReduceKind::kMax) want = std::max(want, v);
              }
            }
            EXPECT_EQ(wide(got), wide(T(want))) << dtype << " " << static_cast<int>(kind);
          }
        }
      });
    }
  }
}

TEST(Collective, NotANumberWins) {
  const Mesh mesh = test_mesh({3}, {"x"});
  const NamedSharding s(mesh, P("x")), all(mesh, P());
  for (ReduceKind kind : {ReduceKind::kMin, ReduceKind::kMax}) {
    for (size_t at = 0; at < 3; ++at) {
      ScheduleBuilder b{mesh};
      const int x = b.input(float32, {1}, {0}), y = b.output(float32, {1}, {});
      b.add(CollectiveStep{
          .kind = CollectiveKind::kAllReduce, .over = {0}, .reduce = kind, .in = x, .out = y});
      Literal data(float32, {3});
      data.mutable_data<float>()[at] = std::numeric_limits<float>::quiet_NaN();
      const auto out =
          b.program({{float32, {3}, s}}, {{float32, {1}, all}})->run({device_array(data, s)});
      EXPECT_TRUE(std::isnan(out[0]->to_literal().data<float>()[0]));
    }
  }
}

TEST(Collective, SumsDoNotDependOnThreads) {
  const int before = num_threads();
  const Mesh mesh = test_mesh({20}, {"x"});
  const NamedSharding s(mesh, P("x")), all(mesh, P());
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, {30000}, {0}), y = b.output(float32, {30000}, {});
  b.add(CollectiveStep{.kind = CollectiveKind::kAllReduce, .over = {0}, .in = x, .out = y});
  const auto program = b.program({{float32, {600000}, s}}, {{float32, {30000}, all}});
  Literal data = random_literal(float32, {600000}, 7);
  for (int64_t i = 0; i < data.elements(); ++i) data.mutable_data<float>()[i] /= 3;
  std::vector<Literal> results;
  for (int threads : {1, 2, 4}) {
    set_num_threads(threads);
    results.push_back(program->run({device_array(data, s)})[0]->to_literal());
  }
  set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Collective, AxisIndex) {
  const Mesh mesh = test_mesh({2, 3}, {"x", "y"});
  ScheduleBuilder b{mesh};
  const int i = b.output(int32, {1}, {0, 1});
  b.add(CollectiveStep{.kind = CollectiveKind::kAxisIndex, .over = {1, 0}, .out = i});
  const auto out = b.program({}, {{int32, {6}, NamedSharding(mesh, P(joint("x", "y")))}})
                       ->run(std::vector<DeviceArrayRef>());
  const Literal got = out[0]->to_literal();
  for (int x = 0; x < 2; ++x)
    for (int y = 0; y < 3; ++y) EXPECT_EQ(got.data<int32_t>()[x * 3 + y], y * 2 + x);
}

TEST(Collective, RaggedAllToAll) {
  // Rank 0 keeps rows 0-1 at 1 and sends row 2 to the start of rank 1; rank 1 sends row 1 to row 3
  // of rank 0 and nothing to itself.
  const Mesh mesh = test_mesh({2}, {"x"});
  for (DType dtype : {int32, int64}) {
    for (bool initial : {false, true}) {
      ScheduleBuilder b{mesh};
      const int x = b.input(float32, {3, 2}, {0}), y = b.output(float32, {4, 2}, {0});
      CollectiveStep c{.kind = CollectiveKind::kRaggedAllToAll, .over = {0}, .in = x, .out = y};
      std::vector<ArraySpec> specs{{float32, {6, 2}, NamedSharding(mesh, P("x"))}};
      std::vector<DeviceArrayRef> inputs;
      Literal data(float32, {6, 2});
      for (int i = 0; i < 12; ++i) data.mutable_data<float>()[i] = static_cast<float>(i + 1);
      inputs.push_back(device_array(data, specs[0].sharding));
      const std::vector<std::vector<int>> tables = {
          {0, 2, 1, 0}, {2, 1, 1, 0}, {1, 0, 3, 0}, {2, 1, 1, 0}};
      for (const auto& table : tables) {
        c.sizes.push_back(b.input(dtype, {2}, {0}));
        specs.push_back({dtype, {4}, specs[0].sharding});
        Literal values(dtype, {4});
        for (size_t i = 0; i < 4; ++i)
          dtype == int32 ? void(values.mutable_data<int32_t>()[i] = table[i])
                         : void(values.mutable_data<int64_t>()[i] = table[i]);
        inputs.push_back(device_array(values, specs[0].sharding));
      }
      if (initial) {
        c.sizes.push_back(b.input(float32, {4, 2}, {}));
        specs.push_back({float32, {4, 2}, NamedSharding(mesh, P())});
        Literal ones(float32, {4, 2});
        std::fill_n(ones.mutable_data<float>(), 8, -1.f);
        inputs.push_back(device_array(ones, specs.back().sharding));
      }
      b.add(c);
      const auto out =
          b.program(specs, {{float32, {8, 2}, specs[0].sharding}})->run(inputs)[0]->to_literal();
      const float e = initial ? -1.f : 0.f;
      const float want[] = {e, e, 1, 2, 3, 4, 9, 10, 5, 6, e, e, e, e, e, e};
      for (int i = 0; i < 16; ++i) EXPECT_EQ(out.data<float>()[i], want[i]) << i;
    }
  }
}

}  // namespace
}  // namespace tessera::collective_test
