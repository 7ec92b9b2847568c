#include "tessera/numpy/mapped_functions.h"

#include <map>

#include "tessera/numpy/logic.h"
#include "tessera/numpy/promotion.h"

namespace tessera {

Array piecewise(const Array& x, const std::vector<Array>& conditions,
                const std::vector<Piece>& pieces) {
  if (pieces.size() != conditions.size() && pieces.size() != conditions.size() + 1)
    value_error("piecewise", "expected {} or {} pieces for {} conditions, got {}",
                conditions.size(), conditions.size() + 1, conditions.size(), pieces.size());
  const auto value = [&](const Piece& piece) {
    return broadcast_array("piecewise", as_dtype(piece(x), x.dtype()), x.shape());
  };
  Array out =
      pieces.size() > conditions.size() ? value(pieces.back()) : zeros(x.shape(), x.dtype());
  for (size_t i = 0; i < conditions.size(); ++i)
    out = where(broadcast_array("piecewise", conditions[i], x.shape()), value(pieces[i]), out);
  return out;
}

namespace internal {

Array with_axis_kept(const Array& made, const Array& x, int64_t axis) {
  const Array out = made.ndim() == x.ndim() - 1 ? expand_dims(made, axis) : made;
  if (out.ndim() != x.ndim())
    shape_error("apply_over_axes",
                "expected a function that keeps or removes one dimension of {}, got {}",
                describe(x.type()), describe(made.type()));
  return out;
}

namespace {

class SignatureReader {
 public:
  explicit SignatureReader(const std::string& text) : text_(text) {
    for (char c : text)
      if (c != ' ') left_ += c;
  }
  Signature read() {
    Signature out;
    out.arguments = shapes();
    if (left_.substr(at_, 2) != "->") fail();
    at_ += 2;
    out.results = shapes();
    if (at_ != left_.size()) fail();
    return out;
  }

 private:
  [[noreturn]] void fail() const {
    value_error("vectorize", "expected a signature like \"(n,m),(m)->(n)\", got \"{}\"", text_);
  }
  char next() const { return at_ < left_.size() ? left_[at_] : '\0'; }
  std::vector<std::vector<std::string>> shapes() {
    std::vector<std::vector<std::string>> out;
    do {
      if (!out.empty()) ++at_;
      out.push_back(shape());
    } while (next() == ',');
    return out;
  }
  std::vector<std::string> shape() {
    std::vector<std::string> out;
    if (next() != '(') fail();
    ++at_;
    while (next() != ')') {
      if (!out.empty()) {
        if (next() != ',') fail();
        ++at_;
      }
      std::string name;
      while (std::isalnum(static_cast<unsigned char>(next())) || next() == '_')
        name += left_[at_++];
      if (name.empty()) fail();
      out.push_back(name);
    }
    ++at_;
    return out;
  }

  const std::string& text_;
  std::string left_;
  size_t at_ = 0;
};

}  // namespace

Signature parse_signature(const std::string& text) { return SignatureReader(text).read(); }

CoreArguments core_arguments(const Signature& signature, const std::vector<Array>& arguments) {
  const char* name = "vectorize";
  if (signature.arguments.size() != arguments.size())
    value_error(name, "expected {} arguments, as in the signature, got {}",
                signature.arguments.size(), arguments.size());
  std::map<std::string, int64_t> extents;
  std::vector<Shape> loops;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape& shape = arguments[i].shape();
    const auto core = static_cast<int64_t>(signature.arguments[i].size());
    if (shape.rank() < core)
      shape_error(name, "expected at least {} dimensions of argument {}, got {}", core, i,
                  describe(arguments[i].type()));
    for (int64_t d = 0; d < core; ++d) {
      const std::string& dimension = signature.arguments[i][static_cast<size_t>(d)];
      const int64_t extent = shape[shape.rank() - core + d];
      const auto [at, added] = extents.emplace(dimension, extent);
      if (!added && at->second != extent)
        shape_error(name, "expected one extent of dimension {}, got {} and {}", dimension,
                    at->second, extent);
    }
    loops.emplace_back(shape.begin(), shape.end() - core);
  }
  CoreArguments out;
  out.loop = broadcast_shapes(name, loops);
  int64_t count = 1;
  for (int64_t extent : out.loop) count *= extent;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape& shape = arguments[i].shape();
    const auto core = static_cast<int64_t>(signature.arguments[i].size());
    Shape whole = out.loop, flat{count};
    whole.insert(whole.end(), shape.end() - core, shape.end());
    flat.insert(flat.end(), shape.end() - core, shape.end());
    out.arrays.push_back(reshape(broadcast_to(arguments[i], whole), flat));
  }
  return out;
}

Array with_loop(const Array& x, const Shape& loop) {
  Shape shape = loop;
  shape.insert(shape.end(), x.shape().begin() + 1, x.shape().end());
  return reshape(x, shape);
}

}  // namespace internal

}  // namespace tessera
