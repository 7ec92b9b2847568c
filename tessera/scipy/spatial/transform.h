// Rotations in three dimensions, with the names of jax.scipy.spatial.transform.
//
//   const Rotation r = Rotation::from_euler("zyx", array({90.0, 0.0, 45.0}), {.degrees = true});
//   r.apply(vectors);
//
// A Rotation contains one rotation, or as many as its leading dimension. It is a tree of one array,
// so jit, vmap and grad accept it. All functions throw UserError for arrays whose last dimension is
// not the one named here. tessera/tessera.h does not include this header.
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
  bool canonical = false;     // returns the one of q and -q with w >= 0
  bool scalar_first = false;  // (w, x, y, z) instead of (x, y, z, w)
};
struct ApplyOptions {
  bool inverse = false;
};

struct Rotation {
  Array quat;  // [..., 4], of length 1: x, y, z, w

  // Makes rotations from quaternions of any length except 0.
  static Rotation from_quat(const Array& quat);
  // Makes rotations from matrices [..., 3, 3], which must be rotations.
  static Rotation from_matrix(const Array& matrix);
  // Makes rotations from axes times angles, [..., 3].
  static Rotation from_rotvec(const Array& rotvec, const AngleOptions& options = {});
  // Makes rotations from axes times tan(angle / 4), [..., 3].
  static Rotation from_mrp(const Array& mrp);
  // Makes rotations from angles about up to three of the axes "x", "y", "z", in this order: fixed
  // axes, or as capitals axes that rotate with the object. The angles are [..., axes]; for one axis
  // this dimension may be absent. Throws UserError for other letters.
  static Rotation from_euler(std::string_view seq, const Array& angles,
                             const AngleOptions& options = {});
  static Rotation identity(std::optional<int64_t> num = std::nullopt);
  // Returns uniformly distributed rotations.
  static Rotation random(const tessera::random::Key& key,
                         std::optional<int64_t> num = std::nullopt);
  static Rotation concatenate(const std::vector<Rotation>& rotations);

  Array as_quat(const QuatOptions& options = {}) const;
  Array as_matrix() const;
  Array as_rotvec(const AngleOptions& options = {}) const;
  Array as_mrp() const;
  // Returns the angles of from_euler. The second one is in [-pi/2, pi/2], or in [0, pi] if the
  // first axis is also the third. If the angles are not determined, the third one is 0.
  Array as_euler(std::string_view seq, const AngleOptions& options = {}) const;

  // Returns the vectors [..., 3] rotated.
  Array apply(const Array& vectors, const ApplyOptions& options = {}) const;
  Rotation inv() const;
  Array magnitude() const;  // the angle, in [0, pi]
  // Returns the rotation with the least weighted sum of squared chordal distances.
  Rotation mean(const std::optional<Array>& weights = std::nullopt) const;
  bool single() const { return quat.ndim() == 1; }
};
// Returns the rotation that is b followed by a.
Rotation operator*(const Rotation& a, const Rotation& b);

// Interpolates rotations between known ones, at a constant speed from each to the next.
class Slerp {
 public:
  // Throws UserError unless there are at least two rotations and one ascending time for each.
  Slerp(const Array& times, const Rotation& rotations);
  Rotation operator()(const Array& times) const;

 private:
  Array times_, rotvecs_;
  Rotation rotations_;
};

}  // namespace tessera::scipy::spatial::transform
