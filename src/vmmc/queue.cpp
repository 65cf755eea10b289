// Queues by name: the capability lies in exported memory, where senders fetch it.
#include <weft/queue.h>

#include <cstring>

namespace weft {

namespace {

std::string exported_name(std::string_view name) {
  return "queue " + std::string(name);
}

}  // namespace

result<local_queue> make_queue(vmmc& v, std::string_view name, std::size_t bound, std::vector<node_id> nodes) {
  auto card = v.port().allocate(sizeof(queue));
  if (!card) return card.failure();
  auto made = v.port().make_queue(bound);
  if (!made) return made.failure();
  std::memcpy(card->base, &*made, sizeof(queue));
  auto shown = v.export_memory(exported_name(name), *card, {.allowed = rights::read, .nodes = std::move(nodes)});
  if (!shown) {
    v.port().drop_queue(*made).ignore();
    return shown.failure();
  }
  return local_queue(v.port(), *made, std::move(*shown));
}

result<remote_queue> find_queue(vmmc& v, node_id node, std::string_view name, std::chrono::nanoseconds limit) {
  auto card = v.import_memory(node, exported_name(name), {.need = rights::read, .limit = limit});
  if (!card) return card.failure();
  queue found;
  if (auto got = card->fetch(0, std::as_writable_bytes(std::span(&found, 1))); !got) return got;
  return remote_queue(v.port(), node, found);
}

}  // namespace weft
