#include "tessera/spmd/row_moves.h"

#include <algorithm>

namespace tessera::spmd {
namespace {

struct Parcel {
  int64_t from, to;
  int64_t base;   // the number of the sender's first row
  RowRange rows;  // numbered over all rows
  int64_t size() const { return rows.high - rows.low; }
};

class RoundPlanner {
 public:
  RoundPlanner(int64_t devices, int64_t source_rows, int64_t target_rows, RowRange wanted)
      : n_(devices), source_rows_(source_rows), target_rows_(target_rows), wanted_(wanted) {}

  std::vector<RowMove> run(const std::vector<RowHolding>& held) const {
    std::vector<Parcel> home, away;
    for (const Parcel& parcel : parcels(held))
      (parcel.from == parcel.to ? home : away).push_back(parcel);
    std::vector<RowMove> out;
    for (const std::vector<Parcel>& round : rounds(home))
      out.push_back(make_move(round, source_rows_));
    // Parcels of similar size share a round, because a round takes as long as its largest parcel.
    // Parcels that travel the same distance never need the same sender or receiver.
    auto distance = [&](const Parcel& p) { return (p.to - p.from + n_) % n_; };
    std::stable_sort(away.begin(), away.end(), [&](const Parcel& a, const Parcel& b) {
      return a.size() != b.size() ? a.size() > b.size() : distance(a) < distance(b);
    });
    for (const std::vector<Parcel>& round : rounds(away))
      out.push_back(make_move(round, round.front().size()));
    return out;
  }

 private:
  RowRange needs(int64_t i) const {
    return {std::max(i * target_rows_, wanted_.low),
            std::min((i + 1) * target_rows_, wanted_.high)};
  }

  // Assigns each parcel to the first round in which its sender and its receiver are free.
  std::vector<std::vector<Parcel>> rounds(const std::vector<Parcel>& parcels) const {
    std::vector<std::vector<Parcel>> out;
    std::vector<std::vector<char>> sends, receives;
    for (const Parcel& parcel : parcels) {
      size_t r = 0;
      while (r < out.size() && (sends[r][parcel.from] || receives[r][parcel.to])) ++r;
      if (r == out.size()) {
        out.emplace_back();
        sends.emplace_back(n_, 0);
        receives.emplace_back(n_, 0);
      }
      sends[r][parcel.from] = receives[r][parcel.to] = 1;
      out[r].push_back(parcel);
    }
    return out;
  }

  // Returns the parcels: for each run of rows that a device has, the part that each device needs.
  std::vector<Parcel> parcels(const std::vector<RowHolding>& held) const {
    std::vector<Parcel> out;
    for (const RowHolding& h : held) {
      const RowRange have = h.range;
      if (have.empty() || target_rows_ == 0) continue;
      const int64_t first = std::max<int64_t>(0, have.low / target_rows_),
                    last = std::min(n_ - 1, (have.high - 1) / target_rows_);
      for (int64_t i = first; i <= last; ++i) {
        const RowRange need = needs(i),
                       both{std::max(have.low, need.low), std::min(have.high, need.high)};
        if (!both.empty()) out.push_back({h.device, i, h.base, both});
      }
    }
    return out;
  }

  RowMove make_move(const std::vector<Parcel>& parcels, int64_t rows) const {
    RowMove move;
    move.home = parcels.front().from == parcels.front().to;
    move.rows = rows;
    std::vector<int64_t> target(n_, -1);
    move.send.assign(n_, -1);
    move.target_row.assign(n_, 0);
    move.exact.assign(n_, {});
    move.taken.assign(n_, {});
    std::vector<char> placed(n_, 0);
    for (const Parcel& p : parcels) {
      target[p.from] = p.to;
      // All parcels of a round have the same number of rows, so this one may have to begin earlier:
      // it must not end after its sender's rows.
      move.send[p.from] = std::min(p.rows.low - p.base, source_rows_ - rows);
      move.target_row[p.to] = p.base + move.send[p.from] - p.to * target_rows_;
      placed[p.to] = 1;
      const RowRange need = needs(p.to);
      move.exact[p.to] = {p.rows.low - p.to * target_rows_, p.rows.high - p.to * target_rows_};
      // The taken rows may extend beyond the wanted ones to the edge, which saves comparisons.
      move.taken[p.to] = {
          p.rows.low == need.low ? 0 : p.rows.low - p.to * target_rows_,
          p.rows.high == need.high ? target_rows_ : p.rows.high - p.to * target_rows_};
    }
    // Devices without a parcel do the same as those of the first parcel.
    for (int64_t i = 0; i < n_; ++i) {
      if (move.send[i] < 0) move.send[i] = move.send[parcels.front().from];
      if (!placed[i]) move.target_row[i] = move.target_row[parcels.front().to];
    }
    fill_empty(move.taken);
    if (!move.home) move.pairs = whole_permutation(std::move(target));
    return move;
  }

  // Puts empty ranges at an edge that all other ranges share.
  void fill_empty(std::vector<RowRange>& taken) const {
    const bool to_the_end = std::all_of(taken.begin(), taken.end(), [&](const RowRange& r) {
      return r.empty() || r.high == target_rows_;
    });
    for (RowRange& r : taken)
      if (r.empty()) r = to_the_end ? RowRange{target_rows_, target_rows_} : RowRange{0, 0};
  }

  // Makes the permutation complete. A device that has nothing to send keeps its rows, or sends rows
  // that nobody reads, since a permutation of all devices only changes addresses.
  static std::vector<Dims> whole_permutation(std::vector<int64_t> target) {
    const auto n = static_cast<int64_t>(target.size());
    std::vector<char> reached(n, 0);
    for (int64_t t : target)
      if (t >= 0) reached[t] = 1;
    for (int64_t j = 0; j < n; ++j)
      if (target[j] < 0 && !reached[j]) reached[target[j] = j] = 1;
    int64_t next = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (target[j] >= 0) continue;
      while (reached[next]) ++next;
      reached[target[j] = next] = 1;
    }
    std::vector<Dims> pairs;
    for (int64_t j = 0; j < n; ++j) pairs.push_back({j, target[j]});
    return pairs;
  }

  const int64_t n_, source_rows_, target_rows_;
  const RowRange wanted_;
};

}  // namespace

std::vector<RowMove> plan_row_moves(const std::vector<RowHolding>& held, int64_t devices,
                                    int64_t source_rows, int64_t target_rows, RowRange wanted) {
  return RoundPlanner(devices, source_rows, target_rows, wanted).run(held);
}

std::vector<RowRange> common_parts(const std::vector<RowMove>& moves, int64_t target_rows) {
  std::vector<RowRange> out;
  std::vector<size_t> order;
  for (const RowMove& move : moves) {
    RowRange part{target_rows, 0};
    for (size_t i = 0; i < move.exact.size(); ++i) {
      if (move.target_row[i] != move.target_row[0]) return {};
      if (move.exact[i].empty()) continue;
      part.low = std::min(part.low, move.exact[i].low);
      part.high = std::max(part.high, move.exact[i].high);
    }
    order.push_back(out.size());
    out.push_back(part);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return out[a].low < out[b].low; });
  for (size_t k = 0; k + 1 < order.size(); ++k)
    if (out[order[k]].high > out[order[k + 1]].low) return {};
  // Rows between the parts are not needed by any device.
  for (size_t k = 0; k < order.size(); ++k) {
    out[order[k]].low = k == 0 ? 0 : out[order[k]].low;
    out[order[k]].high = k + 1 < order.size() ? out[order[k + 1]].low : target_rows;
  }
  return out;
}

}  // namespace tessera::spmd
