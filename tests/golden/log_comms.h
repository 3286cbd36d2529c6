// The communicators of a golden log: each rank knows them by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/model.h"

namespace ddbg::analyzer {

class LogComms {
 public:
  // Makes one on one of its ranks; it gets the name. `parent`: a name; "" if it has none. The uid follows from the name
  // and from how often the rank has made one of that name, so that members that do alike get the same.
  Communicator& Add(int rank, Process* process, const std::string& name, const std::vector<int32_t>& members,
                    const std::string& kind, const std::string& parent = "");

  // The rank's latest of that name; 0 if it has none.
  uint32_t Id(int rank, const std::string& name) const;

 private:
  std::map<std::pair<int, std::string>, uint32_t> ids_;
  std::map<std::pair<int, std::string>, int> made_;
};

// As one of NCCL is traced: without members, but with a device.
void MakeNccl(const Process& process, Communicator* comm);

}  // namespace ddbg::analyzer
