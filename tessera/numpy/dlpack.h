// Exchanges arrays with other libraries of this process by DLPack, without copies.
//
// Exchanged memory is read-only on both sides: arrays are immutable, so an exported tensor has the
// read-only flag, and an imported one is never written to.
#pragma once

#include <memory>

#include "tessera/ir/array.h"
#include "tessera/numpy/dlpack_structs.h"

namespace tessera {

struct DlpackOptions {
  // Copies the elements: the consumer of an export may then write to it, and an import need not be
  // dense.
  bool copy = false;
};

struct DlpackDeleter {
  void operator()(dlpack::ManagedTensorVersioned* tensor) const { tensor->deleter(tensor); }
};
// A handle that owns a tensor and deletes it. A consumer that gets release() deletes the tensor
// itself.
using DlpackTensor = std::unique_ptr<dlpack::ManagedTensorVersioned, DlpackDeleter>;

// Returns x as a tensor in memory of the CPU. The tensor keeps the memory until it is deleted.
// Throws UserError for a dtype that DLPack does not have, for a traced array and, unless
// options.copy is set, for an array that view() refuses (host_memory.h).
DlpackTensor to_dlpack(const Array& x, const DlpackOptions& options = {});

// Returns an array that uses the tensor's memory and deletes the tensor when the array no longer
// needs it. The producer must not write to that memory meanwhile. Throws UserError for a major
// version other than 1, for memory that is not the host's, for element types that Tessera does not
// have and, unless options.copy is set, for memory that borrow() refuses. If it throws, the tensor
// still belongs to the caller.
Array from_dlpack(dlpack::ManagedTensorVersioned* tensor, const DlpackOptions& options = {});
Array from_dlpack(DlpackTensor&& tensor, const DlpackOptions& options = {});
// Returns the same for a tensor of a version before 1.0.
Array from_dlpack(dlpack::ManagedTensor* tensor, const DlpackOptions& options = {});

}  // namespace tessera
