// The network interfaces of the node, but the loopback: traffic, errors, and whether the link is up.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collector/node/proc_text.h"

namespace ddbg::collector {

using InterfaceValues = std::map<std::string, std::vector<MetricValue>>;  // by name

// /proc/net/dev: traffic, errors and drops of each.
InterfaceValues ParseNetDev(std::string_view text);

// The same with the state of the links. At most 16 interfaces: a node of containers may have hundreds.
InterfaceValues ReadNetwork();

}  // namespace ddbg::collector
