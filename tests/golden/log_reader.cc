#include "tests/golden/log_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/golden/log_calls.h"
#include "tests/golden/log_lines.h"
#include "tests/golden/log_text.h"

namespace ddbg::analyzer {
namespace {

constexpr int64_t kLineNs = 1'000'000;

// exit|signal|gone CODE [alone|together]
bool End(LogJob* job, const std::string& text) {
  size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  std::vector<std::string> words = Split(text.substr(colon + 1), ' ');
  bool alone = words.size() == 3 && words[2] == "alone", together = words.size() == 3 && words[2] == "together";
  if (words.size() != 2 && !alone && !together) return false;
  job->now_ns += kLineNs;
  bool first = true;
  for (int rank : job->Who(text.substr(0, colon))) {
    Process& process = job->process(rank);
    ProcessEnd& end = process.end;
    end.how = words[0] == "exit" ? ProcessEnd::kExited : words[0] == "gone" ? ProcessEnd::kGone : ProcessEnd::kSignaled;
    end.code = std::stoi(words[1]);
    end.t_ns = job->now_ns + rank * 1000;
    process.last_seen_ns = std::max(process.last_seen_ns, end.t_ns);
    if (first && (alone || together)) {
      end.peers = static_cast<uint32_t>(job->run.processes.size() - 1);
      end.peers_running = alone ? end.peers : 0;
    }
    first = false;
  }
  return true;
}

// VERDICT KEY=VALUE…
bool Expect(GoldenLog* log, const std::string& text) {
  std::vector<std::string> words = Split(text, ' ');
  log->verdict = words[0];
  for (size_t i = 1; i < words.size(); ++i) {
    size_t equals = words[i].find('=');
    if (equals == std::string::npos) return false;
    log->expected[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  return true;
}

class Reader {
 public:
  explicit Reader(size_t most_steps) : most_steps_(most_steps) {
    for (std::vector<LogLine> lines :
         {StartLines(&job_), DeviceLines(&job_), TelemetryLines(&job_), TimeLines(&job_, &clocks_)})
      std::move(lines.begin(), lines.end(), std::back_inserter(kinds_));
    kinds_.push_back({"end ", [this](const std::string& rest) { return End(&job_, rest); }});
    kinds_.push_back({"expect ", [this](const std::string& rest) { return Expect(&log_, rest); }});
  }
  Reader(const Reader&) = delete;  // its lines act on it

  GoldenLog Read(const std::string& text) {
    std::vector<std::string> lines = Split(text, '\n');
    Lines(lines, 0, lines.size());
    log_.run = job_.Finish();
    return std::move(log_);
  }

 private:
  // Lines [from, to); braces of `repeat` nest.
  void Lines(const std::vector<std::string>& lines, size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      std::string line = Trimmed(lines[i]);
      if (line.empty() || line[0] == '#') continue;
      if (line.starts_with("repeat ")) {
        size_t end = EndOfRepeat(lines, i, to);
        for (int n = 0; n < std::stoi(line.substr(7)); ++n) {
          job_.turns.push_back(n);
          Lines(lines, i + 1, end);
          job_.turns.pop_back();
        }
        i = end;
      } else if (bool counts = !line.starts_with("expect "); counts && log_.steps == most_steps_) {
        return;
      } else if (log_.steps += counts; !Line(line) && log_.error.empty()) {
        log_.error = line;
      }
    }
  }

  // The line of its closing brace, or `to`.
  static size_t EndOfRepeat(const std::vector<std::string>& lines, size_t begin, size_t to) {
    size_t end = begin + 1;
    for (int depth = 1; end < to; ++end) {
      std::string inner = Trimmed(lines[end]);
      if (inner.starts_with("repeat ")) ++depth;
      if (inner == "}" && --depth == 0) break;
    }
    return end;
  }

  bool Line(const std::string& line) {
    for (const LogLine& kind : kinds_)
      if (line.starts_with(kind.begins)) return kind.carry_out(line.substr(kind.begins.size()));
    return CallLine(line);
  }

  // WHO: CALL ARGUMENTS
  bool CallLine(const std::string& line) {
    size_t colon = line.find(':');
    if (colon == std::string::npos) return false;
    job_.now_ns += kLineNs;
    std::vector<int> who = job_.Who(line.substr(0, colon));
    std::vector<std::string> words = Split(line.substr(colon + 1), ' ');
    std::vector<size_t> made;
    for (int rank : who) {
      if (!calls_.Add(rank, words)) return false;
      made.push_back(job_.process(rank).calls.size() - 1);
    }
    if (clocks_.started()) clocks_.Meet(who, made);
    return true;
  }

  const size_t most_steps_;
  GoldenLog log_;
  LogJob job_;
  LogCalls calls_{&job_};
  LogClocks clocks_{&job_};
  std::vector<LogLine> kinds_;
};

}  // namespace

GoldenLog ReadGoldenLog(const std::string& text, size_t most_steps) { return Reader(most_steps).Read(text); }

}  // namespace ddbg::analyzer
