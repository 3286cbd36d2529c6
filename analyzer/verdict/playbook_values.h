// Fills the placeholders of a playbook with what one verdict is about.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "analyzer/model/finding.h"
#include "analyzer/verdict/playbooks.h"

namespace ddbg::analyzer {

// By placeholder, without braces. What is not there has no value.
using PlaybookValues = std::map<std::string, std::string, std::less<>>;

// True for the names that playbooks.h lists.
bool IsPlaceholder(std::string_view name);

PlaybookValues ValuesOf(const Run& run, const Finding& finding);

enum class Quoting { kNone, kShell };  // a value that a shell would split is put in quotes

// nullopt: a placeholder outside of brackets has no value.
std::optional<std::string> Fill(std::string_view text, const PlaybookValues& values, Quoting quoting);

// All of a playbook; texts that lack a value are left out.
Playbook Filled(const Playbook& playbook, const PlaybookValues& values);

// What people type for this run: its id where that leads to the same files, else its directories.
std::string RunName(const Run& run);

}  // namespace ddbg::analyzer
