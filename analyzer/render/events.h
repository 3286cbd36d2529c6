// What `ddbg events` prints. JSON: one object a line (DESIGN 7); text: one line an event in columns, with the source
// line. Both stream: a run may have millions of events.
#pragma once

#include "analyzer/event_filter.h"
#include "analyzer/model.h"
#include "analyzer/render/output.h"
#include "analyzer/stack_view.h"

namespace ddbg::analyzer {

// `views` may be null: no stacks and no source lines.
void PrintEventsJson(const Run& run, const Timeline& timeline, const EventFilter& filter, StackViews* views,
                     Output& out);
void PrintEventsText(const Run& run, const Timeline& timeline, const EventFilter& filter, StackViews* views,
                     Output& out);

}  // namespace ddbg::analyzer
