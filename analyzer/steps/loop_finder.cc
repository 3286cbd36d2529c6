#include "analyzer/steps/loop_finder.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace ddbg::analyzer {
namespace {

constexpr size_t kFewestTurns = 3;        // two may be chance
constexpr size_t kMostCandidates = 48;    // levels of nesting are few
constexpr size_t kMostContents = 2048;    // different turns; with more it is no loop
constexpr uint64_t kScalarElements = 16;  // a loss, a norm, a flag
constexpr int64_t kNoWorkNs = 200'000;    // between calls that follow each other

uint64_t Mix(uint64_t word) {
  word = (word ^ (word >> 32)) * 0xd6e8feb86659fd93ull;
  word = (word ^ (word >> 32)) * 0xd6e8feb86659fd93ull;
  return word ^ (word >> 32);
}

// Dense numbers for what occurs.
class Numbering {
 public:
  uint32_t Of(uint64_t key) {
    auto [at, fresh] = numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size()));
    return at->second;
  }
  size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<uint64_t, uint32_t> numbers_;
};

// The calls between two occurrences of a delimiter, as how many of each family.
using Content = std::map<uint32_t, uint32_t>;

struct Level {
  uint32_t token = 0;
  std::vector<size_t> at;      // occurrences of the delimiter
  std::vector<uint64_t> hash;  // of the content after each but the last
  uint64_t ordinary_hash = 0;
  size_t ordinary = 0;         // turns that have it
  Content content;             // the ordinary one
  std::vector<size_t> larger;  // turns with all of it and more
  Content surplus;             // what these have more, all together
  int64_t span_ns = 0;
};

class Finder {
 public:
  Finder(const std::vector<LoopCall>& calls, bool cut_off) : calls_(calls), cut_off_(cut_off) {}

  std::optional<Loop> Find() {
    for (bool by_size : {true, false}) {
      Tokenize(by_size);
      if (std::optional<Level> level = Innermost()) return Turns(Outward(*std::move(level)));
    }
    return std::nullopt;
  }

 private:
  // A family's calls are told apart by size where its sizes recur; where they change all the time they say nothing.
  void Tokenize(bool by_size) {
    Numbering families, tokens;
    family_.clear();
    token_.clear();
    std::vector<uint64_t> sized(calls_.size());
    std::unordered_map<uint64_t, size_t> times;
    for (size_t i = 0; i < calls_.size(); ++i) {
      family_.push_back(families.Of(calls_[i].family));
      sized[i] = Mix(calls_[i].family) ^ Mix(calls_[i].count + 1);
      ++times[sized[i]];
    }
    std::vector<size_t> all(families.size()), recurring(families.size());
    for (size_t i = 0; i < calls_.size(); ++i) {
      ++all[family_[i]];
      recurring[family_[i]] += times[sized[i]] > 1;
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      bool split = by_size && recurring[family_[i]] * 5 >= all[family_[i]] * 4;
      token_.push_back(tokens.Of(split ? sized[i] : Mix(calls_[i].family)));
    }
    places_.assign(tokens.size(), {});
    for (size_t i = 0; i < token_.size(); ++i) places_[token_[i]].push_back(i);
  }

  size_t Frequency(uint32_t token) const { return places_[token].size(); }

  // A delimiter that recurs at all, with its turns compared.
  Level Examine(uint32_t token) const {
    Level level;
    level.token = token;
    level.at = places_[token];
    std::unordered_map<uint64_t, std::vector<size_t>> turns;
    for (size_t k = 0; k + 1 < level.at.size(); ++k) {
      uint64_t hash = 0;
      for (size_t i = level.at[k] + 1; i < level.at[k + 1]; ++i) hash += Mix(family_[i] + 1);
      level.hash.push_back(hash);
      turns[hash].push_back(k);
    }
    for (const auto& [hash, of_hash] : turns) {
      if (of_hash.size() < level.ordinary || (of_hash.size() == level.ordinary && hash > level.ordinary_hash)) continue;
      level.ordinary = of_hash.size();
      level.ordinary_hash = hash;
    }
    level.content = ContentAfter(level, turns[level.ordinary_hash][0]);
    level.span_ns = calls_[level.at.back()].start_ns - calls_[level.at[0]].start_ns;
    contents_ = turns.size();
    return level;
  }

  Content ContentAfter(const Level& level, size_t turn) const {
    Content content;
    for (size_t i = level.at[turn] + 1; i < level.at[turn + 1]; ++i) ++content[family_[i]];
    return content;
  }

  // Sorts the other turns into those with more than the ordinary one and those that lack something. False: what some
  // lack is what others have too much of, or the delimiter's own kind comes and goes: no loop.
  bool HoldsTogether(Level* level) const {
    if (contents_ > kMostContents) return false;
    if (level->hash.size() >= 4 && level->ordinary < 2) return false;  // no two are alike
    std::unordered_map<uint64_t, std::pair<bool, Content>> known;      // lacks something; what is over or lacking
    Content lacking;
    size_t own = 0, lacks = 0;
    uint32_t own_family = family_[level->at[0]];
    for (size_t k = 0; k < level->hash.size(); ++k) {
      if (level->hash[k] == level->ordinary_hash) continue;
      auto [at, fresh] = known.try_emplace(level->hash[k]);
      if (fresh) at->second = Compare(level->content, ContentAfter(*level, k));
      const auto& [lack, difference] = at->second;
      if (lack) {
        ++lacks;
        for (const auto& [family, times] : difference) lacking[family] += times;
      } else {
        level->larger.push_back(k);
        for (const auto& [family, times] : difference) level->surplus[family] += times;
        own += difference.count(own_family);
      }
    }
    if (own * 4 >= level->hash.size() && own > 1) return false;
    for (const auto& [family, times] : lacking) {
      auto over = level->surplus.find(family);
      if (over != level->surplus.end() && lacks >= 2 && over->second * 2 >= times && times * 2 >= over->second)
        return false;
    }
    return !IsApart(*level);
  }

  static std::pair<bool, Content> Compare(const Content& ordinary, const Content& other) {
    Content lacking, over;
    for (const auto& [family, times] : ordinary) {
      auto found = other.find(family);
      uint32_t there = found == other.end() ? 0 : found->second;
      if (there < times) lacking[family] = times - there;
      if (there > times) over[family] = there - times;
    }
    for (const auto& [family, times] : other)
      if (!ordinary.count(family)) over[family] = times;
    return lacking.empty() ? std::pair(false, over) : std::pair(true, lacking);
  }

  // Something that is there as often as the delimiter is not in its ordinary turn: all forward passes come before all
  // backward ones.
  bool IsApart(const Level& level) const {
    std::map<uint32_t, size_t> within;  // family → times between the first and last delimiter
    for (size_t k : level.larger)
      for (size_t i = level.at[k] + 1; i < level.at[k + 1]; ++i) ++within[family_[i]];
    for (const auto& [family, times] : within)
      if (!level.content.count(family) && family != family_[level.at[0]] && times * 4 >= level.at.size() * 3)
        return true;
    return false;
  }

  bool IsOnlyInit(const Level& level) const {
    for (size_t i = level.at[0]; i <= level.at.back(); ++i)
      if (!calls_[i].only_init) return false;
    return true;
  }

  // Of a larger loop two turns do where call sites show that it is one.
  size_t FewestOfLarger(const Level& level) const { return calls_[level.at[0]].has_site ? 2 : kFewestTurns; }

  std::vector<uint32_t> ByFrequency() const {
    std::vector<uint32_t> tokens;
    for (uint32_t token = 0; token < places_.size(); ++token)
      if (Frequency(token) >= 2) tokens.push_back(token);
    // Of those that are as frequent the one that comes last in the turn: its turns are whole.
    std::sort(tokens.begin(), tokens.end(), [&](uint32_t a, uint32_t b) {
      if (Frequency(a) != Frequency(b)) return Frequency(a) > Frequency(b);
      return places_[a].back() > places_[b].back();
    });
    return tokens;
  }

  std::optional<Level> Innermost() const {
    std::optional<Level> best;
    bool best_is_init = false;
    size_t tried = 0, frequency = 0, of_frequency = 0;
    int64_t whole = calls_.empty() ? 0 : calls_.back().start_ns - calls_[0].start_ns;
    for (uint32_t token : ByFrequency()) {
      of_frequency = Frequency(token) == frequency ? of_frequency + 1 : 0;
      frequency = Frequency(token);
      if (of_frequency >= 3) continue;
      if (tried++ == kMostCandidates) break;
      Level level = Examine(token);
      if (level.at.size() < kFewestTurns || !HoldsTogether(&level) || IsUndecided(level)) continue;
      bool init = IsOnlyInit(level);
      // A loop that is most of the run is it; else the one that is most of it.
      if (best && (init || level.span_ns <= best->span_ns) && !(best_is_init && !init)) continue;
      best = std::move(level);
      best_is_init = init;
      if (!init && best->span_ns * 2 >= whole) break;
    }
    if (best_is_init) return std::nullopt;
    return best;
  }

  Level Outward(Level level) const {
    for (;;) {
      std::optional<Level> outer = LargerTurns(level);
      if (!outer || outer->at.size() >= level.at.size()) return level;
      level = *std::move(outer);
    }
  }

  // The loop that this one lies in, if a turn of that is what a step is.
  std::optional<Level> LargerTurns(const Level& level) const {
    if (level.larger.size() < 2) return std::nullopt;
    std::vector<uint32_t> tokens;
    size_t k = level.larger[level.larger.size() / 2];
    for (size_t i = level.at[k] + 1; i < level.at[k + 1]; ++i) {
      bool surplus = level.surplus.count(family_[i]) && !level.content.count(family_[i]);
      if (surplus && Frequency(token_[i]) >= 2 && Frequency(token_[i]) < level.at.size()) tokens.push_back(token_[i]);
    }
    std::sort(tokens.begin(), tokens.end(), [&](uint32_t a, uint32_t b) { return Frequency(a) > Frequency(b); });
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (uint32_t token : tokens) {
      Level outer = Examine(token);
      if (outer.at.size() < FewestOfLarger(outer) || Covered(outer) * 2 < Covered(level) || !HoldsTogether(&outer))
        continue;
      size_t times = TimesWithin(level, outer);
      if (times < 2) continue;
      if (ReducesMore(level, outer) || EndsStep(level, outer, times) || IsOneBurst(level)) return outer;
    }
    return std::nullopt;
  }

  // Time that all turns take together, the last one too, of which only the beginning may be seen.
  static double Covered(const Level& level) {
    double turns = static_cast<double>(level.at.size());
    return static_cast<double>(level.span_ns) * turns / (turns - 1);
  }

  // One larger turn has been seen to end, and not enough after it to see whether another does: nobody knows yet whether
  // it is a step of several of these turns or one of these turns is the step.
  bool IsUndecided(const Level& level) const {
    if (level.larger.size() != 1) return false;
    size_t k = level.larger[0], seen_after = level.at.size() - k - 2;
    if (k + 1 < seen_after) return false;
    bool reduces_within = false, more = false, few = false;
    uint64_t within = 0;
    std::vector<uint32_t> comms;
    ForOrdinaryTurn(level, [&](size_t i) {
      if (!calls_[i].reduces) return;
      within = std::max(within, Size(i));
      comms.push_back(calls_[i].comm);
      reduces_within = reduces_within || calls_[i].count > kScalarElements;
    });
    for (size_t i = level.at[k] + 1; i < level.at[k + 1]; ++i) {
      if (!calls_[i].reduces || IsOf(level, i)) continue;
      bool elsewhere = std::find(comms.begin(), comms.end(), calls_[i].comm) == comms.end();
      few = few || calls_[i].count <= kScalarElements;
      more = more || (calls_[i].count > kScalarElements && (Size(i) >= within || elsewhere));
    }
    return more || (few && !reduces_within && (k + 1) % 5 != 0) || IsOneBurst(level);
  }

  // How many turns of the smaller loop one of the larger has, if four in five have as many; else 0.
  size_t TimesWithin(const Level& level, const Level& outer) const {
    std::map<size_t, size_t> times;
    size_t next = 0;
    for (size_t k = 0; k + 1 < outer.at.size(); ++k) {
      size_t count = 0;
      while (next < level.at.size() && level.at[next] < outer.at[k]) ++next;
      for (size_t i = next; i < level.at.size() && level.at[i] < outer.at[k + 1]; ++i) ++count;
      ++times[count];
    }
    auto most =
        std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most != times.end() && most->second * 5 >= (outer.at.size() - 1) * 4 ? most->first : 0;
  }

  // Calls fn(i) for each call of an ordinary turn.
  template <typename Fn>
  void ForOrdinaryTurn(const Level& level, Fn fn) const {
    size_t turn = 0;
    while (level.hash[turn] != level.ordinary_hash) ++turn;
    for (size_t i = level.at[turn]; i < level.at[turn + 1]; ++i) fn(i);
  }

  bool IsOf(const Level& level, size_t i) const {
    return family_[i] == family_[level.at[0]] || level.content.count(family_[i]) > 0;
  }

  // Does the larger turn reduce, beside what each smaller one does, more data than those, or data on another
  // communicator?
  bool ReducesMore(const Level& level, const Level& outer) const {
    uint64_t within = 0;
    std::vector<uint32_t> comms;
    ForOrdinaryTurn(level, [&](size_t i) {
      if (!calls_[i].reduces) return;
      within = std::max(within, Size(i));
      comms.push_back(calls_[i].comm);
    });
    bool more = false;
    ForOrdinaryTurn(outer, [&](size_t i) {
      if (!calls_[i].reduces || calls_[i].count <= kScalarElements || IsOf(level, i)) return;
      more = more || Size(i) >= within || std::find(comms.begin(), comms.end(), calls_[i].comm) == comms.end();
    });
    return more;
  }

  // A reduction of a few elements (norm, loss, residual) ends a step of smaller turns that reduce nothing themselves,
  // or it says so by its call site. What comes every 5, 10 or 100 turns is a log line.
  bool EndsStep(const Level& level, const Level& outer, size_t times) const {
    bool reduces_within = false, ends = false, by_site = false;
    ForOrdinaryTurn(level, [&](size_t i) {
      reduces_within = reduces_within || (calls_[i].reduces && calls_[i].count > kScalarElements);
    });
    ForOrdinaryTurn(outer, [&](size_t i) {
      if (IsOf(level, i) || !calls_[i].reduces) return;
      ends = true;
      by_site = by_site || calls_[i].ends_step;
    });
    return by_site || (ends && !reduces_within && times % 5 != 0);
  }

  uint64_t Size(size_t i) const { return calls_[i].bytes ? calls_[i].bytes : calls_[i].count; }

  // The smaller turns follow each other with no work of the program in between, but for some.
  bool IsOneBurst(const Level& level) const {
    std::vector<int64_t> small, large;
    for (size_t k = 0; k + 1 < level.at.size(); ++k)
      (level.hash[k] == level.ordinary_hash ? small : large).push_back(OwnTime(level.at[k], level.at[k + 1]));
    if (small.empty() || large.empty()) return false;
    int64_t inside = Median(&small), between = Median(&large);
    return inside < kNoWorkNs && between >= 5 * std::max<int64_t>(inside, 1);
  }

  // Time outside of calls from the end of one call to the beginning of another.
  int64_t OwnTime(size_t from, size_t to) const {
    int64_t own = 0, end = calls_[from].start_ns + calls_[from].duration_ns;
    for (size_t i = from + 1; i <= to; ++i) {
      own += std::max<int64_t>(0, calls_[i].start_ns - end);
      end = std::max(end, calls_[i].start_ns + calls_[i].duration_ns);
    }
    return own;
  }

  static int64_t Median(std::vector<int64_t>* values) {
    auto middle = values->begin() + static_cast<ptrdiff_t>(values->size() / 2);
    std::nth_element(values->begin(), middle, values->end());
    return *middle;
  }

  // The calls of an ordinary turn between two delimiters: `size` of them from `first` on.
  struct Body {
    size_t first, size;
  };

  // From occurrences of the delimiter to turns, which begin where the first one did.
  Loop Turns(const Level& level) const {
    size_t k = 0;
    while (level.hash[k] != level.ordinary_hash) ++k;
    Body body{level.at[k] + 1, level.at[k + 1] - level.at[k] - 1};
    size_t lead = cut_off_ ? LeadByGaps(level, body.size) : LeadAtStart(level, body);
    Loop loop;
    loop.delimiter = level.at[k];
    loop.calls_a_turn = body.size + 1;
    loop.odd_turns = level.hash.size() - level.ordinary;
    loop.lacking_turns = loop.odd_turns - level.larger.size();
    loop.first = level.at[0] - std::min(lead, level.at[0]);
    for (size_t turn = 0; turn + 1 < level.at.size(); ++turn)
      loop.last.push_back(StartOf(level, body, lead, turn + 1) - 1);
    size_t rest = body.size - lead;  // of the turn after its delimiter
    size_t end = MatchedFrom(level.at.back() + 1, calls_.size(), body, rest);
    bool whole = end == level.at.back() + 1 + rest;
    if (whole) loop.last.push_back(end - 1);
    if (whole) AddOccasional(level, &loop);
    if (whole) AddUntilNextTurn(level, rest < body.size ? family_[body.first + rest] : family_[level.at[0]], &loop);
    if (!cut_off_) AddFirstTurn(level, k, &loop);
    loop.open_end = loop.last.back() + 1;
    while (loop.open_end < calls_.size() && IsOf(level, loop.open_end)) ++loop.open_end;
    return loop;
  }

  // Past the calls from `from` on that are of the families that the body begins with, `most` of them at most.
  size_t MatchedFrom(size_t from, size_t to, const Body& body, size_t most) const {
    size_t matched = 0;
    while (from < to && matched < most && family_[from] == family_[body.first + matched]) ++from, ++matched;
    return from;
  }

  // How many of the turn's calls come before the delimiter in the first turn.
  size_t LeadAtStart(const Level& level, const Body& body) const {
    size_t lead = 0, first = level.at[0], end = body.first + body.size;
    while (lead < body.size && lead < first && token_[first - lead - 1] == token_[end - lead - 1]) ++lead;
    return lead;
  }

  // Where the program works longest there is a new turn.
  size_t LeadByGaps(const Level& level, size_t body) const {
    std::vector<std::vector<int64_t>> gaps(body + 1);
    for (size_t k = 0; k < level.hash.size(); ++k) {
      if (level.hash[k] != level.ordinary_hash || level.at[k + 1] - level.at[k] != body + 1) continue;
      for (size_t i = 0; i <= body; ++i) gaps[i].push_back(OwnTime(level.at[k] + i, level.at[k] + i + 1));
    }
    size_t longest = body;
    int64_t longest_ns = -1;
    for (size_t i = 0; i <= body; ++i) {
      int64_t gap = gaps[i].empty() ? 0 : Median(&gaps[i]);
      if (gap > longest_ns) longest = i, longest_ns = gap;
    }
    return body - longest;
  }

  // Where the turn with the delimiter at[turn] begins. What comes now and then is at the end of a turn.
  size_t StartOf(const Level& level, const Body& body, size_t lead, size_t turn) const {
    size_t delimiter = level.at[turn], least = level.at[turn - 1] + 1, end = body.first + body.size, matched = 0;
    while (matched < lead && delimiter - matched > least &&
           family_[delimiter - matched - 1] == family_[end - matched - 1])
      ++matched;
    if (matched == lead) return delimiter - lead;
    // The turn is not as others are: it begins after what the one before had still to do.
    size_t start = MatchedFrom(least, delimiter, body, body.size - lead);
    while (start < delimiter && !IsOf(level, start)) ++start;
    return start;
  }

  // The first turn may send the same data in other portions (PyTorch forms its buckets anew after it).
  void AddFirstTurn(const Level& level, size_t ordinary, Loop* loop) const {
    std::map<uint32_t, uint64_t> wanted;
    for (size_t i = level.at[ordinary]; i < level.at[ordinary + 1]; ++i) wanted[family_[i]] += calls_[i].count;
    // A call of it may look like one of the turns after it, and then seem to be a turn.
    for (size_t turn : {size_t{0}, size_t{1}}) {
      size_t start = turn == 0 ? loop->first : loop->last[0] + 1;
      size_t first = FirstOfSameAmounts(wanted, start, level.at[ordinary + 1] - level.at[ordinary]);
      if (first == start || first > loop->first || (turn == 0 && first == loop->first)) continue;
      if (turn == 1 && first == loop->first) return;
      loop->last.erase(loop->last.begin(), loop->last.begin() + static_cast<ptrdiff_t>(turn));
      loop->last.insert(loop->last.begin(), start - 1);
      loop->first = first;
      return;
    }
  }

  // Where calls begin that end before `end` and are of the same families with the same amounts; `end` if there are
  // none.
  size_t FirstOfSameAmounts(std::map<uint32_t, uint64_t> wanted, size_t end, size_t calls) const {
    size_t start = end, most = 8 * calls;
    size_t left =
        static_cast<size_t>(std::count_if(wanted.begin(), wanted.end(), [](const auto& w) { return w.second > 0; }));
    while (start > 0 && left > 0 && end - start < most) {
      auto of_family = wanted.find(family_[start - 1]);
      uint64_t count = calls_[start - 1].count;
      if (of_family == wanted.end() || count > of_family->second) return end;
      left -= count > 0 && (of_family->second -= count) == 0;
      --start;
    }
    return left > 0 ? end : start;
  }

  // What comes after the last turn and came after others before belongs to it as it did to those.
  void AddOccasional(const Level& level, Loop* loop) const {
    std::vector<bool> seen(places_.size());
    for (size_t i = loop->first; i <= loop->last.back(); ++i) seen[token_[i]] = true;
    size_t next = loop->last.back() + 1;
    while (next < calls_.size() && seen[token_[next]] && !IsOf(level, next)) ++next;
    loop->last.back() = next - 1;
  }

  // The same of what comes for the first time, if a turn begins after it.
  void AddUntilNextTurn(const Level& level, uint32_t begins_with, Loop* loop) const {
    size_t next = loop->last.back() + 1, end = std::min(calls_.size(), next + 4 * loop->calls_a_turn + 16);
    while (next < end && !IsOf(level, next)) ++next;
    if (next < end && family_[next] == begins_with) loop->last.back() = next - 1;
  }

  const std::vector<LoopCall>& calls_;
  bool cut_off_;
  std::vector<uint32_t> family_, token_;     // by call
  std::vector<std::vector<size_t>> places_;  // by token
  mutable size_t contents_ = 0;
};

}  // namespace

std::optional<Loop> FindLoop(const std::vector<LoopCall>& calls, bool cut_off) { return Finder(calls, cut_off).Find(); }

}  // namespace ddbg::analyzer
