#include "tessera/compile/erased_call.h"

#include "tessera/base/namespaces.h"

namespace tessera::internal {

using namespace compile;

ErasedResult::ErasedResult() : outline(nullptr) {}
ErasedResult::ErasedResult(std::vector<Array> leaves, std::shared_ptr<const void> tree,
                           tree::Outline (*outline)(const void* tree))
    : leaves(std::move(leaves)), tree(std::move(tree)), outline(outline) {}
ErasedResult::ErasedResult(const ErasedResult&) = default;
ErasedResult::ErasedResult(ErasedResult&&) noexcept = default;
ErasedResult& ErasedResult::operator=(const ErasedResult&) = default;
ErasedResult& ErasedResult::operator=(ErasedResult&&) noexcept = default;
ErasedResult::~ErasedResult() = default;

CallLeaves::CallLeaves() = default;
CallLeaves::~CallLeaves() = default;
void CallLeaves::push_back(const Array& leaf) { leaves_.push_back(leaf); }

}  // namespace tessera::internal
