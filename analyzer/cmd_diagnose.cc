// ddbg diagnose: the first bad event of a run, its class, and the evidence.
#include <cstdio>
#include <memory>

#include "analyzer/command.h"
#include "analyzer/diagnose.h"
#include "analyzer/load.h"
#include "analyzer/render/diagnosis.h"

namespace ddbg::analyzer {
namespace {

struct DiagnoseOptions {
  std::vector<std::string> names;
  bool json = false;
};

ExitCode CodeOf(const Diagnosis& diagnosis) {
  switch (diagnosis.verdict) {
    case Diagnosis::kHealthy: return kExitOk;
    case Diagnosis::kFault: return kExitFault;
    case Diagnosis::kUnknown: break;
  }
  return kExitUnknown;
}

int RunDiagnose(const DiagnoseOptions& options) {
  Result<Run> run = OpenRun(options.names);
  if (!run) return Fail(run.error().text, kExitUnknown);
  Diagnosis diagnosis = DiagnoseRun(*run);
  Output out(stdout);
  options.json ? PrintDiagnosisJson(*run, diagnosis, out) : PrintDiagnosisText(*run, diagnosis, out);
  return CodeOf(diagnosis);
}

}  // namespace

Action DeclareDiagnose(const Declaration& declaration) {
  auto options = std::make_shared<DiagnoseOptions>();
  AddRunArgument(declaration.app, &options->names);
  declaration.app.add_flag("--json", options->json, "For programs: schema ddbg.diagnosis/1");
  return [options] { return RunDiagnose(*options); };
}

}  // namespace ddbg::analyzer
