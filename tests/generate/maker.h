// The generator of make.h, with the values that the next node may read. make_ops.cc draws ops;
// make_control.cc draws loops, branches and transforms.
#pragma once

#include <functional>
#include <optional>

#include "make.h"
#include "ops.h"
#include "tessera/base/namespaces.h"

namespace tessera::generate {

using namespace runtime;

class Maker {
 public:
  explicit Maker(uint32_t seed) : engine_(seed) { c_.seed = seed; }
  Case make();

 private:
  static constexpr int64_t kMostElements = 96;  // the largest number of elements of a value

  // A value that may be read. The magnitudes of its elements are at most `bound`, so that numbers
  // do not grow without limit.
  struct Known {
    int id;
    double bound;
  };
  using Predicate = std::function<bool(const ValueType&)>;

  int pick(int64_t n) {
    return n <= 0 ? 0 : static_cast<int>(engine_() % static_cast<uint32_t>(n));
  }
  bool chance(int percent) { return pick(100) < percent; }
  double number(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_() % 1024) / 1024.0) + 0.000137;
  }
  const ValueType& type(int id) const { return types_[id]; }
  double bound(int id) const;

  // Returns a random visible value that fits; later ones are more likely. nullopt if there is none.
  std::optional<int> find(const Predicate& fits);
  std::optional<int> find_float(int64_t least_rank = 0);
  std::optional<int> find_shape(const ValueType& like);  // returns a float of its shape
  std::optional<int> find_broadcastable(const ValueType& to);
  // A float of rank 1 or more, and a dimension of it.
  struct AlongDim {
    int x;
    Shape shape;
    int64_t rank, d, n;  // n: the extent of dimension d
    double b;            // the bound of x
  };
  std::optional<AlongDim> find_along_dim();
  int any_float();                // makes one if there is none
  int scalar_int(int64_t below);  // returns an int32 in [0, below)
  int indices(int64_t below);     // returns a vector of integers in [0, below)
  int scalar_bool();
  int integers(int64_t rank);
  int zeros_like_float(const Shape& shape);

  // Appends a node. Returns its first result, or nullopt if it cannot be typed.
  std::optional<int> emit(Node node, std::vector<double> bounds);
  std::optional<int> op(const char* name, std::vector<int> operands, Attributes p, double bound);
  int must(const char* name, std::vector<int> operands, Attributes p, double bound);
  // Returns the value, or a bounded function of it if it may be larger than `most`.
  int tamed(int id, double most = 4);

  int64_t extent() { return extents_[pick(static_cast<int64_t>(extents_.size()))]; }
  Shape random_shape(int64_t most_rank = 3);
  void append_extent(Shape& shape);
  Dims some_dims(const ValueType& t);
  Dims permutation(int64_t rank);

  // --- make_ops.cc ---
  void step();
  void unary();
  void binary();
  void shape_op();
  void shape_op_of_rank(int x);
  void concatenate_op(int x, int64_t d);
  void stack_op(int x);
  void pad_op(int x, int64_t d);
  void slice_op(int x);
  void place();
  void reduction();
  void product();
  void random_einsum();
  void integer_op();
  void complex_op();
  void constraint();
  void collective();
  void collective_of(int x, const std::vector<std::string>& axes, int64_t size);

  // --- make_control.cc ---
  void control();
  void wrap(NodeKind kind);
  int with_product(int to, int from, int matrix);
  void scan();
  void fori();
  void while_loop();
  void branches();
  void vmap();
  bool shard_map();
  void gradient();
  void tangent();
  struct Body {
    Program program;
    std::vector<double> bounds;  // bounds of its outputs
  };
  // Draws a body with these inputs. `finish` returns its outputs after the steps are drawn.
  Body body(const std::vector<std::pair<ValueType, double>>& inputs, int steps,
            const std::function<std::vector<int>(const std::vector<int>& inputs)>& finish);
  std::vector<int> some_outputs(int most, const Predicate& fits);
  // Returns a float of this type with magnitudes of at most `most`, made from values of this body,
  // preferably from `from`.
  int value_of(const ValueType& t, int from, double most);
  std::vector<int> operands(int most, const Predicate& fits);
  std::vector<std::pair<ValueType, double>> typed(const std::vector<int>& ids);

  std::mt19937 engine_;
  Case c_;
  Mesh mesh_;
  Types types_;
  std::vector<Axis> axes_;
  std::vector<Known> known_;
  size_t visible_from_ = 0;         // the first visible element of known_
  size_t floats_visible_from_ = 0;  // the same for floats, which may be hidden in a body
  size_t named_from_ = 0;           // the first of axes_ whose names collectives may use
  std::vector<Program*> scopes_;
  std::vector<int64_t> extents_;
  DType real_ = float32;
  int depth_ = 0;
  bool smooth_ = false;        // no functions that jump: coarse dtypes may round across it
  bool forward_only_ = false;  // inside a jvp: only ops with a forward derivative
  int vmaps_ = 0, gradients_ = 0;
};

}  // namespace tessera::generate
