#include "tessera/io/npy_rows.h"

#include <utility>

#include "tessera/ir/format.h"

namespace tessera {
namespace {

constexpr const char* kNpyRowsOp = "NpyRows";

}  // namespace

NpyRows::NpyRows(const std::filesystem::path& path) : path_(path) {
  internal::PlainFile opened = internal::open_plain(kNpyRowsOp, path);
  uint64_t at = 0;
  const int fd = opened.file.fd();
  const internal::NpySource source{.op = kNpyRowsOp,
                                   .where = fmt::format("'{}'", path.string()),
                                   .size = opened.bytes,
                                   .read = [&](void* buffer, size_t n) {
                                     n = std::min<size_t>(n, opened.bytes - at);
                                     internal::read_at(fd, buffer, n, at, kNpyRowsOp, path);
                                     at += n;
                                     return n;
                                   }};
  layout_ = internal::read_npy_layout(source);
  if (layout_.shape.empty())
    io_error(kNpyRowsOp, "expected an array with rows in '{}', got a scalar; read it with load()",
             path.string());
  if (layout_.fortran && layout_.shape.rank() > 1)
    io_error(
        kNpyRowsOp,
        "expected an array in C order in '{}', got one in Fortran order, whose rows are not in "
        "one piece; write it again with numpy.save(numpy.ascontiguousarray(x))",
        path.string());
  row_bytes_ = itemsize(layout_.dtype);
  for (int64_t i = 1; i < layout_.shape.rank(); ++i) row_bytes_ *= layout_.shape[i];
  file_ = std::make_shared<const internal::File>(std::move(opened.file));
}

Literal NpyRows::read(std::span<const int64_t> indices) const {
  Shape shape = layout_.shape;
  shape[0] = static_cast<int64_t>(indices.size());
  Literal out(layout_.dtype, shape);
  std::byte* to = out.mutable_raw();
  for (int64_t index : indices) {
    if (index < 0 || index >= num_rows())
      value_error(kNpyRowsOp, "expected indices of rows in [0, {}), those of '{}', got {}",
                  num_rows(), path_.string(), index);
    internal::read_at(file_->fd(), to, static_cast<size_t>(row_bytes_),
                      layout_.offset + static_cast<uint64_t>(index * row_bytes_), kNpyRowsOp,
                      path_);
    to += row_bytes_;
  }
  internal::normalize_npy(layout_, out.mutable_raw(), out.bytes());
  return out;
}

}  // namespace tessera
