// What a provider offers, in the words that the port decides by. Everything here is the provider's own statement (fi_getinfo); nothing
// is assumed of any of them.
//
// WEFT_OFI, an environment variable, narrows the plan: a list of words, separated by commas, for finding out what a misbehaving provider
// trips over and for walking the slow paths on machines that have only the fast ones: no-rma, no-atomics, no-order, no-inject,
// no-wait-fd, no-bell, register-local (pretend that local buffers must be registered), one-lock (serialise all calls),
// all-rma (remote memory access also where a message would do as well).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fabric/fabric.h"
#include "fabric/ofi/library.h"

namespace weft::fabric::ofi {

struct plan {
  // What it can do.
  bool rma = false;        // reads and writes of remote memory
  bool atomics = false;    // fetching atomics on 64-bit words
  bool one_sided = false;  // they make progress without a thread of the destination

  // What it keeps in order, to one destination. What it does not, the port orders by waiting for completions.
  bool send_after_send = false;
  bool send_after_write = false;
  bool send_after_read = false;
  bool write_after_write = false;
  bool write_after_read = false;
  bool read_after_write = false;
  bool atomic_after_write = false;
  bool delivery = false;  // writes are issued so that their completion says that they have been performed

  // How memory is registered.
  bool register_local = false;  // buffers on this side, too
  bool virtual_addresses = false;
  bool provider_keys = false;
  bool bind_regions = false;  // regions belong to the endpoint
  std::uint64_t key_mask = ~std::uint64_t{0};

  // Sizes.
  std::size_t inject = 0;         // bytes of a message or write that are taken at the call
  std::size_t largest_write = 0;  // of one operation, within which the order above holds
  std::size_t largest_read = 0;
  std::size_t transmit_depth = 0, receive_depth = 0;
  std::size_t slot = 0;       // bytes of one frame
  std::uint32_t credits = 0;  // frames that a peer may send on a lane before it hears of room again

  // How it is driven.
  bool one_lock = false;  // it wants one thread at a time
  bool wait_fd = true;    // to be tried
  bool bell = false;      // to be tried where there is no wait_fd
  bool all_rma = false;

  bool ordered_puts() const noexcept { return write_after_write && send_after_write; }
};

// Reads the provider's statement. `delivers`: it can complete writes when they have been performed.
plan make_plan(const fi_info& info, bool delivers);

// The frame size and credits with which every frame that a peer may send finds a buffer waiting.
void size_lanes(plan& p, node_id nodes, std::size_t largest_message);

// Frames that a peer may have under way to this node at a time: its credits on both lanes, and control frames.
constexpr std::size_t frames_a_peer(const plan& p) noexcept {
  return lanes * std::size_t{p.credits} + 6;
}

}  // namespace weft::fabric::ofi
