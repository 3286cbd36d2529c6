#include "collector/node/network.h"

#include <optional>

namespace ddbg::collector {
namespace {

constexpr size_t kMostInterfaces = 16;

// One end of a pair that leads into a container, and bridges for them: they come and go with the containers.
bool IsOfContainers(std::string_view name) {
  for (std::string_view prefix : {"veth", "cali", "lxc", "docker", "br-", "cni", "virbr", "tap"})
    if (name.starts_with(prefix)) return true;
  return false;
}

}  // namespace

InterfaceValues ParseNetDev(std::string_view text) {
  InterfaceValues all;
  NextLine(&text);
  NextLine(&text);  // two lines of headings
  while (!text.empty() && all.size() < kMostInterfaces) {
    bool whole = text.find('\n') != text.npos;
    std::string_view line = NextLine(&text);
    size_t colon = line.rfind(':');  // a name may hold one: eth0:1
    if (colon == line.npos || !whole) continue;
    std::string_view name_part = line.substr(0, colon);
    std::string_view name = NextWord(&name_part);
    line.remove_prefix(colon + 1);
    int64_t fields[16];  // received bytes packets errs drop fifo frame compressed multicast, sent the same
    bool complete = true;
    for (int64_t& field : fields) {
      std::optional<int64_t> number = ToNumber(NextWord(&line));
      complete = complete && number.has_value();
      field = number.value_or(0);
    }
    if (!complete || name == "lo" || IsOfContainers(name)) continue;
    all[std::string(name)] = {{Metric::kReceivedKb, fields[0] / 1024},
                              {Metric::kSentKb, fields[8] / 1024},
                              {Metric::kNetErrors, fields[2] + fields[10]},
                              {Metric::kNetDrops, fields[3] + fields[11]}};
  }
  return all;
}

InterfaceValues ReadNetwork() {
  std::optional<std::string> text = ReadText(AT_FDCWD, "/proc/self/net/dev");
  InterfaceValues all = text ? ParseNetDev(*text) : InterfaceValues();
  for (auto& [name, values] : all) {
    std::string directory = "/sys/class/net/" + name + "/";
    std::optional<std::string> state = ReadText(AT_FDCWD, (directory + "operstate").c_str());
    // "unknown" of drivers that do not tell: as good as up.
    if (state) values.push_back({Metric::kLinkUp, state->starts_with("up") || state->starts_with("unknown")});
    std::optional<int64_t> changes = ReadNumber(AT_FDCWD, (directory + "carrier_changes").c_str());
    if (changes) values.push_back({Metric::kCarrierChanges, *changes});
  }
  return all;
}

}  // namespace ddbg::collector
