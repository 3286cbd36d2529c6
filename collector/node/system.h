// What the whole node does: CPU time, load, pressure, memory. Missing files (an old kernel, a container) give nothing.
#pragma once

#include <string_view>
#include <vector>

#include "collector/node/proc_text.h"

namespace ddbg::collector {

// /proc/stat: the sums over all CPUs, their number, tasks that wait for a disk.
void ParseNodeStat(std::string_view text, std::vector<MetricValue>* values);

// /proc/loadavg, /proc/meminfo, /proc/vmstat.
void ParseLoad(std::string_view text, std::vector<MetricValue>* values);
void ParseMemory(std::string_view text, std::vector<MetricValue>* values);
void ParseVmstat(std::string_view text, std::vector<MetricValue>* values);

// /proc/pressure/*: the total of the line "some" and that of "full", in us.
void ParsePressure(std::string_view text, Metric some, const Metric* full, std::vector<MetricValue>* values);

std::vector<MetricValue> ReadSystem();

}  // namespace ddbg::collector
