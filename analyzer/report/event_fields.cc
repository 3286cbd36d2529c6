#include "analyzer/report/event_fields.h"

#include "analyzer/model/comm_name.h"

namespace ddbg::analyzer {
namespace {

template <typename Make>
KeptText& Kept(std::unordered_map<uint32_t, KeptText>* map, uint32_t id, Make make) {
  auto [entry, fresh] = map->try_emplace(id);
  if (fresh) entry->second.text = make();
  return entry->second;
}

}  // namespace

KeptText& EventTexts::Comm(uint32_t id) {
  return Kept(&comms_, id, [&] { return CommName(process_, id); });
}

KeptText& EventTexts::CommUid(uint32_t id) {
  return Kept(&uids_, id, [&] {
    auto comm = process_.comms.find(id);
    return comm == process_.comms.end() ? "" : CommUidText(comm->second.uid);
  });
}

KeptText& EventTexts::Datatype(uint32_t id) {
  return Kept(&dtypes_, id, [&] { return DatatypeName(process_, id); });
}

KeptText& EventTexts::Kernel(uint32_t id) {
  return Kept(&kernels_, id, [&] { return KernelName(process_, id); });
}

KeptText& EventTexts::MarkName(uint32_t id) {
  return Kept(&mark_names_, id, [&] {
    auto name = process_.mark_names.find(id);
    return name == process_.mark_names.end() ? "" : name->second;
  });
}

KeptText& EventTexts::CallName(const Call& call) {
  // A foreign call's name is found by aux; no call id of this build reaches that far.
  uint32_t key = call.known() ? call.call : static_cast<uint32_t>(kUnknownCall + call.aux);
  return Kept(&calls_, key, [&] { return analyzer::CallName(process_, call); });
}

KeptText& EventTexts::StreamKind(uint32_t id) {
  return Kept(&stream_kinds_, id, [&] {
    auto stream = process_.streams.find(id);
    return stream == process_.streams.end() ? "" : stream->second.kind;
  });
}

KeptStack& EventTexts::Stack(uint32_t id) {
  auto [entry, fresh] = stacks_.try_emplace(id);
  if (fresh) {
    entry->second.view = &views_->Of(process_, id);
    entry->second.line.text = DescribeFrame(entry->second.view->source_frame());
  }
  return entry->second;
}

}  // namespace ddbg::analyzer
