#include "analyzer/align/causal_order.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace ddbg::analyzer {
namespace {

constexpr double kFade = 1e-3;
constexpr int64_t kRoundingNs = 8;       // of two axes, each through knots that are whole ns
constexpr int64_t kSlackNs = 1'000'000;  // beyond the errors: more is no matter of errors
constexpr int kMostSweeps = 64;

// The clock of a host with what was pushed.
class PushedAxis {
 public:
  explicit PushedAxis(const HostAxis& base) : base_(&base) {}

  int64_t At(int64_t own_ns) const { return base_->At(own_ns) + LeftAt(own_ns); }

  // From `own_ns` on; more than what is left of pushes before.
  void Push(int64_t own_ns, int64_t by_ns) {
    auto at = std::lower_bound(pushes_.begin(), pushes_.end(), own_ns,
                               [](const Pushed& push, int64_t t_ns) { return push.own_ns < t_ns; });
    auto weaker = at;
    while (weaker != pushes_.end() && weaker->by_ns <= Left(by_ns, weaker->own_ns - own_ns)) ++weaker;
    at = pushes_.erase(at, weaker);
    pushes_.insert(at, {own_ns, by_ns});
  }

  HostAxis Made() const {
    if (pushes_.empty()) return *base_;
    std::vector<int64_t> places;
    for (const HostAxis::Knot& knot : base_->knots()) places.push_back(knot.own_ns);
    for (const Pushed& push : pushes_)
      for (int64_t own_ns : {push.own_ns - 1, push.own_ns, push.own_ns + FadeNs(push.by_ns)}) places.push_back(own_ns);
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    std::vector<HostAxis::Knot> knots;
    for (int64_t own_ns : places) {
      int64_t axis_ns = At(own_ns);
      if (!knots.empty()) axis_ns = std::max(axis_ns, knots.back().axis_ns);
      knots.push_back({own_ns, axis_ns, base_->ErrorNs(own_ns)});
    }
    return HostAxis(std::move(knots), base_->before(), base_->behind());
  }

 private:
  struct Pushed {
    int64_t own_ns, by_ns;
  };

  static int64_t Left(int64_t by_ns, int64_t since_ns) {
    return std::max<int64_t>(0, by_ns - static_cast<int64_t>(static_cast<double>(since_ns) * kFade));
  }
  static int64_t FadeNs(int64_t by_ns) { return static_cast<int64_t>(static_cast<double>(by_ns) / kFade) + 1; }

  int64_t LeftAt(int64_t own_ns) const {
    if (pushes_.empty()) return 0;
    auto behind = std::upper_bound(pushes_.begin(), pushes_.end(), own_ns,
                                   [](int64_t t_ns, const Pushed& push) { return t_ns < push.own_ns; });
    if (behind == pushes_.begin()) return 0;
    const Pushed& push = *std::prev(behind);
    return Left(push.by_ns, own_ns - push.own_ns);
  }

  const HostAxis* base_;
  std::vector<Pushed> pushes_;  // ascending; each is more than what is left of those before
};

// The latest of `before` on a host other than this.
class Latest {
 public:
  void Add(uint32_t host, int64_t axis_ns) {
    if (host == host_) {
      best_ = std::max(best_, axis_ns);
    } else if (axis_ns > best_) {
      other_ = best_, other_host_ = host_;
      best_ = axis_ns, host_ = host;
    } else if (axis_ns > other_) {
      other_ = axis_ns, other_host_ = host;
    }
  }
  // INT64_MIN: none.
  std::pair<uint32_t, int64_t> Before(uint32_t host) const {
    return host == host_ ? std::pair(other_host_, other_) : std::pair(host_, best_);
  }

 private:
  uint32_t host_ = UINT32_MAX, other_host_ = UINT32_MAX;
  int64_t best_ = INT64_MIN, other_ = INT64_MIN;
};

// Calls found(cause's host, effect, by how much it lies before its cause).
template <class At, class Found>
void ForEachContradiction(const Causality& causality, At at, Found found) {
  causality.ForEach([&](const Crossing& crossing) {
    Latest latest;
    for (const Moment& cause : crossing.before) latest.Add(cause.host, at(cause));
    for (const Moment& effect : crossing.after) {
      auto [host, cause_ns] = latest.Before(effect.host);
      if (cause_ns == INT64_MIN) continue;
      int64_t effect_ns = at(effect);
      if (effect_ns < cause_ns) found(host, effect, cause_ns - effect_ns);
    }
  });
}

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kUnknownError : sum;
}

}  // namespace

size_t KeepCausalOrder(const Causality& causality, std::vector<HostAxis>* axes) {
  std::vector<PushedAxis> pushed(axes->begin(), axes->end());
  auto at = [&](const Moment& moment) { return pushed[moment.host].At(moment.t_ns); };
  bool any = false;
  size_t left = 0;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool moved = false;
    left = 0;
    ForEachContradiction(causality, at, [&](uint32_t cause, const Moment& effect, int64_t by_ns) {
      const HostAxis& own = (*axes)[effect.host];
      int64_t axis_ns = own.At(effect.t_ns);
      int64_t error_ns = Sum(own.ErrorNs(effect.t_ns), (*axes)[cause].ErrorNs((*axes)[cause].Back(axis_ns)));
      if (by_ns > Sum(error_ns, kSlackNs)) return static_cast<void>(++left);
      int64_t already_ns = pushed[effect.host].At(effect.t_ns) - axis_ns;
      pushed[effect.host].Push(effect.t_ns, already_ns + by_ns + kRoundingNs);
      moved = true;
    });
    if (!moved) break;
    any = true;
  }
  if (!any) return left;
  std::vector<HostAxis> made;
  for (const PushedAxis& axis : pushed) made.push_back(axis.Made());
  *axes = std::move(made);
  return CountContradictions(causality, *axes);
}

size_t CountContradictions(const Causality& causality, const std::vector<HostAxis>& axes) {
  size_t count = 0;
  auto at = [&](const Moment& moment) { return axes[moment.host].At(moment.t_ns); };
  ForEachContradiction(causality, at, [&](uint32_t, const Moment&, int64_t) { ++count; });
  return count;
}

}  // namespace ddbg::analyzer
