#include "dst/coherence/cluster.h"

#include <algorithm>

#include "base/text.h"

namespace dst {

using weft::base::format;

namespace {

cluster_options fit(cluster_options o) {
  if (find_protocol(o.protocol).needs_mapping) o.network = network_style::mapped;
  return o;
}

scheduler::options timing(const cluster_options& o) {
  scheduler::options s;
  s.nodes = o.nodes;
  if (o.network == network_style::datagrams) s.step = weft::base::microsecond;
  return s;
}

}  // namespace

std::string cluster_options::text() const {
  return format("%s, %u nodes, %s (room %zu), %s%s%s%s, %zu KiB for the protocol", protocol.c_str(), nodes, to_string(network),
                room, records_writes ? "writes recorded" : "writes fault", forgets > 0 ? ", pages out" : "",
                naps > 0 ? ", naps" : "", late > 0 ? ", late" : "", protocol_memory >> 10);
}

cluster::state::state(const cluster_options& o, chooser& by)
    : options(fit(o)),
      time(timing(options), by),
      network({o.nodes, options.network, o.room, o.seed, o.late}, time),
      exchanges(o.nodes),
      random(o.seed ^ 0x6e617073) {}

cluster::cluster(const cluster_options& o, chooser& by) : state_(std::make_unique<state>(o, by)) {
  for (node_id n = 0; n < o.nodes; ++n) {
    state_->nodes.push_back(std::make_unique<node>());
    state_->nodes[n]->id_ = n;
    state_->nodes[n]->time_ = &state_->time;
  }
}

cluster::~cluster() {
  if (state_->time.failure()) (void)state_.release();
}

void cluster::run(const std::function<void(node&)>& main) {
  for (auto& n : state_->nodes)
    start(*n, format("n%u.0", n->id()), [this, &main, at = n.get()] {
      build(*at);
      main(*at);
    });
  state_->time.run();
}

// An exception that reaches a thread's end is a failure of the run.
void cluster::start(node& on, std::string name, std::function<void()> body) {
  state_->time.add_thread(on.id(), name, [this, name, run = std::move(body)] {
    try {
      run();
    } catch (const std::exception& e) {
      state_->time.fail(name + ": " + e.what());
    }
  });
}

// Each chore is a thread of its own.
class cluster::chore_starter final : public weft::dsm::chores {
 public:
  chore_starter(cluster& of, node& on) : cluster_(of), node_(on) {}
  void add(std::function<void()> work) override { cluster_.start(node_, format("n%u chore", node_.id()), std::move(work)); }

 private:
  cluster& cluster_;
  node& node_;
};

void cluster::build(node& n) {
  const cluster_options& o = state_->options;
  weft::runtime::space_options how;
  how.protocol = o.protocol;
  how.pages = o.pages;
  how.reports_stores = true;
  how.chores = [&] { return std::make_unique<chore_starter>(*this, n); };
  how.protocol_memory = o.protocol_memory;
  how.engine = [&](std::byte* base, std::size_t size, int file, weft::os::page_engine::fault_handler& handler) {
    auto engine = std::make_unique<sim_engine>(
        sim_engine::options{o.records_writes, o.forgets, o.seed + n.id(), [this] { between_changes(); }}, base, size, file,
        handler);
    n.engine_ = engine.get();
    return weft::result<std::unique_ptr<weft::os::page_engine>>(std::move(engine));
  };
  n.space_ = weft::runtime::software_space::create(state_->network.port(n.id()), how, [&](weft::bytes mine) {
               return exchange(n, mine);
             }).or_throw();
}

void cluster::between_changes() {
  if (state_->random.chance(state_->options.naps))
    state_->time.nap(static_cast<nanoseconds>(state_->random.between(1, 300)) * weft::base::microsecond);
  else
    state_->time.yield();
}

std::vector<std::vector<std::byte>> cluster::exchange(node& n, weft::bytes mine) {
  const weft::sim::exchanges::round& r = state_->exchanges.give(n.id(), mine);
  for (node_id other = 0; other < state_->nodes.size(); ++other) state_->time.news(other);
  state_->time.wait([&] { return r.complete(); }, scheduler::never, "waits for the others to be set up");
  return r.from;
}

weft::sync_object& cluster::object(std::size_t number) {
  while (state_->objects.size() <= number) {
    state_->objects.push_back(std::make_unique<weft::sync_object>());
    state_->objects.back()->number.store(weft::space::elsewhere | (state_->objects.size() - 1));
  }
  return *state_->objects[number];
}

void cluster::meet(meeting& where, std::size_t expected, const char* what, const std::function<void()>& last) {
  const std::size_t generation = where.generation;
  if (++where.arrived == expected) {
    if (last) last();
    where.arrived = 0;
    ++where.generation;
    for (node_id n = 0; n < state_->nodes.size(); ++n) state_->time.news(n);
    return;
  }
  state_->time.wait([&] { return where.generation != generation; }, scheduler::never, what);
}

void cluster::node::access(const std::byte* address, std::size_t size, bool write, const piece& visit, std::size_t longest) {
  auto offset = static_cast<std::size_t>(address - weft::runtime::region_base);
  for (std::size_t done = 0; done < size;) {
    const std::size_t within = (offset + done) % weft::dsm::page_bytes;
    const std::size_t now = std::min({size - done, weft::dsm::page_bytes - within, longest});
    std::byte* const here = engine_->access((offset + done) / weft::dsm::page_bytes, write) + within;
    if (write) space_->stored(address + done, now);
    visit(here, done, now);
    done += now;
    time_->yield();
  }
}

}  // namespace dst
