#include "analyzer/model/losses.h"

#include "proto/ring_layout.h"

namespace ddbg::analyzer {
namespace {

constexpr std::string_view kLossNames[] = {
#define DDBG_LOSS(name, text) #name,
#include "proto/loss.def"
#undef DDBG_LOSS
};

constexpr std::string_view kLossTexts[] = {
#define DDBG_LOSS(name, text) text,
#include "proto/loss.def"
#undef DDBG_LOSS
};

}  // namespace

bool LacksCalls(const Process& process) {
  uint64_t stacks = process.lost.size() > kLossStackTableFull ? process.lost[kLossStackTableFull] : 0;
  return process.lost_total() > stacks || !process.damage.empty();
}

std::string_view LossText(size_t cause) { return cause < kLossCauses ? kLossTexts[cause] : "unknown"; }

std::string LossName(size_t cause) {
  std::string name;
  for (char c : cause < kLossCauses ? kLossNames[cause] : std::string_view("Unknown")) {
    bool upper = c >= 'A' && c <= 'Z';
    if (upper && !name.empty()) name += '_';
    name += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

}  // namespace ddbg::analyzer
