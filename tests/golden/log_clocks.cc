#include "tests/golden/log_clocks.h"

#include <algorithm>
#include <cmath>

#include "analyzer/model/call_fields.h"
#include "tests/golden/log_lines.h"
#include "tests/golden/log_text.h"

namespace ddbg::analyzer {

void LogClocks::Set(int64_t t_ns) {
  clocks_.assign(job_.run.processes.size(), t_ns);
  job_.now_ns = t_ns;
}

int64_t& LogClocks::Of(int rank) {
  clocks_.resize(job_.run.processes.size());
  return clocks_[static_cast<size_t>(rank)];
}

// Of a time in the scheduler's way: mostly little, now and then a lot.
int64_t LogClocks::Noise() {
  if (noise_ns_ == 0) return 0;
  double u = std::uniform_real_distribution<>(0, 1)(random_);
  return static_cast<int64_t>(-std::log(1 - u * 0.999) * static_cast<double>(noise_ns_));
}

void LogClocks::Delay(int rank, const std::string& text) {
  std::vector<std::string> words = Split(text, ' ');
  int64_t ns = Nanoseconds(words[0]);
  int turn = job_.turns.empty() ? 0 : job_.turns.back(), from = 0;
  for (const std::string& word : words)
    if (word.starts_with("from=")) from = std::stoi(word.substr(5));
  if (turn < from) return;
  for (const std::string& word : words) {
    if (word == "random") ns = std::uniform_int_distribution<int64_t>(0, ns)(random_);
    if (word == "grows") ns *= turn - from;
    if (word.starts_with("every=") && turn % std::stoi(word.substr(6)) != std::stoi(word.substr(6)) - 1) return;
    if (word.starts_with("one-in=") && random_() % std::stoul(word.substr(7)) != 0) return;
  }
  Of(rank) += ns;
}

void LogClocks::Meet(const std::vector<int>& who, const std::vector<size_t>& made) {
  constexpr int64_t kTakesNs = 50'000;
  int64_t last = 0;
  for (int rank : who) last = std::max(last, Of(rank));
  for (size_t i = 0; i < who.size(); ++i) {
    Process& process = job_.process(who[i]);
    Call& call = process.calls[made[i]];
    int64_t& clock = Of(who[i]);
    call.start_ns = clock;
    bool mpi = call.known() && call.info().api == Api::Mpi, takes = call.duration_ns != 100'000;
    if (call.open()) continue;
    bool meets = mpi && IsCollective(call.info().kind) && !call.info().has_request;
    bool awaits_device = call.known() && call.info().kind == CallKind::StreamSync && !takes;
    if (meets || awaits_device) clock = last;
    if (call.known() && call.info().kind == CallKind::Send) sent_[{who[i], call.peer}].push_back(clock);
    if (call.known() && call.info().kind == CallKind::Recv) {
      std::deque<int64_t>& sent = sent_[{call.peer, who[i]}];
      if (!sent.empty()) clock = std::max(clock, sent.front()), sent.pop_front();
    }
    clock += takes ? call.duration_ns : kTakesNs;
    call.duration_ns = clock - call.start_ns;
    process.last_seen_ns = clock;
    job_.now_ns = std::max(job_.now_ns, clock);
  }
}

std::vector<LogLine> TimeLines(LogJob* job, LogClocks* clocks) {
  auto work = [=](int rank, const std::string& text) { clocks->Work(rank, Nanoseconds(text)); };
  auto delay = [=](int rank, const std::string& text) { clocks->Delay(rank, text); };
  return {
      {"at ", [=](const auto& rest) { return clocks->Set(static_cast<int64_t>(std::stod(rest) * 1e9)), true; }},
      {"timed", [=](const auto& rest) { return clocks->Start(), rest.empty(); }},
      {"seed ", [=](const auto& rest) { return clocks->Seed(static_cast<uint32_t>(std::stoul(rest))), true; }},
      {"noise ", [=](const auto& rest) { return clocks->SetNoise(Nanoseconds(rest)), true; }},
      {"work ", [=](const auto& rest) { return job->ForRanks(rest, work); }},
      {"delay ", [=](const auto& rest) { return job->ForRanks(rest, delay); }},
  };
}

}  // namespace ddbg::analyzer
