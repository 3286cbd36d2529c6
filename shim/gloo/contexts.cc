#include "shim/gloo/contexts.h"

#include <dlfcn.h>
#include <string.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "shim/gloo/abi.h"
#include "shim/interpose/mix.h"
#include "shim/recorder/ids.h"

namespace ddbg::shim::gloo {
namespace {

// The store of PyTorch's that this thread named last: it is handed to gloo in a shape of its own.
constinit thread_local uint64_t g_last_store [[gnu::tls_model("initial-exec")]] = 0;

struct MadeBuffer {
  Word buffer, context;
};
constexpr uint32_t kMadeBuffers = 16;  // a batch of sends and receives is made before the first is posted
constinit thread_local MadeBuffer g_made[kMadeBuffers] [[gnu::tls_model("initial-exec")]] = {};
constinit thread_local uint32_t g_made_count [[gnu::tls_model("initial-exec")]] = 0;

// Of this key, so far.
uint32_t UseOf(uint64_t key) {
  uint32_t* uses = g_tables->uses.Find(key | 1);
  if (!uses) uses = g_tables->uses.Insert(key | 1, 0);
  return uses ? std::atomic_ref(*uses).fetch_add(1, std::memory_order_relaxed) : 0;
}

void Append(StoreName* name, const HostString& prefix) {
  for (uint64_t i = 0; i < prefix.bytes; ++i) name->hash = Mix(name->hash, static_cast<uint8_t>(prefix.data[i]));
  name->hash = Mix(name->hash, prefix.bytes);
  size_t used = strnlen(name->text, sizeof(name->text) - 1);
  if (used > 0 && name->text[used - 1] != '/' && used + 1 < sizeof(name->text)) name->text[used++] = '/';
  size_t fits = std::min<size_t>(prefix.bytes, sizeof(name->text) - 1 - used);
  memcpy(name->text + used, prefix.data, fits);
  name->text[used + fits] = '\0';
}

const StoreName* NameOf(Word store) {
  if (!store) return nullptr;
  if (const StoreName* name = g_tables->stores.Find(static_cast<uint64_t>(store))) return name;
  return g_tables->stores.Find(Read<uint64_t>(reinterpret_cast<void*>(store), 0));  // a std::shared_ptr to it
}

void Define(ThreadState& t, const Context& context, const StoreName* name, uint32_t use) {
  std::string bytes;
  protozero::pbf_writer definition(bytes);
  {
    protozero::pbf_writer comm(definition, 2);
    comm.add_uint32(1, context.id);
    comm.add_fixed64(2, context.uid);
    comm.add_string(5, name ? "gloo" : "gloo_unnamed");
    comm.add_uint32(6, static_cast<uint32_t>(context.size));
    comm.add_sint32(7, context.rank);
    if (name) comm.add_string(12, name->text);
    comm.add_string(14, "gloo");
    comm.add_uint32(18, use);
  }
  PushDefinition(t, bytes);
}

// Where a function lies, equal in all processes that run the same files.
std::string PlaceOf(const void* code) {
  Dl_info info;
  if (!code || !dladdr(code, &info) || !info.dli_fname) return "";
  const char* slash = strrchr(info.dli_fname, '/');
  char offset[24];
  snprintf(offset, sizeof(offset), "+0x%zx",
           static_cast<size_t>(static_cast<const char*>(code) - static_cast<const char*>(info.dli_fbase)));
  return std::string(slash ? slash + 1 : info.dli_fname) + offset;
}

// A plain function is kept as its address; of other callables the invoker tells their type.
const void* CodeOf(const void* function) {
  if (!function || !Read<const void*>(function, kFunctionManager)) return nullptr;
  const void* held = Read<const void*>(function, 0);
  Dl_info info;
  return held && dladdr(held, &info) && info.dli_fname ? held : Read<const void*>(function, kFunctionInvoker);
}

}  // namespace

void NoteContext(Word address, int32_t rank, int32_t size) noexcept {
  if (!address || !NeedTables()) return;
  Context context = {};
  context.rank = rank;
  context.size = size;
  g_tables->contexts.Remove(static_cast<uint64_t>(address));
  g_tables->contexts.Insert(static_cast<uint64_t>(address), context);
}

void NoteStore(Word store, const void* prefix, Word below, bool is_torch) noexcept {
  if (!store || !prefix || !NeedTables()) return;
  StoreName name = {};
  const StoreName* lower = NameOf(below);
  if (!lower && !is_torch && g_last_store) lower = g_tables->stores.Find(g_last_store);
  if (lower) name = *lower;
  Append(&name, Read<HostString>(prefix, 0));
  g_tables->stores.Remove(static_cast<uint64_t>(store));
  g_tables->stores.Insert(static_cast<uint64_t>(store), name);
  if (is_torch) g_last_store = static_cast<uint64_t>(store);
}

Context* Describe(ThreadState& t, Word address, Word store) noexcept {
  Context* context = address && g_tables ? g_tables->contexts.Find(static_cast<uint64_t>(address)) : nullptr;
  if (!context || context->id) return context;
  const StoreName* name = store ? NameOf(store) : nullptr;
  uint64_t base = name ? name->hash : Mix(0x676c6f6f, static_cast<uint32_t>(context->size));
  uint32_t use = UseOf(base);
  context->uid = Mix(base, use);
  context->id = NextId(IdKind::kCommunicator);
  Define(t, *context, name, use);
  return context;
}

void NoteBuffer(Word place, Word context) noexcept {
  if (place) g_made[g_made_count++ % kMadeBuffers] = {Read<Word>(reinterpret_cast<void*>(place), 0), context};
}

Word ContextOfBuffer(Word buffer) noexcept {
  for (uint32_t back = 1; back <= kMadeBuffers; ++back) {
    const MadeBuffer& made = g_made[(g_made_count - back) % kMadeBuffers];
    if (made.buffer == buffer) return made.context;
  }
  return 0;
}

bool TakeSeq(Context& context, uint32_t tag, uint32_t* seq) noexcept {
  if (!context.by_tag) {
    *seq = std::atomic_ref(context.next_seq).fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  *seq = tag;
  uint32_t ahead = tag - context.newest_tag;
  if (static_cast<int32_t>(ahead) > 0) {
    context.tags = ahead < 64 ? context.tags << ahead : 0;
    context.newest_tag = tag;
  }
  uint32_t back = context.newest_tag - tag;
  if (back >= 64) return true;
  bool seen = context.tags >> back & 1;
  context.tags |= uint64_t{1} << back;
  return !seen;
}

uint32_t TypeOf(ThreadState& t, uint64_t bytes, const void* function) noexcept {
  if (bytes == 0) return 0;
  const void* held = function ? Read<const void*>(function, 0) : nullptr;
  uint64_t key = Mix(bytes, reinterpret_cast<uint64_t>(held)) | 1;
  if (const uint32_t* id = g_tables->types.Find(key)) return *id;
  uint32_t id = NextId(IdKind::kDatatype);
  std::string place = PlaceOf(CodeOf(function));
  std::string name = std::to_string(bytes) + "-byte";
  if (!place.empty()) name += " by " + place;
  std::string text;
  protozero::pbf_writer definition(text);
  {
    protozero::pbf_writer type(definition, 3);
    type.add_uint32(1, id);
    type.add_string(2, name);
    type.add_uint64(3, bytes);
    type.add_string(4, name);
    type.add_uint64(5, 1);
  }
  if (!PushDefinition(t, text)) return 0;
  g_tables->types.Insert(key, id);
  return id;
}

}  // namespace ddbg::shim::gloo
