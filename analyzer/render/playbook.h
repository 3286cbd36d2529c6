// What `ddbg playbook` prints, and the playbook that a verdict carries. JSON of one: its fields by name; of all: schema
// "ddbg.playbooks/1", as the file has it.
#pragma once

#include <string_view>

#include "analyzer/render/json.h"
#include "analyzer/render/output.h"
#include "analyzer/verdict/playbooks.h"

namespace ddbg::analyzer {

// {"queries": […], "likely_classes": […], "captures": […], "tier": 2, "tier_name": "…", "reduction": "…", "owner": "…"}
Json PlaybookJson(const Playbook& playbook);

// From "Ask" to "Owner": without a heading of its own, and without what is empty.
void PrintPlaybookText(const Playbook& playbook, Output& out);

void PrintPlaybookOfKindText(std::string_view kind, const Playbook& playbook, Output& out);
void PrintPlaybookListText(const Playbooks& playbooks, Output& out);
void PrintPlaybooksJson(const Playbooks& playbooks, const std::vector<std::string>& kinds, Output& out);

}  // namespace ddbg::analyzer
