// Rotations in three dimensions, with the names of jax.scipy.spatial.transform.
//
//   const Rotation r = Rotation::from_euler("zyx", array({90.0, 0.0, 45.0}), {.degrees = true});
//   r.apply(vectors);
//
// A Rotation holds one rotation, or as many as a leading dimension says. It is a tree of one array,
// so that jit, vmap and grad take it. Errors, of all: UserError for arrays whose last dimension is
// not the one named. tessera/tessera.h does not include this header.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tessera/random/key.h"

namespace tessera::scipy::spatial::transform {

struct AngleOptions {
  bool degrees = false;
};
struct QuatOptions {
  bool canonical = false;     // of q and -q the one with w >= 0
  bool scalar_first = false;  // (w, x, y, z) instead of (x, y, z, w)
};
struct ApplyOptions {
  bool inverse = false;
};

struct Rotation {
  Array quat;  // [..., 4], of length 1: x, y, z, w

  // Quaternions of any length but 0.
  static Rotation from_quat(const Array& quat);
  // Matrices [..., 3, 3] that are rotations.
  static Rotation from_matrix(const Array& matrix);
  // Axes times angles, [..., 3].
  static Rotation from_rotvec(const Array& rotvec, const AngleOptions& options = {});
  // Axes times tan(angle / 4), [..., 3].
  static Rotation from_mrp(const Array& mrp);
  // Angles about up to three of the axes "x", "y", "z" in turn: fixed ones, or as capitals those
  // that turn along. angles: [..., axes], or of one axis any shape without it. UserError for other letters.
  static Rotation from_euler(std::string_view seq, const Array& angles,
                             const AngleOptions& options = {});
  static Rotation identity(std::optional<int64_t> num = std::nullopt);
  // Uniformly distributed.
  static Rotation random(const tessera::random::Key& key,
                         std::optional<int64_t> num = std::nullopt);
  static Rotation concatenate(const std::vector<Rotation>& rotations);

  Array as_quat(const QuatOptions& options = {}) const;
  Array as_matrix() const;
  Array as_rotvec(const AngleOptions& options = {}) const;
  Array as_mrp() const;
  // The angles of from_euler, the second one in [-pi/2, pi/2], or in [0, pi] where the first axis is
  // the third one too. Where they are not determined the third one is 0.
  Array as_euler(std::string_view seq, const AngleOptions& options = {}) const;

  // Vectors [..., 3], turned.
  Array apply(const Array& vectors, const ApplyOptions& options = {}) const;
  Rotation inv() const;
  Array magnitude() const;  // the angle, in [0, pi]
  // The one with the least weighted sum of squared chordal distances.
  Rotation mean(const std::optional<Array>& weights = std::nullopt) const;
  bool single() const { return quat.ndim() == 1; }
};
// First b, then a.
Rotation operator*(const Rotation& a, const Rotation& b);

// Rotations between known ones, at a constant speed from each to the next.
class Slerp {
 public:
  // UserError unless there is one ascending time for each of at least two rotations.
  Slerp(const Array& times, const Rotation& rotations);
  Rotation operator()(const Array& times) const;

 private:
  Array times_, rotvecs_;
  Rotation rotations_;
};

}  // namespace tessera::scipy::spatial::transform
