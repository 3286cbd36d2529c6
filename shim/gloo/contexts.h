// Identity of contexts without messages, equal on all ranks: the prefix of the store by which the members meet, which
// PyTorch makes of the group's name, and how often this process had used it before. Without a prefix (a program that
// uses gloo itself) the size and how many contexts of that size came before: right as long as all ranks make them in
// one order.
#pragma once

#include "shim/gloo/library.h"

namespace ddbg::shim::gloo {

// The constructor of a context, of a prefix store. No recorder is needed.
void NoteContext(Word context, int32_t rank, int32_t size) noexcept;
// `below`: the store it prefixes. Where one of gloo's prefixes what has no name, that may be PyTorch's last one of this
// thread in another shape.
void NoteStore(Word store, const void* prefix, Word below, bool is_torch) noexcept;

// The context, with a definition in the trace; nullptr: not known. `store`: by which its members are about to meet, or
// 0.
Context* Describe(ThreadState& t, Word context, Word store) noexcept;

// createUnboundBuffer has put a buffer of `context` where `place` points. Whoever sends by a buffer has just made it,
// on the same thread; buffers of collectives are looked into by gloo alone.
void NoteBuffer(Word place, Word context) noexcept;
// 0: not made lately by this thread.
Word ContextOfBuffer(Word buffer) noexcept;

// Of a collective: the tag where the context's collectives have one each, as PyTorch's have, else counted. A second one
// of a tag is part of the first: false.
bool TakeSeq(Context& context, uint32_t tag, uint32_t* seq) noexcept;

// Id of the definition of elements of so many bytes that `function` (std::function or nullptr) reduces.
uint32_t TypeOf(ThreadState& t, uint64_t bytes, const void* function) noexcept;

}  // namespace ddbg::shim::gloo
