// Can LD_PRELOAD reach a program? Looks at the file only.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/environment.h"

namespace ddbg::analyzer {

// The file that a shell would run for `name` with this PATH; "" if there is none. With a slash: `name` itself if it is
// an executable file.
std::string FindProgram(const std::string& name, const Environment& environment);

// Why the program at `path` cannot be traced, as a sentence with a way out: statically linked or with an MPI inside, for another machine or
// 32-bit, setuid. "" if nothing speaks against it; a script does not.
std::string WhyNotTraceable(const std::string& path);

// The same for a whole command line: of its program and, if that is a launcher (mpirun, srun, env, …), of the first
// executable file that is named with a path among its arguments.
std::string WhyNotTraceable(const std::vector<std::string>& command, const Environment& environment);

}  // namespace ddbg::analyzer
