#include "shim/recorder/python/frames.h"

#include "shim/recorder/python/line_table.h"

namespace ddbg::shim {
namespace {

// The same in all versions: PyObject, PyVarObject, PyASCIIObject.
constexpr size_t kObjectType = 8, kBytesSize = 16, kBytesContent = 32, kTextLength = 16, kTextHash = 24,
                 kTextState = 32;

class Walk {
 public:
  Walk(const PythonLayout& p, ReadableMemory& memory, StackWord* words) : p_(p), memory_(memory), words_(words) {}

  int Frames(uintptr_t state, PythonFrame* frames) {
    uintptr_t frame = Word(state + p_.state_frame);
    if (p_.through_cframe) frame = Word(frame + p_.cframe_frame);
    int n = 0;
    while (good_ && frame != 0 && n < kMaxPythonFrames && count_ + kWordsPerPythonFrame <= kMaxPythonWords) {
      if (IsForeign(frame)) {
        if (n > 0) frames[n - 1].begins_evaluation = true;
      } else {
        frames[n].code = Word(frame + p_.frame_code) & ~uintptr_t{7};  // 3.14 tags references
        frames[n].line = Line(frame, frames[n].code);
        frames[n].begins_evaluation = BeginsEvaluation(frame);
        ++n;
      }
      frame = Word(frame + p_.frame_previous);
    }
    return good_ ? n : 0;
  }

  int words() const { return count_; }

 private:
  // A word that the result depends on.
  uintptr_t Word(uintptr_t address) {
    uintptr_t value = 0;
    good_ = good_ && count_ < kMaxPythonWords && memory_.Read(address, &value);
    if (good_) words_[count_++] = {address, value};
    return value;
  }

  template <typename T>
  T Peek(uintptr_t address) {
    T value = {};
    good_ = good_ && memory_.Read(address, &value);
    return value;
  }

  bool IsForeign(uintptr_t frame) {
    return p_.frame_owner && Peek<unsigned char>(frame + p_.frame_owner) >= p_.first_foreign_owner;
  }

  // Before 3.11 each frame is an evaluation of its own; since 3.12 a foreign frame follows.
  bool BeginsEvaluation(uintptr_t frame) {
    if (p_.minor < 11) return true;
    return p_.frame_is_entry != 0 && Peek<unsigned char>(frame + p_.frame_is_entry) != 0;
  }

  // A code object may be freed and another one made in its place: its words tell the two apart.
  int Line(uintptr_t frame, uintptr_t code) {
    uintptr_t position = Word(frame + p_.frame_position);
    good_ = good_ && Peek<uintptr_t>(code + kObjectType) == p_.code_type;
    if (p_.code_version) Word(code + (p_.code_version & ~7u));
    int first_line = Peek<int>(code + p_.code_first_line);
    uintptr_t table = Peek<uintptr_t>(code + p_.code_lines);
    good_ = good_ && Peek<uintptr_t>(table + kObjectType) == p_.bytes_type;
    uintptr_t size = Peek<uintptr_t>(table + kBytesSize);
    good_ = good_ && memory_.Has(table + kBytesContent, size + 1);
    if (!good_) return 0;
    if (!p_.code_version) WordsOfCode(code, table);
    const unsigned char* content = reinterpret_cast<const unsigned char*>(table + kBytesContent);
    return PythonLine(p_.minor, content, size, first_line, Offset(code, position));
  }

  void WordsOfCode(uintptr_t code, uintptr_t table) {
    Word(code + (p_.code_first_line & ~7u));
    Word(code + p_.code_lines);
    uintptr_t name = Word(code + p_.code_name);
    Word(name + kTextHash);
    Word(table + kBytesContent);
  }

  // Bytes from the first instruction on.
  int Offset(uintptr_t code, uintptr_t position) const {
    if (p_.code_bytes) return static_cast<int>(position - (code + p_.code_bytes));
    int index = static_cast<int>(position);
    return p_.minor < 10 ? index : index * 2;
  }

  const PythonLayout& p_;
  ReadableMemory& memory_;
  StackWord* words_;
  int count_ = 0;
  bool good_ = true;
};

int PutUtf8(uint32_t c, char* to, int room) {
  if (c < 0x80) return room < 1 ? 0 : (to[0] = static_cast<char>(c), 1);
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  if (room < 1 + more) return 0;
  constexpr unsigned char kLead[] = {0, 0xc0, 0xe0, 0xf0};
  to[0] = static_cast<char>(kLead[more] | (c >> (6 * more)));
  for (int i = 1; i <= more; ++i) to[i] = static_cast<char>(0x80 | ((c >> (6 * (more - i))) & 63));
  return 1 + more;
}

}  // namespace

int WalkPython(const PythonLayout& p, const PythonPlace& place, ReadableMemory& memory, PythonFrame* frames,
               StackWord* words, int* word_count) noexcept {
  Walk walk(p, memory, words);
  int n = walk.Frames(place.state, frames);
  *word_count = n > 0 ? walk.words() : 0;
  return n;
}

int PythonText(const PythonLayout& p, ReadableMemory& memory, uintptr_t text, char* bytes, int size) noexcept {
  uintptr_t type, length;
  uint32_t state;
  if (!memory.Read(text + kObjectType, &type) || type != p.text_type) return 0;
  if (!memory.Read(text + kTextLength, &length) || !memory.Read(text + kTextState, &state)) return 0;
  uint32_t width = (state >> 2) & 7;
  bool compact = state & 32, ascii = state & 64;
  if (!compact || (width != 1 && width != 2 && width != 4)) return 0;
  uintptr_t at = text + (ascii ? p.text_ascii : p.text_wide);
  if (length > static_cast<uintptr_t>(size)) length = size;
  if (!memory.Has(at, length * width + 1)) return 0;
  int n = 0;
  for (uintptr_t i = 0; i < length; ++i, at += width) {
    uint32_t c = 0;
    memcpy(&c, reinterpret_cast<const void*>(at), width);
    int put = PutUtf8(c, bytes + n, size - n);
    if (put == 0) break;
    n += put;
  }
  return n;
}

bool ReadCodeTexts(const PythonLayout& p, ReadableMemory& memory, uintptr_t code, PythonCodeTexts* texts) noexcept {
  return memory.Read(code + p.code_name, &texts->name) && memory.Read(code + p.code_file, &texts->file) &&
         memory.Read(code + p.code_first_line, &texts->first_line);
}

}  // namespace ddbg::shim
