#include "fabric/ofi/plan.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "base/text.h"
#include "fabric/ofi/frame.h"

namespace weft::fabric::ofi {

namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 30;  // bytes of one read or write: keeps lengths within 32 bits everywhere
constexpr std::uint32_t most_credits = 64;
constexpr std::size_t page_slot = 4608;  // a page with its words and header travels in one frame

void narrow(plan& p) {
  const char* wishes = std::getenv("WEFT_OFI");
  if (!wishes) return;
  for (const std::string& wish : base::split(wishes, ',')) {
    if (wish == "no-rma") p.rma = p.atomics = p.one_sided = false;
    if (wish == "no-atomics") p.atomics = false;
    if (wish == "no-order" && p.delivery)
      p.send_after_write = p.send_after_read = p.write_after_write = p.write_after_read = p.read_after_write =
          p.atomic_after_write = false;
    if (wish == "no-inject") p.inject = 0;
    if (wish == "no-wait-fd") p.wait_fd = false;
    if (wish == "no-bell") p.bell = false;
    if (wish == "register-local") p.register_local = true;
    if (wish == "one-lock") p.one_lock = true;
    if (wish == "all-rma") p.all_rma = true;
  }
}

void read_order(plan& p, const fi_info& info) {
  const std::uint64_t order = info.tx_attr->msg_order & info.rx_attr->msg_order;
  // An order of data holds up to a size; 0 says that it does not hold at all.
  const bool waw = info.ep_attr->max_order_waw_size >= sizeof(word), raw = info.ep_attr->max_order_raw_size >= sizeof(word),
             war = info.ep_attr->max_order_war_size >= sizeof(word);
  p.send_after_send = order & FI_ORDER_SAS;
  p.send_after_write = order & FI_ORDER_SAW;
  p.send_after_read = order & FI_ORDER_SAR;
  p.write_after_write = waw && (order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW));
  p.write_after_read = war && (order & (FI_ORDER_WAR | FI_ORDER_RMA_WAR));
  p.read_after_write = raw && (order & (FI_ORDER_RAW | FI_ORDER_RMA_RAW));
  // Only the unqualified bits speak of atomics and writes together.
  p.atomic_after_write = waw && raw && (order & FI_ORDER_WAW) && (order & FI_ORDER_RAW);
  p.largest_write = std::min(info.ep_attr->max_msg_size, most_at_once);
  p.largest_read = p.largest_write;
  if (p.write_after_write) p.largest_write = std::min(p.largest_write, info.ep_attr->max_order_waw_size);
  if (p.read_after_write) p.largest_read = std::min(p.largest_read, info.ep_attr->max_order_raw_size);
}

// Providers whose adapters perform remote memory access themselves, although messages, and so the provider as a whole, want driving.
bool adapter_performs(const fi_info& info) {
  const std::string_view name = info.fabric_attr->prov_name, core = name.substr(0, name.find(';'));
  return core == "verbs" || core == "cxi" || core == "gni";
}

}  // namespace

plan make_plan(const fi_info& info, bool delivers) {
  plan p;
  read_order(p, info);
  p.delivery = delivers;
  p.rma = (info.caps & FI_RMA) != 0;
  p.atomics = (info.caps & FI_ATOMIC) != 0;
  const int mr = info.domain_attr->mr_mode;
  p.register_local = mr & FI_MR_LOCAL;
  p.virtual_addresses = mr & FI_MR_VIRT_ADDR;
  p.provider_keys = mr & FI_MR_PROV_KEY;
  p.bind_regions = mr & FI_MR_ENDPOINT;
  if (info.domain_attr->mr_key_size < sizeof p.key_mask) p.key_mask = (std::uint64_t{1} << (8 * info.domain_attr->mr_key_size)) - 1;
  p.inject = info.tx_attr->inject_size;
  p.transmit_depth = std::max<std::size_t>(info.tx_attr->size, 16);
  p.receive_depth = std::max<std::size_t>(info.rx_attr->size, 16);
  p.one_lock = info.domain_attr->threading != FI_THREAD_SAFE;
  // Where a post ends in the peer's memory, a bell rung afterwards finds it there. Elsewhere it would ring too early.
  p.bell = info.ep_attr->protocol == FI_PROTO_SHM;
  p.one_sided = p.rma && (info.domain_attr->data_progress == FI_PROGRESS_AUTO || adapter_performs(info));
  narrow(p);
  // Without an order behind writes and without word of their delivery, a message after a put could not be placed.
  if (p.rma && !p.ordered_puts() && !p.delivery) p.rma = p.atomics = p.one_sided = false;
  p.delivery = p.delivery && !p.ordered_puts();
  return p;
}

// A message of the largest size must fit into the credits that are left when the receiver keeps back as many as it may before it tells
// of them (half): so few credits mean large frames.
void size_lanes(plan& p, node_id nodes, std::size_t largest_message) {
  const std::size_t peers = std::max<std::size_t>(1, nodes - 1);
  const std::size_t room = p.receive_depth / peers;
  p.credits = static_cast<std::uint32_t>(std::clamp<std::size_t>(room > 6 ? (room - 6) / lanes : 1, 1, most_credits));
  const std::size_t frames = p.credits - credits_kept(p.credits) + 1;
  p.slot = (largest_message + frames - 1) / frames + sizeof(frame_header);
  p.slot = std::max((p.slot + 511) & ~std::size_t{511}, page_slot);
}

}  // namespace weft::fabric::ofi
