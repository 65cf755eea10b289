#include "dst/goodput.h"

#include <deque>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "reliable/link.h"

namespace dst {

namespace wr = weft::reliable;
using weft::base::nanoseconds;

namespace {

class wire {
 public:
  wire(const goodput_options& o, std::uint64_t seed) : options_(o), random_(seed) {}

  void send(nanoseconds now, const wr::link::outgoing& out) {
    const std::size_t size = out.header.size() + out.payload.size();
    busy_until_ = std::max(now, busy_until_) + static_cast<nanoseconds>(static_cast<double>(size) / options_.bytes_per_nanosecond);
    if (random_.chance(options_.loss)) return;
    weft::base::byte_buffer datagram(out.header.begin(), out.header.end());
    datagram.insert(datagram.end(), out.payload.begin(), out.payload.end());
    under_way_.push_back({busy_until_ + options_.one_way, std::move(datagram)});
  }

  nanoseconds next() const { return under_way_.empty() ? wr::never : under_way_.front().due; }
  weft::base::byte_buffer take() {
    auto datagram = std::move(under_way_.front().datagram);
    under_way_.pop_front();
    return datagram;
  }

 private:
  struct entry {
    nanoseconds due;
    weft::base::byte_buffer datagram;
  };
  goodput_options options_;
  weft::base::random random_;
  nanoseconds busy_until_ = 0;
  std::deque<entry> under_way_;
};

std::uint64_t consume(wr::link& l) {
  std::uint64_t delivered = 0;
  while (auto record = l.front(weft::lane::request)) {
    delivered += record->size();
    l.pop(weft::lane::request);
  }
  return delivered;
}

}  // namespace

double goodput(const goodput_options& options) {
  const wr::seal sealer(wr::seal::key{});
  wr::link_options o;
  o.sealer = &sealer;
  o.self = 0, o.peer = 1, o.incarnation = 1;
  wr::link sender(o);
  o.self = 1, o.peer = 0, o.incarnation = 2;
  wr::link receiver(o);
  wire there(options, options.seed * 2), back(options, options.seed * 2 + 1);
  const std::vector<std::byte> record(sender.room_in_packet(weft::lane::request));

  std::uint64_t delivered = 0;
  for (nanoseconds now = 0; now < options.time;) {
    while (there.next() <= now) {
      const auto datagram = there.take();
      receiver.receive(now, datagram);
      delivered += consume(receiver);
      receiver.settle();
    }
    while (back.next() <= now) {
      const auto datagram = back.take();
      sender.receive(now, datagram);
      sender.settle();
    }
    while (sender.room(weft::lane::request, record.size())) sender.push(weft::lane::request, record);
    wr::link::outgoing out;
    while (sender.transmit(now, out)) there.send(now, out);
    while (receiver.transmit(now, out)) back.send(now, out);
    now = std::max(now + 1, std::min({there.next(), back.next(), sender.deadline(), receiver.deadline()}));
  }
  return static_cast<double>(delivered) / static_cast<double>(options.time);
}

}  // namespace dst
