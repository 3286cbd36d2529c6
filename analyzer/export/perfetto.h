// A run as a trace that ui.perfetto.dev and trace_processor open. Streams: beside the run only tables of texts, tracks
// and open slices are held.
//
// A call is a slice on its thread, with the keys of `ddbg events --json` as arguments. One that never returned has the
// argument never_returned; it has no end while its process runs, and else ends with it. What the device did is on the
// stream's track where its times were recorded; else an instant there says when the work was put on the stream. A
// matched collective is a slice on its communicator's track, and one flow joins it and its members' calls. A flow goes
// from each send to where its receive was over. Rows of polls have tracks of their own. The verdict is an instant at
// the first bad event.
#pragma once

#include "analyzer/align/timeline.h"
#include "analyzer/match/match.h"
#include "analyzer/match/messages.h"
#include "analyzer/model/finding.h"
#include "analyzer/model/model.h"
#include "analyzer/render/output.h"
#include "analyzer/report/event_filter.h"
#include "analyzer/stacks/stack_view.h"
#include "analyzer/steps/steps.h"

namespace ddbg::analyzer {

struct PerfettoInput {
  const Run& run;
  const Timeline& timeline;
  const Matching& matching;
  const Messages& messages;
  const Steps& steps;
  const Diagnosis& diagnosis;
};

// `views` may be null: no source lines.
void ExportPerfetto(const PerfettoInput& input, const EventFilter& filter, StackViews* views, Output& out);

}  // namespace ddbg::analyzer
