// What `ddbg events` prints. JSON: one object a line (DESIGN 7); text: one line an event in columns, with the source
// line. CSV (`ddbg export`): the keys of JSON as columns, RFC 4180. All stream: a run may have millions of events.
#pragma once

#include "analyzer/model/model.h"
#include "analyzer/render/output.h"
#include "analyzer/report/event_filter.h"
#include "analyzer/stacks/stack_view.h"
#include "analyzer/steps/steps.h"

namespace ddbg::analyzer {

// `views` may be null: no stacks and no source lines; `steps` too: no numbers of steps.
void PrintEventsJson(const Run& run, const Timeline& timeline, const EventFilter& filter, StackViews* views,
                     Output& out, const Steps* steps = nullptr);
void PrintEventsText(const Run& run, const Timeline& timeline, const EventFilter& filter, StackViews* views,
                     Output& out, const Steps* steps = nullptr);
void PrintEventsCsv(const Run& run, const Timeline& timeline, const EventFilter& filter, StackViews* views, Output& out,
                    const Steps* steps = nullptr);

}  // namespace ddbg::analyzer
