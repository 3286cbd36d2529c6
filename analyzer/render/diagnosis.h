// What `ddbg diagnose` and `ddbg run` print of a verdict. JSON: one object, schema "ddbg.diagnosis/1" (DESIGN 7).
#pragma once

#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/model/model.h"
#include "analyzer/render/output.h"
#include "analyzer/verdict/attempts.h"
#include "analyzer/verdict/playbooks.h"

namespace ddbg::analyzer {

enum class JsonLayout { kIndented, kOneLine };
void PrintDiagnosisText(const Run& run, const Diagnosis& diagnosis, const Playbooks& playbooks,
                        const std::vector<EarlierAttempt>& earlier, Output& out);
void PrintDiagnosisJson(const Run& run, const Diagnosis& diagnosis, const Playbooks& playbooks,
                        const std::vector<EarlierAttempt>& earlier, Output& out,
                        JsonLayout layout = JsonLayout::kIndented);

}  // namespace ddbg::analyzer
