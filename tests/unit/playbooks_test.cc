#include "analyzer/verdict/playbooks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

#include "analyzer/model/kinds.h"
#include "analyzer/verdict/playbook_values.h"
#include "tests/unit/scratch_dir.h"

namespace ddbg::analyzer {
namespace {

Playbooks BuiltIn() {
  Playbooks playbooks;
  Result<void> added = playbooks.Add(BuiltInPlaybooks(), "built in");
  EXPECT_TRUE(added) << added.error().text;
  return playbooks;
}

std::string ErrorOf(const std::string& text) {
  Playbooks playbooks;
  Result<void> added = playbooks.Add(text, "mine.json");
  return added ? "" : added.error().text;
}

TEST(Playbooks, HaveOneWholeRowForEachKindAndNoOther) {
  Playbooks playbooks = BuiltIn();
  std::vector<std::string> rows = playbooks.Kinds();
  std::vector<std::string> kinds;
  for (std::string_view kind : AllKinds()) kinds.emplace_back(kind);
  std::sort(kinds.begin(), kinds.end());
  EXPECT_EQ(rows, kinds);
  for (const std::string& kind : kinds) {
    Playbook playbook = playbooks.Of(kind, ClassOfKind(kind));
    EXPECT_FALSE(playbook.queries.empty()) << kind;
    EXPECT_FALSE(playbook.next_steps.empty()) << kind;
    EXPECT_FALSE(playbook.captures.empty()) << kind;
    EXPECT_FALSE(playbook.likely_classes.empty()) << kind;
    EXPECT_TRUE(playbook.tier >= 1 && playbook.tier <= 3) << kind;
    EXPECT_FALSE(playbook.reduction.empty()) << kind;
    EXPECT_FALSE(playbook.owner.empty()) << kind;
    std::string own(ClassOfKind(kind));
    const std::vector<std::string>& likely = playbook.likely_classes;
    EXPECT_NE(std::find(likely.begin(), likely.end(), own), likely.end()) << kind << " is of class " << own;
  }
}

TEST(Playbooks, AskOnlyWithCommandsThatThereAre) {
  const std::set<std::string> commands = {"diagnose", "info", "events", "skew",  "steps",
                                          "stacks",   "env",  "diff",   "export"};
  for (std::string_view kind : AllKinds())
    for (const std::string& query : BuiltIn().Of(kind, ClassOfKind(kind)).queries) {
      std::smatch match;
      ASSERT_TRUE(std::regex_search(query, match, std::regex("^ddbg ([a-z]+) \\{run\\}"))) << query;
      EXPECT_TRUE(commands.count(match[1])) << query;
    }
}

TEST(Playbooks, AFileReplacesTheFieldsItGivesAndLeavesTheOthers) {
  Playbooks playbooks = BuiltIn();
  Playbook before = playbooks.Of("early_exit", "control_flow_divergence");
  ASSERT_TRUE(playbooks.Add(R"({"kinds": {"early_exit": {"owner": "team blue"}, "own_kind": {"tier": 1}}})", "mine"));
  Playbook after = playbooks.Of("early_exit", "control_flow_divergence");
  EXPECT_EQ(after.owner, "team blue");
  EXPECT_EQ(after.queries, before.queries);
  EXPECT_EQ(playbooks.Of("own_kind", "").tier, 1);
}

TEST(Playbooks, AClassSpeaksForItsKindsThatSayNothing) {
  Playbooks playbooks;
  ASSERT_TRUE(playbooks.Add(R"({"classes": {"c": {"owner": "us", "tier": 3}}, "kinds": {"k": {"tier": 1}}})", "mine"));
  EXPECT_EQ(playbooks.Of("k", "c").owner, "us");
  EXPECT_EQ(playbooks.Of("k", "c").tier, 1);
  EXPECT_EQ(playbooks.Of("unheard of", "c").tier, 3);
}

TEST(Playbooks, ABrokenFileIsNamedWithItsLineAndAddsNothing) {
  EXPECT_NE(ErrorOf("{\n\n  \"kinds\": {,}\n}").find("mine.json, line 3: "), std::string::npos)
      << ErrorOf("{\n\n  \"kinds\": {,}\n}");
  EXPECT_EQ(ErrorOf("[]"), "mine.json, line 1: the file must hold one object");
  EXPECT_EQ(ErrorOf("{\n\"kind\": {}}"), "mine.json, line 2: there is no \"kind\" in a playbook file");
  EXPECT_EQ(ErrorOf("{\"kinds\": {\n\"early_exit\": {\n\"tier\": 4}}}"),
            "mine.json, line 3: \"tier\" must be 1, 2 or 3");
  EXPECT_EQ(ErrorOf("{\"kinds\": {\n\"early_exit\": {\n\"querys\": []}}}"),
            "mine.json, line 3: a playbook has no field \"querys\"");
  EXPECT_EQ(ErrorOf("{\"kinds\": {\n\"a\": {\"tier\": 1},\n\"b\": {\n\"queries\": [\n\"x {rnak}\"]}}}"),
            "mine.json, line 5: there is no placeholder {rnak}");
  Playbooks playbooks;
  ASSERT_FALSE(playbooks.Add(R"({"kinds": {"a": {"tier": 1}, "b": {"tier": 9}}})", "mine"));
  EXPECT_TRUE(playbooks.Kinds().empty());
}

TEST(Playbooks, AFileThatIsNamedMustBeThere) {
  LoadedPlaybooks loaded = LoadPlaybooks("/no/such/file.json");
  ASSERT_EQ(loaded.troubles.size(), 1u);
  EXPECT_EQ(loaded.playbooks.Of("early_exit", "control_flow_divergence").tier, 2);
}

TEST(Playbooks, ABrokenFileOfTheUsersLeavesTheBuiltInOnes) {
  ScratchDir dir;
  std::string file = dir.path() + "/p.json";
  std::ofstream(file) << "{\"kinds\": {\"early_exit\": {\"tier\": 7}}}";
  LoadedPlaybooks loaded = LoadPlaybooks(file);
  ASSERT_EQ(loaded.troubles.size(), 1u);
  EXPECT_NE(loaded.troubles[0].find("line 1"), std::string::npos) << loaded.troubles[0];
  EXPECT_EQ(loaded.playbooks.Of("early_exit", "control_flow_divergence").tier, 2);
}

TEST(PlaybookText, FillsPlaceholdersAndLeavesOutBracketsThatLackAValue) {
  PlaybookValues values = {{"run", "r"}, {"rank", "3"}};
  EXPECT_EQ(Fill("ddbg events {run} --rank {rank}[,{peer}][ --comm {comm}]", values, Quoting::kShell),
            "ddbg events r --rank 3");
  values["peer"] = "0";
  values["comm"] = "tensor group";
  EXPECT_EQ(Fill("ddbg events {run} --rank {rank}[,{peer}][ --comm {comm}]", values, Quoting::kShell),
            "ddbg events r --rank 3,0 --comm 'tensor group'");
  EXPECT_EQ(Fill("[no placeholder] {rank}", values, Quoting::kNone), "[no placeholder] 3");
  EXPECT_EQ(Fill("awk '{print $1}' {rank}", values, Quoting::kNone), "awk '{print $1}' 3");
}

TEST(PlaybookText, ATextThatLacksAValueIsLeftOut) {
  EXPECT_EQ(Fill("gdb -p {live_pid}", {{"pid", "7"}}, Quoting::kNone), std::nullopt);
  Playbook playbook;
  playbook.captures = {"gdb -p {live_pid}", "coredumpctl info {pid}"};
  EXPECT_EQ(Filled(playbook, {{"pid", "7"}}).captures, std::vector<std::string>{"coredumpctl info 7"});
}

TEST(PlaybookText, AValueCannotBecomeACommand) {
  EXPECT_EQ(Fill("ddbg skew r --comm {comm}", {{"comm", "a'; rm -rf ~; '"}}, Quoting::kShell),
            "ddbg skew r --comm 'a'\\''; rm -rf ~; '\\'''");
}

TEST(PlaybookText, AProcessThatHasEndedCannotBeAttachedTo) {
  analyzer::Run run;
  run.processes.resize(2);
  for (int i = 0; i < 2; ++i)
    run.processes[i].launcher_rank = i, run.processes[i].pid = 10 + i, run.processes[i].host = "n";
  run.processes[1].end.how = ProcessEnd::kExited;
  Finding finding;
  finding.first.rank = 1;
  finding.culprit_ranks = {1};
  PlaybookValues values = ValuesOf(run, finding);
  EXPECT_EQ(values["pid"], "11");
  EXPECT_EQ(values["peer"], "0");
  EXPECT_EQ(values.count("live_pid"), 0u);
  finding.culprit_ranks = {0};
  finding.first.rank = 0;
  EXPECT_EQ(ValuesOf(run, finding)["live_pid"], "10");
}

}  // namespace
}  // namespace ddbg::analyzer
