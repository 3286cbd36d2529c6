// Plug-ins that are loaded with RTLD_DEEPBIND: they bind to their own MPI, past every preload. What they are to bind to is their
// business, so the flag stays; only their references to functions of ours are led to the wrappers, and only where the
// wrapper goes on to the very function that they would have called.
//
// The exported dlopen (dlopen_hook.S) is a jump, so what it has loaded is looked at when the program next asks for a name or
// loads something, which it must to call its plug-in. Calls from a plug-in's constructors come before that.
#pragma once

namespace ddbg::shim {

// Any thread; one relaxed load if there is nothing to do.
void BindDeeplyLoaded() noexcept;

}  // namespace ddbg::shim
