#include "fabric/ofi/endpoint.h"

#include <algorithm>
#include <csignal>

#include <sys/resource.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "base/text.h"
#include "fabric/window_table.h"

namespace weft::fabric::ofi {

namespace {

// Some providers (shm) install handlers for these signals, over whatever is there. The fault trap and the user's handlers stay.
class signal_keeper {
 public:
  signal_keeper() {
    for (std::size_t i = 0; i < std::size(signals); ++i) ::sigaction(signals[i], nullptr, &before_[i]);
  }
  ~signal_keeper() {
    for (std::size_t i = 0; i < std::size(signals); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }
  signal_keeper(const signal_keeper&) = delete;
  signal_keeper& operator=(const signal_keeper&) = delete;

 private:
  static constexpr int signals[] = {SIGSEGV, SIGBUS, SIGINT, SIGTERM};
  struct sigaction before_[std::size(signals)];
};

}  // namespace

status endpoint::failure(const char* what, std::int64_t code) const {
  return {errc::system, base::format("libfabric's provider \"%s\" cannot %s: %s", info().fabric_attr->prov_name, what,
                                     library_->explain(code).c_str())};
}

status endpoint::open(const library& l, selection chosen, std::size_t sends, std::size_t receives) {
  const signal_keeper signals;
  library_ = &l;
  chosen_ = std::move(chosen);
  fi_info* about = chosen_.info.get();
  // Providers make buffers for as many as they offer; weft needs fewer.
  about->tx_attr->size = std::min(about->tx_attr->size, sends);
  about->rx_attr->size = std::min(about->rx_attr->size, receives);
  fid_fabric* fabric = nullptr;
  if (const int code = l.fabric(about->fabric_attr, &fabric, nullptr); code != 0) return failure("open its fabric", code);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int code = ::fi_domain(fabric, about, &domain, nullptr); code != 0) return failure("open its domain", code);
  domain_.reset(domain);
  fi_av_attr av{};
  av.type = about->domain_attr->av_type;
  fid_av* addresses = nullptr;
  if (const int code = ::fi_av_open(domain, &av, &addresses, nullptr); code != 0) return failure("make an address vector", code);
  addresses_.reset(addresses);
  if (auto made = open_queue(sends + receives); !made) return made;
  return open_endpoint();
}

status endpoint::open_queue(std::size_t completions) {
  fi_cq_attr attributes{};
  attributes.size = completions;
  attributes.format = FI_CQ_FORMAT_MSG;
  attributes.wait_obj = chosen_.plan.wait_fd ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* queue = nullptr;
  int code = ::fi_cq_open(domain_.get(), &attributes, &queue, nullptr);
  if (code != 0 && attributes.wait_obj == FI_WAIT_FD) {
    attributes.wait_obj = FI_WAIT_NONE;
    code = ::fi_cq_open(domain_.get(), &attributes, &queue, nullptr);
  }
  if (code != 0) return failure("make a completion queue", code);
  queue_.reset(queue);
  if (attributes.wait_obj == FI_WAIT_FD && ::fi_control(&queue->fid, FI_GETWAIT, &wait_fd_) != 0) wait_fd_ = -1;
  return {};
}

status endpoint::open_endpoint() {
  fid_ep* made = nullptr;
  if (const int code = ::fi_endpoint(domain_.get(), chosen_.info.get(), &made, nullptr); code != 0)
    return failure("make an endpoint", code);
  endpoint_.reset(made);
  if (const int code = ::fi_ep_bind(made, &addresses_->fid, 0); code != 0) return failure("bind its address vector", code);
  if (const int code = ::fi_ep_bind(made, &queue_->fid, FI_TRANSMIT | FI_RECV); code != 0)
    return failure("bind its completion queue", code);
  if (const int code = ::fi_enable(made); code != 0) return failure("enable its endpoint", code);
  if (chosen_.plan.atomics && !atomics_are_valid()) chosen_.plan.atomics = false;
  return {};
}

bool endpoint::atomics_are_valid() {
  std::size_t count = 0;
  auto fetches = [&](fi_op op) { return ::fi_fetch_atomicvalid(endpoint_.get(), FI_UINT64, op, &count) == 0 && count > 0; };
  return fetches(FI_SUM) && fetches(FI_ATOMIC_WRITE) && fetches(FI_BAND) && fetches(FI_BOR) &&
         ::fi_compare_atomicvalid(endpoint_.get(), FI_UINT64, FI_CSWAP, &count) == 0 && count > 0;
}

result<base::byte_buffer> endpoint::address() const {
  base::byte_buffer where(512);
  std::size_t size = where.size();
  if (const int code = ::fi_getname(&endpoint_->fid, where.data(), &size); code != 0) return failure("tell its address", code);
  where.resize(size);
  return where;
}

result<std::vector<fi_addr_t>> endpoint::insert(std::span<const base::byte_buffer> addresses) {
  std::vector<fi_addr_t> inserted;
  auto held = turn();
  for (const auto& a : addresses) {
    fi_addr_t where = FI_ADDR_UNSPEC;
    const int count = ::fi_av_insert(addresses_.get(), a.data(), 1, &where, 0, nullptr);
    if (count != 1) return failure("take a node's address", count < 0 ? count : -FI_EINVAL);
    inserted.push_back(where);
  }
  return inserted;
}

status endpoint::registration_failure(std::size_t size, std::int64_t code) const {
  if (code != -FI_ENOMEM && code != -FI_EPERM && code != -FI_EAGAIN) return failure("register memory", code);
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return {errc::system,
          base::format(
              "libfabric's provider \"%s\" cannot register %zu KiB of memory (%s): the limit on locked memory is %llu KiB; raise "
              "it (ulimit -l unlimited)",
              info().fabric_attr->prov_name, size >> 10, library_->explain(code).c_str(),
              static_cast<unsigned long long>(limit.rlim_cur >> 10))};
}

result<region> endpoint::register_memory(std::byte* base, std::size_t size, std::uint64_t access) {
  auto held = turn();
  region r;
  fid_mr* made = nullptr;
  int code = -FI_ENOKEY;
  for (int tries = 0; tries < 16 && code == -FI_ENOKEY; ++tries) {  // a key of our own choice may be taken
    const std::uint64_t key = plan().provider_keys ? 0 : new_capability() & plan().key_mask;
    code = ::fi_mr_reg(domain_.get(), base, size, access, 0, key, 0, &made, nullptr);
  }
  if (code != 0) return registration_failure(size, code);
  r.handle.reset(made);
  if (plan().bind_regions) {
    if (code = ::fi_mr_bind(made, &endpoint_->fid, 0); code != 0) return failure("bind memory to its endpoint", code);
    if (code = ::fi_mr_enable(made); code != 0) return failure("enable memory", code);
  }
  r.key = ::fi_mr_key(made);
  r.address = plan().virtual_addresses ? reinterpret_cast<std::uintptr_t>(base) : 0;
  return r;
}

void endpoint::close(region& r) {
  auto held = turn();
  r.handle.reset();
}

// --- posting ----------------------------------------------------------------------------------------------------------------------

std::int64_t endpoint::receive(operation& o, std::size_t size) {
  auto held = turn();
  return ::fi_recv(endpoint_.get(), o.buffer, size, o.descriptor, FI_ADDR_UNSPEC, &o.context);
}

std::int64_t endpoint::send(operation& o, fi_addr_t to) {
  auto held = turn();
  return ::fi_send(endpoint_.get(), o.buffer, o.size, o.descriptor, to, &o.context);
}

std::int64_t endpoint::inject(bytes frame, fi_addr_t to) {
  auto held = turn();
  return ::fi_inject(endpoint_.get(), frame.data(), frame.size(), to);
}

std::int64_t endpoint::write(operation& o, bytes from, void* descriptor, const remote_address& to) {
  auto held = turn();
  if (!plan().delivery)
    return ::fi_write(endpoint_.get(), from.data(), from.size(), descriptor, to.node, to.address, to.key, &o.context);
  const iovec local{const_cast<std::byte*>(from.data()), from.size()};
  const fi_rma_iov remote{to.address, from.size(), to.key};
  fi_msg_rma m{};
  m.msg_iov = &local;
  m.desc = &descriptor;
  m.iov_count = 1;
  m.addr = to.node;
  m.rma_iov = &remote;
  m.rma_iov_count = 1;
  m.context = &o.context;
  return ::fi_writemsg(endpoint_.get(), &m, FI_DELIVERY_COMPLETE | FI_COMPLETION);
}

std::int64_t endpoint::inject_write(bytes from, const remote_address& to) {
  auto held = turn();
  return ::fi_inject_write(endpoint_.get(), from.data(), from.size(), to.node, to.address, to.key);
}

std::int64_t endpoint::read(operation& o, mutable_bytes into, void* descriptor, const remote_address& from) {
  auto held = turn();
  return ::fi_read(endpoint_.get(), into.data(), into.size(), descriptor, from.node, from.address, from.key, &o.context);
}

static fi_op fetching_operation(endpoint::atomic_operation what) {
  switch (what) {
    case endpoint::atomic_operation::add: return FI_SUM;
    case endpoint::atomic_operation::bit_and: return FI_BAND;
    case endpoint::atomic_operation::bit_or: return FI_BOR;
    default: return FI_ATOMIC_WRITE;
  }
}

std::int64_t endpoint::atomic(operation& o, atomic_operation what, const remote_address& on) {
  auto held = turn();
  auto* words = reinterpret_cast<word*>(o.buffer);
  if (what == atomic_operation::compare_swap)
    return ::fi_compare_atomic(endpoint_.get(), &words[0], 1, o.descriptor, &words[1], o.descriptor, &words[2], o.descriptor,
                               on.node, on.address, on.key, FI_UINT64, FI_CSWAP, &o.context);
  return ::fi_fetch_atomic(endpoint_.get(), &words[0], 1, o.descriptor, &words[2], o.descriptor, on.node, on.address, on.key,
                           FI_UINT64, fetching_operation(what), &o.context);
}

// --- completions ------------------------------------------------------------------------------------------------------------------

std::int64_t endpoint::read_completions(std::span<fi_cq_msg_entry> into) {
  auto held = turn();
  return ::fi_cq_read(queue_.get(), into.data(), into.size());
}

bool endpoint::read_error(fi_cq_err_entry& into) {
  auto held = turn();
  return ::fi_cq_readerr(queue_.get(), &into, 0) == 1;
}

std::string endpoint::explain(const fi_cq_err_entry& e) const {
  char text[256] = {};
  const char* more = ::fi_cq_strerror(queue_.get(), e.prov_errno, e.err_data, text, sizeof text);
  std::string why = library_->explain(e.err);
  if (more && *more && why != more) why += std::string(" (") + more + ")";
  return why;
}

bool endpoint::may_sleep() {
  auto held = turn();
  fid* what[] = {&queue_->fid};
  return ::fi_trywait(fabric_.get(), what, 1) == FI_SUCCESS;
}

}  // namespace weft::fabric::ofi
