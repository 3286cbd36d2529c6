// The last word on order: no event lies before one that it cannot have preceded.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/align/causality.h"
#include "analyzer/align/host_axis.h"

namespace ddbg::analyzer {

// Moves what comes too early to just behind its cause, by as much as the clocks' errors allow, and what follows on that
// host with it, until that has faded (a thousandth of the time). Returns how many bounds are still not kept.
size_t KeepCausalOrder(const Causality& causality, std::vector<HostAxis>* axes);

// How many events lie before one that they cannot have preceded.
size_t CountContradictions(const Causality& causality, const std::vector<HostAxis>& axes);

}  // namespace ddbg::analyzer
