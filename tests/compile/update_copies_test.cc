#include "tessera/compile/update_copies.h"

#include <gtest/gtest.h>

#include <random>

#include "tessera/tessera.h"

namespace tessera::update_copies_test {
namespace {

constexpr int64_t kSize = 4096, kTrips = 300;

// Returns the notes of explain() about a loop of kTrips iterations with body(trip, a, b).
template <class F>
std::vector<Note> notes(F body) {
  auto loop = jit([=](const Array& x, const Array& y) {
    return fori_loop(
        0, kTrips,
        [=](const Array& i, const std::pair<Array, Array>& c) {
          return body(i, c.first, c.second);
        },
        std::pair(x, y));
  });
  const Array x = ones({kSize});
  return loop.lower(x, x).notes();
}

using Carry = std::pair<Array, Array>;

TEST(UpdateCopies, NoneWhereTheArrayBecomesItsUpdate) {
  EXPECT_TRUE(notes([](const Array& i, const Array& a, const Array& b) {
                return Carry{at(a)[i].set(at(b)[i].get()), at(b)[i].add(1.0F)};
              }).empty());
  EXPECT_TRUE(notes([](const Array& i, const Array& a, const Array& b) {
                const auto change = [&](const Array& x) { return at(x)[i].add(1.0F); };
                const auto keep = [](const Array& x) { return x; };
                return Carry{cond(i % 2 == 0, change, keep, a), b};
              }).empty());
}

TEST(UpdateCopies, SaysWhatAndWhy) {
  const std::vector<Note> read = notes([](const Array& i, const Array& a, const Array& b) {
    const Array next = at(a)[{i + arange(2)}].add(1.0F);
    return Carry{next, b + dot(a, next)};
  });
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].op, "scatter");
  EXPECT_EQ(read[0].text,
            "all of float32[4096] (16384 bytes) is copied in each of 300 trips of a loop, because "
            "the array is read after its update");
  EXPECT_EQ(read[0].remedy, "read what is needed of it before, or of the updated one");
  EXPECT_FALSE(read[0].warning);

  const std::vector<Note> elsewhere = notes([](const Array& i, const Array& a, const Array& b) {
    return Carry{b, dynamic_update_slice(a, ones({1}), {i})};
  });
  ASSERT_EQ(elsewhere.size(), 1U);
  EXPECT_NE(elsewhere[0].text.find("does not become the carry"), std::string::npos)
      << elsewhere[0].text;

  const std::vector<Note> constant = notes([](const Array& i, const Array& a, const Array& b) {
    static_cast<void>(a);
    return Carry{dynamic_update_slice(arange(kSize, float32), ones({1}), {i}), b};
  });
  for (const Note& note : constant)
    EXPECT_NE(note.text.find("same array anew"), std::string::npos) << note.text;
}

TEST(UpdateCopies, UnderABranchOfALoop) {
  const std::vector<Note> notes_of = notes([](const Array& i, const Array& a, const Array& b) {
    const auto change = [&](const Array& x, const Array& y) {
      const Array next = at(x)[{i + arange(2)}].add(1.0F);
      return Carry{next, y + dot(x, next)};
    };
    const auto keep = [](const Array& x, const Array& y) { return Carry{x, y}; };
    return cond(i % 2 == 0, change, keep, a, b);
  });
  ASSERT_GE(notes_of.size(), 1U);
  EXPECT_NE(notes_of[0].text.find("300 trips"), std::string::npos) << notes_of[0].text;
}

TEST(UpdateCopies, CostsCountWhatIsMoved) {
  const auto bytes = [](int64_t size) {
    auto loop = jit([](const Array& x) {
      return fori_loop(
          0, kTrips,
          [](const Array& i, const Array& a) {
            return dynamic_update_slice(a, reshape(astype(i, float32), {1}), {i});
          },
          x);
    });
    return loop.lower(ones({size})).cost().bytes_accessed;
  };
  EXPECT_LT(bytes(1 << 20), 100 * kTrips);
  EXPECT_EQ(bytes(1 << 20), bytes(1 << 12));
}

// Each device updates the row if it is one of its own, and none otherwise.
TEST(UpdateCopies, NoneOfShardsWhoseRowsAreUpdated) {
  initialize({.devices = "cpu:8"});
  const NamedSharding rows(make_mesh({8}, {"x"}), P("x"));
  auto loop = jit([](const Array& x) {
    return fori_loop(
        0, kTrips,
        [](const Array& i, const Array& a) {
          const Array row = dynamic_slice(a, {i, array(0)}, {1, 64});
          return dynamic_update_slice(a, row * 0.5F + 1.0F, {i + 1, array(0)});
        },
        x);
  });
  const auto lowered = loop.lower(device_put(ones({kSize, 64}), rows));
  EXPECT_TRUE(lowered.notes().empty()) << lowered.explain();
  EXPECT_NE(lowered.text("fused").find(" = update("), std::string::npos) << lowered.text("fused");
}

TEST(UpdateCopies, ShardsAreUpdatedAsTheWhole) {
  initialize({.devices = "cpu:8"});
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  const std::vector<PartitionSpec> specs = {P("x", "y"), P("y"), P(None, "x")};
  std::mt19937 engine(1);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(n));
  };
  for (int k = 0; k < 80; ++k) {
    const Shape shape{1 + below(20), 1 + below(20)}, part{1 + below(shape[0]), 1 + below(shape[1])};
    const auto update = [](const Array& x, const Array& u, const Array& i, const Array& j) {
      return dynamic_update_slice(x, u, {i, j});
    };
    const NamedSharding sharding(mesh, specs[static_cast<size_t>(below(3))]);
    const auto sharded = jit([=](const Array& x, const Array& u, const Array& i, const Array& j) {
      return with_sharding_constraint(update(with_sharding_constraint(x, sharding), u, i, j),
                                      sharding);
    });
    const Array x = reshape(arange(shape.elements(), float32), shape),
                u = -1.0F - reshape(arange(part.elements(), float32), part),
                i = array(static_cast<int32_t>(below(30)) - 5),
                j = array(static_cast<int32_t>(below(30)) - 5);
    EXPECT_TRUE(all(sharded(x, u, i, j) == update(x, u, i, j)).item<bool>())
        << k << " " << shape << " " << part;
  }
}

// A beam search: each trip writes a row of each beam's cache, and then replaces each cache by that
// of the beam that the new beam continues.
constexpr int64_t kBeams = 4, kRows = 128, kWidth = 48;

std::pair<Array, Array> next_caches(const Array& i, const std::pair<Array, Array>& caches) {
  const auto& [a, b] = caches;
  const Array row = full({kBeams, 1, kWidth}, astype(i, float32) + 1) * sum(at(b)[{0, i}].get());
  const Array written = dynamic_update_slice(a, tanh(row), {0, i, 0});
  const Array more = dynamic_update_slice(b, row - 1, {0, i, 0});
  const Array from = (arange(kBeams) * 3 + i) % kBeams;
  return {take(written, from, {.axis = 0}), take(more + sum(written) * 0.001F, from, {.axis = 0})};
}

Array first_caches(int shift) {
  return sin(reshape(arange(kBeams * kRows * kWidth, float32), {kBeams, kRows, kWidth}) + shift);
}

TEST(UpdateCopies, NoneOfRowsOfCachesThatAreGathered) {
  const Array x = first_caches(0), y = first_caches(1);
  for (const int trips : {0, 1, 2, 5, 64}) {
    const auto loop = jit([=](const Array& a, const Array& b) {
      return fori_loop(0, trips, next_caches, std::pair(a, b));
    });
    const auto lowered = loop.lower(x, y);
    EXPECT_TRUE(lowered.notes().empty()) << lowered.explain();
    EXPECT_NE(lowered.text("fused").find(" = update("), std::string::npos);
    const auto [a, b] = loop(x, y);
    // The caller's arrays are unchanged.
    EXPECT_TRUE(array_equal(x, first_caches(0)));
    EXPECT_TRUE(array_equal(y, first_caches(1)));
    std::pair<Array, Array> expected(x, y);
    const auto step = jit(next_caches);
    for (int i = 0; i < trips; ++i) expected = step(array(i), expected);
    EXPECT_TRUE(array_equal(a, expected.first)) << trips;
    EXPECT_TRUE(allclose(b, expected.second, {.rtol = 1e-5, .atol = 1e-5})) << trips;
  }
}

// The same for a loop that a condition ends, and for a caller that donates its arrays.
TEST(UpdateCopies, NoneOfCachesInALoopThatAConditionEnds) {
  for (const int trips : {0, 1, 6}) {
    const auto run = [=](const Array& a, const Array& b) {
      using State = std::tuple<Array, Array, Array>;
      const auto goes_on = [=](const State& s) { return std::get<0>(s) < trips; };
      const auto body = [](const State& s) {
        const auto& [i, a, b] = s;
        const auto [p, q] = next_caches(i, {a, b});
        return State(i + 1, p, q);
      };
      const auto [i, p, q] = while_loop(goes_on, body, State(array(0), a, b));
      return std::pair(p, q);
    };
    const auto fixed = jit([=](const Array& a, const Array& b) {
      return fori_loop(0, trips, next_caches, std::pair(a, b));
    });
    const Array x = first_caches(0), y = first_caches(1);
    const auto [p, q] = jit(run)(x, y);
    EXPECT_TRUE(array_equal(x, first_caches(0)));
    const auto [a, b] = fixed(x, y);
    EXPECT_TRUE(array_equal(p, a)) << trips;
    EXPECT_TRUE(array_equal(q, b)) << trips;
    const auto [c, d] = jit(run, {.donate_argnums = {0, 1}})(x, y);
    EXPECT_TRUE(array_equal(c, a)) << trips;
    EXPECT_TRUE(array_equal(d, b)) << trips;
  }
}

TEST(UpdateCopies, SmallOnesAreNotWorthALine) {
  auto loop = jit([](const Array& x, const Array& y) {
    return fori_loop(
        0, 4,
        [](const Array& i, const Carry& c) {
          const Array next = dynamic_update_slice(c.first, ones({1}), {i});
          return Carry{next, c.second + dot(c.first, next)};
        },
        Carry(x, y));
  });
  const Array x = ones({kSize});
  EXPECT_TRUE(loop.lower(x, x).notes().empty());
}

}  // namespace
}  // namespace tessera::update_copies_test
