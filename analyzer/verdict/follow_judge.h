// When what a diagnosis of a running job says may be told: a mismatch or a death at once, once the files of all have
// caught up; what would look the same if somebody were only slow, after it has stood still for long enough.
#pragma once

#include <string>

#include "analyzer/model/finding.h"

namespace ddbg::analyzer {

class FollowJudge {
 public:
  // Seconds that a wait, a cycle or a stall must stand as it is.
  explicit FollowJudge(double still_s) : still_s_(still_s) {}

  // `now_s` is of any steady clock. `over`: all processes have ended, nothing can change any more.
  bool MayTell(const Diagnosis& diagnosis, bool over, double now_s);

  // How long until the fault that was seen last may be told, if it stands; a large number if there is none.
  double SecondsLeft(double now_s) const;

 private:
  double still_s_;
  std::string fault_;  // what the last diagnosis said; "" if no fault
  double since_s_ = 0, needed_s_ = 0;
};

}  // namespace ddbg::analyzer
