// Leaving the job that started the collector. Called from main, before there is any thread or event loop.
#pragma once

namespace ddbg::collector {

// Makes descriptors 0 to 2 exist, lets signals through with their default actions (a sender thread starts us with all
// blocked) but for SIGTERM and SIGINT, which wait until Server::Run can take them, ignores SIGPIPE, takes LD_PRELOAD
// out of the environment, sets the umask to 022. With `close_rest` it also closes every descriptor above 2.
void ShedInheritance(bool close_rest);

// Becomes a daemon: returns in a process that leads no session, belongs to no terminal or process group of the caller's
// and has /dev/null as standard streams and / as working directory. The process that called ends with status 0, so who
// waited for it knows that what was set up before (the listening socket) stands. False with errno if fork fails.
bool Daemonize();

}  // namespace ddbg::collector
