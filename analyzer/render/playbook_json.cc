#include "analyzer/model/kinds.h"
#include "analyzer/render/playbook.h"

namespace ddbg::analyzer {

Json PlaybookJson(const Playbook& playbook) {
  return {{"queries", playbook.queries},
          {"likely_classes", playbook.likely_classes},
          {"captures", playbook.captures},
          {"tier", playbook.tier > 0 ? Json(playbook.tier) : Json()},
          {"tier_name", TierName(playbook.tier)},
          {"reduction", playbook.reduction},
          {"owner", playbook.owner}};
}

void PrintPlaybooksJson(const Playbooks& playbooks, const std::vector<std::string>& kinds, Output& out) {
  Json json = {{"schema", "ddbg.playbooks/1"}, {"kinds", Json::object()}};
  for (const std::string& kind : kinds) {
    Playbook playbook = playbooks.Of(kind, ClassOfKind(kind));
    Json row = {{"class", ClassOfKind(kind)}, {"next_steps", playbook.next_steps}};
    row.update(PlaybookJson(playbook));
    json["kinds"][kind] = std::move(row);
  }
  out.Write(Dump(json, 2) + "\n");
}

}  // namespace ddbg::analyzer
