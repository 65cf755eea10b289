#include "reliable/impair.h"

#include <algorithm>

#include "base/text.h"

namespace weft::reliable {

namespace {

constexpr std::size_t most_spare = 16;

// How long a datagram is held back so that later ones overtake it, beyond the path's own delay.
constexpr base::nanoseconds least_hold = 20 * base::microsecond, most_hold = 200 * base::microsecond;

status bad(std::string_view part, const char* expected) {
  return {errc::invalid_argument,
          base::format("impairment: '%.*s' is not understood: %s", static_cast<int>(part.size()), part.data(), expected)};
}

status set_share(double& into, std::string_view part, std::string_view value) {
  const auto share = base::parse_share(value);
  if (!share) return bad(part, "write a share such as 5% or 0.05");
  into = *share;
  return {};
}

status set_duration(base::nanoseconds& into, std::string_view part, std::string_view value) {
  const auto duration = base::parse_duration(value);
  if (!duration) return bad(part, "write a time such as 100us or 2ms");
  into = *duration;
  return {};
}

status set(impairment& into, std::string_view part) {
  const auto equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
  if (name == "loss") return set_share(into.loss, part, value);
  if (name == "dup") return set_share(into.duplicate, part, value);
  if (name == "reorder") return set_share(into.reorder, part, value);
  if (name == "corrupt") return set_share(into.corrupt, part, value);
  if (name == "delay") return set_duration(into.delay, part, value);
  if (name == "jitter") return set_duration(into.jitter, part, value);
  if (name != "seed") return bad(part, "the names are loss, dup, reorder, corrupt, delay, jitter and seed");
  const auto seed = base::parse_number(value);
  if (!seed) return bad(part, "write a whole number such as seed=7");
  into.seed = *seed;
  return {};
}

}  // namespace

result<impairment> impairment::parse(std::string_view text) {
  impairment parsed;
  if (text.empty()) return parsed;
  for (const auto& part : base::split(text, ','))
    if (status s = set(parsed, part); !s) return s;
  return parsed;
}

std::string impairment::text() const {
  return base::format("loss=%g%%,dup=%g%%,reorder=%g%%,corrupt=%g%%,delay=%lldns,jitter=%lldns,seed=%llu", loss * 100,
                      duplicate * 100, reorder * 100, corrupt * 100, static_cast<long long>(delay), static_cast<long long>(jitter),
                      static_cast<unsigned long long>(seed));
}

void impaired_path::push(base::nanoseconds now, bytes head, bytes body) {
  if (random_.chance(how_.loss)) return;
  enqueue(now, head, body);
  if (random_.chance(how_.duplicate)) enqueue(now, head, body);
}

void impaired_path::enqueue(base::nanoseconds now, bytes head, bytes body) {
  const std::size_t size = head.size() + body.size();
  if (queue_.size() >= most_queued || queued_bytes_ + size > most_queued_bytes) {
    ++overflowed_;
    return;
  }
  entry e{now + how_.delay, next_serial_++, {}};
  if (!spare_.empty()) {
    e.datagram = std::move(spare_.back());
    spare_.pop_back();
  }
  e.datagram.assign(head.begin(), head.end());
  e.datagram.insert(e.datagram.end(), body.begin(), body.end());
  if (how_.jitter > 0) e.due += static_cast<base::nanoseconds>(random_.below(static_cast<std::uint64_t>(how_.jitter) + 1));
  if (random_.chance(how_.reorder)) e.due += static_cast<base::nanoseconds>(random_.between(least_hold, most_hold));
  if (random_.chance(how_.corrupt)) damage(e.datagram);
  queued_bytes_ += e.datagram.size();
  queue_.push_back(std::move(e));
  std::push_heap(queue_.begin(), queue_.end(), later);
}

// Flips a few bits anywhere, or cuts the end off.
void impaired_path::damage(base::byte_buffer& datagram) {
  if (datagram.empty()) return;
  if (random_.chance(0.1)) {
    datagram.resize(random_.below(datagram.size()));
    return;
  }
  for (auto flips = random_.between(1, 4); flips != 0; --flips)
    datagram[random_.below(datagram.size())] ^= std::byte{1} << random_.below(8);
}

std::optional<bytes> impaired_path::pop_due(base::nanoseconds now) {
  if (queue_.empty() || queue_.front().due > now) return std::nullopt;
  std::pop_heap(queue_.begin(), queue_.end(), later);
  if (spare_.size() < most_spare) spare_.push_back(std::move(given_));
  given_ = std::move(queue_.back().datagram);
  queue_.pop_back();
  queued_bytes_ -= given_.size();
  return bytes(given_);
}

}  // namespace weft::reliable
