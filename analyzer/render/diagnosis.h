// What `ddbg diagnose` and `ddbg run` print of a verdict. JSON: one object, schema "ddbg.diagnosis/1" (DESIGN 7).
#pragma once

#include "analyzer/finding.h"
#include "analyzer/model.h"
#include "analyzer/render/output.h"

namespace ddbg::analyzer {

void PrintDiagnosisText(const Run& run, const Diagnosis& diagnosis, Output& out);
void PrintDiagnosisJson(const Run& run, const Diagnosis& diagnosis, Output& out);

}  // namespace ddbg::analyzer
