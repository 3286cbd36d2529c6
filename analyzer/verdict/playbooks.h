// What to do about each kind of anomaly (mission.md, "Playbooks"): the next queries, captures, likely classes, the
// smallest reproduction that keeps it, who owns it. Comes from a data file (playbooks.json), of which the build has its
// own copy; a user's file replaces single fields of single rows, or adds rows.
//
//   {"schema": "ddbg.playbooks/1",
//    "classes": {CLASS: {fields that the rows of this class have if they say nothing}},
//    "kinds":   {KIND:  {"queries": […], "next_steps": […], "likely_classes": […], "captures": […],
//                        "tier": 1 to 3, "reduction": "…", "owner": "…"}}}
//
// Texts have placeholders: {run} {rank} {peer} {step} {comm} {seq} {call} {host} {pid} {live_pid}. A part in square
// brackets that has a placeholder is left out where that has no value, and so is a whole text outside of brackets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/result.h"

namespace ddbg::analyzer {

struct Playbook {
  std::vector<std::string> queries;         // commands, to be typed
  std::vector<std::string> next_steps;      // sentences
  std::vector<std::string> likely_classes;  // the likeliest first
  std::vector<std::string> captures;        // to be taken at once, since they will be gone
  int tier = 0;                             // 1: local, 2: minimal distributed, 3: topology-faithful; 0: not said
  std::string reduction;                    // how to get there
  std::string owner;
};

// "local", "minimal distributed", "topology-faithful".
std::string_view TierName(int tier);

class Playbooks {
 public:
  // Adds the rows of a file's text; fields it gives replace those that are there. An error names the line, and then
  // nothing was added. `name` is that of the file.
  Result<void> Add(std::string_view text, const std::string& name);

  // The row of a kind, with what its class says for all. A kind without a row has only that.
  Playbook Of(std::string_view kind, std::string_view failure_class) const;
  std::vector<std::string> Kinds() const;

 private:
  // Of a row only what was given.
  struct Row {
    std::optional<std::vector<std::string>> queries, next_steps, likely_classes, captures;
    std::optional<int> tier;
    std::optional<std::string> reduction, owner;
  };
  friend class PlaybookReader;

  static void Overlay(const Row& over, Row* row);
  std::map<std::string, Row, std::less<>> kinds_, classes_;
};

struct LoadedPlaybooks {
  Playbooks playbooks;
  std::vector<std::string> files;     // that were used besides the built-in one
  std::vector<std::string> troubles;  // files that were not: a sentence each
};

// The built-in ones, over them <beside ddbg>/../share/ddbg/playbooks.json, over that the user's: `file` if it is not
// "", else $DDBG_PLAYBOOKS, else $XDG_CONFIG_HOME/ddbg/playbooks.json (~/.config/…). A file that is not there is no
// trouble unless it was named.
LoadedPlaybooks LoadPlaybooks(const std::string& file);

// playbooks.json as of the build.
std::string_view BuiltInPlaybooks();

}  // namespace ddbg::analyzer
