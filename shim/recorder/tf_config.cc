#include "shim/recorder/tf_config.h"

#include <limits.h>

namespace ddbg::shim {
namespace {

constexpr int kMostDepth = 32;

// A value of JSON after the other. What is not JSON makes `ok` false, for good.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool AtEnd() {
    SkipSpace();
    return rest_.empty();
  }
  char Next() {
    SkipSpace();
    return rest_.empty() ? '\0' : rest_[0];
  }

  // What lies between the quotes, escapes as they are.
  std::string_view String() {
    if (!Take('"')) return {};
    for (size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == '"') {
        std::string_view text = rest_.substr(0, i);
        rest_.remove_prefix(i + 1);
        return text;
      }
    }
    return Fail();
  }

  // A number, true, false or null.
  std::string_view Word() {
    SkipSpace();
    size_t length = 0;
    while (length < rest_.size() && IsOfWord(rest_[length])) ++length;
    std::string_view word = rest_.substr(0, length);
    bool number = length > 0 && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
    if (!number && word != "true" && word != "false" && word != "null") return Fail();
    rest_.remove_prefix(length);
    return word;
  }

  // Calls `member` with each key of an object, which reads the value.
  template <class Member>
  void Object(Member member) {
    Sequence('{', '}', [&] {
      std::string_view key = String();
      if (Take(':')) member(key);
    });
  }
  template <class Element>
  void Array(Element element) {
    Sequence('[', ']', element);
  }

  void Skip() {
    switch (Next()) {
      case '{': return Object([this](std::string_view) { Skip(); });
      case '[': return Array([this] { Skip(); });
      case '"': String(); return;
      default: Word();
    }
  }

 private:
  static bool IsOfWord(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '+' || c == '-' || c == '.';
  }

  std::string_view Fail() {
    ok_ = false;
    rest_ = {};
    return {};
  }

  void SkipSpace() {
    size_t length = 0;
    while (length < rest_.size() &&
           (rest_[length] == ' ' || rest_[length] == '\t' || rest_[length] == '\n' || rest_[length] == '\r'))
      ++length;
    rest_.remove_prefix(length);
  }

  bool Take(char wanted) {
    if (Next() != wanted) {
      Fail();
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  template <class Part>
  void Sequence(char open, char close, Part part) {
    if (!Take(open)) return;
    if (depth_ == kMostDepth) {
      Fail();
      return;
    }
    ++depth_;
    bool more = Next() != close;
    while (ok_ && more) {
      part();
      more = ok_ && Next() == ',';
      if (more) Take(',');
    }
    if (ok_) Take(close);
    --depth_;
  }

  std::string_view rest_;
  int depth_ = 0;
  bool ok_ = true;
};

struct Cluster {
  bool given = false;
  int32_t chiefs = 0, workers = 0;
};

// The tasks of one job: a list of addresses, or addresses by index.
int32_t CountTasks(Reader& reader) {
  int32_t tasks = 0;
  auto count = [&] {
    reader.Skip();
    if (tasks < INT_MAX / 2) ++tasks;
  };
  if (reader.Next() == '{') {
    reader.Object([&](std::string_view) { count(); });
  } else if (reader.Next() == '[') {
    reader.Array(count);
  } else {
    count();
  }
  return tasks;
}

Cluster ReadCluster(Reader& reader) {
  Cluster cluster;
  if (reader.Next() != '{') {
    reader.Skip();
    return cluster;
  }
  cluster.given = true;
  reader.Object([&](std::string_view job) {
    int32_t tasks = CountTasks(reader);
    if (job == "chief" || job == "master") cluster.chiefs = tasks;
    if (job == "worker") cluster.workers = tasks;
  });
  return cluster;
}

// −1 of what is no whole number of 0 to 2³¹−1.
int32_t Index(std::string_view digits) {
  if (digits.empty() || digits.size() > 10) return -1;
  int64_t number = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number <= INT_MAX ? static_cast<int32_t>(number) : -1;
}

struct Task {
  std::string_view type;
  int32_t index = -1;
};

Task ReadTask(Reader& reader) {
  Task task;
  if (reader.Next() != '{') {
    reader.Skip();
    return task;
  }
  reader.Object([&](std::string_view key) {
    bool text = reader.Next() == '"', plain = text || (reader.Next() != '{' && reader.Next() != '[');
    if (key == "type" && text) {
      task.type = reader.String();
    } else if (key == "index" && plain) {
      task.index = Index(text ? reader.String() : reader.Word());
    } else {
      reader.Skip();
    }
  });
  return task;
}

int32_t RankOf(const Task& task, const Cluster& cluster) {
  if (task.index < 0) return -1;
  if (task.type == "chief" || task.type == "master") return task.index;
  if (task.type != "worker" || task.index > INT_MAX - cluster.chiefs) return -1;
  return task.index + cluster.chiefs;
}

}  // namespace

TfTask ReadTfConfig(std::string_view text) noexcept {
  Reader reader(text);
  Cluster cluster;
  Task task;
  reader.Object([&](std::string_view key) {
    if (key == "cluster") {
      cluster = ReadCluster(reader);
    } else if (key == "task") {
      task = ReadTask(reader);
    } else {
      reader.Skip();
    }
  });
  TfTask result;
  result.valid = reader.ok() && reader.AtEnd() && cluster.given;
  if (!result.valid) return {};
  result.rank = RankOf(task, cluster);
  result.size = cluster.chiefs + cluster.workers;
  return result;
}

}  // namespace ddbg::shim
