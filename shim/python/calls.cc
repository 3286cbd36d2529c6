// Marks as functions of Python: what ddbg_bridge/marks.py makes PyCFunction objects of. A call through ctypes would
// cost several times what the mark does. Of Python only functions of its stable interface are used, found in the
// process, so that this compiles without Python and serves all versions. All are called with the GIL held and set no
// exception.
#include <dlfcn.h>

#include <bit>
#include <cstdint>

#include "shim/marks/mark.h"
#include "shim/recorder/launcher.h"

#define DDBG_EXPORT extern "C" [[gnu::visibility("default")]]

namespace {

using ddbg::MarkCall;
using ddbg::Record;
using ddbg::shim::ThreadState;
using ddbg::shim::marks::Mark;
using ddbg::shim::marks::Named;

using PyObject = void;

char* (*g_bytes_as_string)(PyObject*);
double (*g_float_as_double)(PyObject*);
long long (*g_long_as_long_long)(PyObject*);
void (*g_increase)(PyObject*);
void (*g_clear_error)();
PyObject* g_none;

template <class Function>
bool Find(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return *function != nullptr;
}

PyObject* None() {
  g_increase(g_none);
  return g_none;
}

}  // namespace

// 1: the functions below can be used. Python's own may be out of sight where it is loaded into another program.
DDBG_EXPORT int ddbg_python_prepare() {
  return Find("PyBytes_AsString", &g_bytes_as_string) && Find("PyFloat_AsDouble", &g_float_as_double) &&
         Find("PyLong_AsLongLong", &g_long_as_long_long) && Find("Py_IncRef", &g_increase) &&
         Find("PyErr_Clear", &g_clear_error) && Find("_Py_NoneStruct", &g_none);
}

// Rank and number of ranks that are given by argument; by ctypes.
DDBG_EXPORT void ddbg_python_rank(int rank, int world_size) { ddbg::shim::TellRank(rank, world_size); }

// METH_O; an int.
DDBG_EXPORT PyObject* ddbg_python_step(PyObject*, PyObject* number) {
  long long value = g_long_as_long_long(number);
  if (value == -1) g_clear_error();
  Mark(__builtin_frame_address(0), MarkCall::ddbg_step,
       [value](ThreadState&, Record& mark) { mark.count = static_cast<uint64_t>(value); });
  return None();
}

// METH_NOARGS; `name`, to which the function is bound, is a bytes object.
DDBG_EXPORT PyObject* ddbg_python_begin(PyObject* name, PyObject*) {
  Mark(__builtin_frame_address(0), MarkCall::ddbg_phase_begin,
       [name](ThreadState& t, Record& mark) { mark.aux = Named(t, g_bytes_as_string(name)); });
  return None();
}

DDBG_EXPORT PyObject* ddbg_python_end(PyObject* name, PyObject*) {
  Mark(__builtin_frame_address(0), MarkCall::ddbg_phase_end,
       [name](ThreadState& t, Record& mark) { mark.aux = Named(t, g_bytes_as_string(name)); });
  return None();
}

// METH_O; a float or int.
DDBG_EXPORT PyObject* ddbg_python_value(PyObject* name, PyObject* number) {
  double value = g_float_as_double(number);
  if (value == -1) g_clear_error();
  Mark(__builtin_frame_address(0), MarkCall::ddbg_value, [name, value](ThreadState& t, Record& mark) {
    mark.aux = Named(t, g_bytes_as_string(name));
    mark.count = std::bit_cast<uint64_t>(value);
  });
  return None();
}
