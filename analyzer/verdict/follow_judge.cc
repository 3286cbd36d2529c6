#include "analyzer/verdict/follow_judge.h"

#include <fmt/format.h>

namespace ddbg::analyzer {
namespace {

// Files are written twice a second, each at its own time: then who is the majority is known.
constexpr double kCatchUpSeconds = 0.5;
constexpr double kNever = 1e9;

bool IsProven(Proof proof) { return proof == Proof::kOwnEnd || proof == Proof::kMismatch || proof == Proof::kState; }

}  // namespace

bool FollowJudge::MayTell(const Diagnosis& diagnosis, bool over, double now_s) {
  if (over) return true;
  if (diagnosis.verdict != Diagnosis::kFault) {
    fault_.clear();
    return false;
  }
  // Of a proven fault the place may still move, by what the others' files say; of a wait it is what stands still.
  const Finding& first = diagnosis.findings[0];
  std::string fault = IsProven(first.proof) ? "proven"
                                            : fmt::format("{} {} {:x} {} {}", first.kind, first.first.rank,
                                                          first.first.comm_uid, first.first.seq, first.first.call_name);
  if (fault != fault_) {
    fault_ = fault;
    since_s_ = now_s;
    needed_s_ = IsProven(first.proof) ? kCatchUpSeconds : still_s_;
  }
  return now_s - since_s_ >= needed_s_;
}

double FollowJudge::SecondsLeft(double now_s) const { return fault_.empty() ? kNever : since_s_ + needed_s_ - now_s; }

}  // namespace ddbg::analyzer
