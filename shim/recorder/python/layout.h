// Where CPython 3.8 to 3.14 keeps what a thread is executing. Offsets of 3.13 and later come from the interpreter's own
// _Py_DebugOffsets; those before from its headers (pystate.h, frameobject.h, pycore_frame.h, code.h, unicodeobject.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddbg::shim {

// Offsets are bytes.
struct PythonLayout {
  const char* why_not;  // the rest is not known; nullptr: it is
  char version[8];      // "3.11"
  int minor;            // 3.minor

  void* (*this_thread_state)();  // PyGILState_GetThisThreadState: a thread-local look-up, needs no GIL
  int (*is_finalizing)();        // then thread states of other threads are being freed
  uintptr_t code_type, text_type, bytes_type;

  uint16_t state_frame;   // in PyThreadState: the innermost frame, or the cframe that leads to it
  bool through_cframe;    // 3.11 and 3.12
  uint16_t cframe_frame;  // in _PyCFrame
  uint16_t frame_code;    // from here on in a frame
  uint16_t frame_previous;
  uint16_t frame_position;      // f_lasti (int), or a pointer to the instruction
  uint16_t frame_owner;         // a byte; 0: there is none
  uint8_t first_foreign_owner;  // frames of this owner and above stand for a call from C and have no code of the user
  uint16_t frame_is_entry;      // 3.11: a byte, 1 in the first frame of an evaluation; 0: there is none
  uint16_t code_first_line;     // from here on in a code object
  uint16_t code_file;
  uint16_t code_name;
  uint16_t code_lines;    // co_lnotab or co_linetable
  uint16_t code_bytes;    // first instruction; 0: frame_position is an index
  uint16_t code_version;  // a number that no two code objects share (3.12 and later); 0: there is none
  uint16_t text_ascii;    // characters of an ASCII string
  uint16_t text_wide;     // and of another
};

// The interpreter that this process has loaded, which is then kept loaded; nullptr: none. Found once, always the same.
// Cold: asks the dynamic linker. One thread at a time.
const PythonLayout* FindPython() noexcept;

}  // namespace ddbg::shim
