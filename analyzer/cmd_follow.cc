// ddbg diagnose --follow: waits with a running job until there is something to say.
#include "analyzer/cmd_follow.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "analyzer/command.h"
#include "analyzer/load/follow.h"
#include "analyzer/render/diagnosis.h"
#include "analyzer/verdict/attempts.h"
#include "analyzer/verdict/diagnose.h"
#include "analyzer/verdict/follow_judge.h"
#include "proto/clock_ticks.h"

namespace ddbg::analyzer {
namespace {

constexpr double kPauseSeconds = 0.1;
constexpr double kShareOfLooking = 20.0;  // looking for what is new takes a twentieth of our time at most
constexpr double kRoutineSeconds = 10.0;  // between diagnoses without a cause
constexpr double kSuspectSeconds = 1.5;   // a call that is open for longer is a cause
constexpr int64_t kAbandonedNs = 5'000'000'000;
constexpr double kShareOfTime = 10.0;  // diagnoses without an alarm take a tenth of our time at most

volatile sig_atomic_t g_interrupted = 0;

void Interrupt(int) { g_interrupted = 1; }

double NowSeconds() { return static_cast<double>(MonotonicNs()) / 1e9; }

class Following {
 public:
  explicit Following(const FollowCommand& command)
      : command_(command),
        follower_(command.names, {command.last_ns, FollowOptions().most_calls, 0}),
        judge_(command.still_s) {
    LoadedPlaybooks loaded = LoadPlaybooks(command.playbooks);
    for (const std::string& trouble : loaded.troubles) Fail(trouble, kExitOk);
    playbooks_ = std::move(loaded.playbooks);
  }

  int Wait() {
    struct sigaction action = {};
    action.sa_handler = Interrupt;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    for (;; Rest()) {
      double begin = NowSeconds();
      Result<void> read = follower_.Poll();
      polled_s_ = NowSeconds() - begin;
      // A run that is not there yet is waited for; what is no run at all is not.
      if (!read && g_interrupted) return Fail(read.error().text, kExitUnknown);
      if (!read) {
        if (!std::exchange(said_, true)) fprintf(stderr, "ddbg: waiting: %s\n", read.error().text.c_str());
        continue;
      }
      bool over = follower_.AllEnded() && Settled(), stop = g_interrupted != 0;
      if (!over && !stop && !IsDue()) continue;
      if (Look(over || stop)) return CodeOf(verdict_);
    }
  }

 private:
  void Rest() const {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::max(kPauseSeconds, polled_s_ * kShareOfLooking)));
  }

  // The others of a job appear within moments of each other, and so do their ends.
  bool Settled() {
    double now = NowSeconds();
    if (follower_.processes() != ended_processes_) ended_processes_ = follower_.processes(), ended_s_ = now;
    return now - ended_s_ >= 0.5;
  }

  bool IsDue() {
    double now = NowSeconds();
    if (follower_.TakeAlarm()) return true;
    if (judge_.SecondsLeft(now) <= 0) return true;
    double rest = std::max(0.3, took_s_ * kShareOfTime);
    bool suspect = static_cast<double>(follower_.LongestOpenNs()) / 1e9 >= kSuspectSeconds;
    return now - looked_s_ >= std::max(rest, suspect ? 1.0 : kRoutineSeconds);
  }

  // True if that was the last word.
  bool Look(bool last) {
    double begin = NowSeconds();
    Run run = follower_.Take();
    Diagnosis diagnosis = DiagnoseRun(run);
    looked_s_ = NowSeconds();
    // Whose collector has gone too: nobody writes how it ended.
    bool abandoned = !run.live && follower_.QuietNs() >= kAbandonedNs;
    last = last || abandoned;
    took_s_ = looked_s_ - begin;
    bool tell = judge_.MayTell(diagnosis, last, looked_s_);
    verdict_ = diagnosis.verdict;
    if (tell || command_.json) Tell(run, diagnosis, tell);
    follower_.GiveBack(std::move(run));
    return tell;
  }

  void Tell(const Run& run, const Diagnosis& diagnosis, bool final) {
    std::string state = std::to_string(static_cast<int>(diagnosis.verdict)) +
                        (diagnosis.findings.empty() ? "" : diagnosis.findings[0].kind + diagnosis.summary);
    // What may still change back is told of no fault.
    if (!final && (diagnosis.verdict == Diagnosis::kFault || state == told_)) return;
    told_ = state;
    Output out(stdout);
    std::vector<EarlierAttempt> earlier;
    if (final) earlier = EarlierAttempts(run.dir);
    if (command_.json)
      PrintDiagnosisJson(run, diagnosis, playbooks_, earlier, out, JsonLayout::kOneLine);
    else
      PrintDiagnosisText(run, diagnosis, playbooks_, earlier, out);
  }

  const FollowCommand& command_;
  RunFollower follower_;
  FollowJudge judge_;
  Playbooks playbooks_;
  Diagnosis::Verdict verdict_ = Diagnosis::kUnknown;
  std::string told_;
  bool said_ = false;
  double polled_s_ = 0, looked_s_ = 0, took_s_ = 0, ended_s_ = 0;
  size_t ended_processes_ = 0;
};

}  // namespace

int RunFollow(const FollowCommand& command) { return Following(command).Wait(); }

}  // namespace ddbg::analyzer
