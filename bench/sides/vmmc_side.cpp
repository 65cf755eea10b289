#include "bench/sides/vmmc_side.h"

#include <cstring>

namespace weft::bench {

template <std::size_t N>
typed_calls<N>::typed_calls(duo& d, active::station& s)
    : pong(s, "pong " + std::to_string(N),
           [&d](const active::caller&, const words&) { d.station().pongs.fetch_add(1, std::memory_order_relaxed); }),
      ping(s, "ping " + std::to_string(N),
           [this](const active::caller& from, const words& w) { pong.reply(from.node, w).or_throw(); }),
      count(s, "count " + std::to_string(N), [&d](const active::caller& from, const words&) { d.count_one(from.node); }),
      take(s, "take " + std::to_string(N), [&d](const active::caller&, const words&) { ++d.station().counted; }) {}

vmmc_side::vmmc_side(duo& d, job& all) : vmmc_(all), station_(all), one_(d, station_), four_(d, station_), twenty_(d, station_) {
  field_ = d.at().allocate(field_bytes).or_throw();
  std::memset(field_.base, 0, field_.size);  // touched, so that no measurement pays for it
  mine_ = vmmc_.export_memory("memory", d.exposed()).or_throw();
  mine_that_listens_ =
      vmmc_.export_memory("memory and notifications", d.exposed(), {.on_notification = [](const notification&) {}}).or_throw();
  my_field_ = vmmc_.export_memory("field", field_).or_throw();
  theirs_ = vmmc_.import_memory(d.other(), "memory").or_throw();
  theirs_that_listens_ = vmmc_.import_memory(d.other(), "memory and notifications").or_throw();
  their_field_ = vmmc_.import_memory(d.other(), "field").or_throw();
  constexpr std::uint64_t never = std::uint64_t{1} << 62;
  segment_ = std::make_unique<active::segment>(station_, field_, never, [] {});
  station_.open();
  their_segment_ = all.exchange_values(segment_->address())[d.other()];
}

mutable_bytes vmmc_side::bind(std::optional<binding>& into, const imported& to, std::size_t size, update_way way, bool combining) {
  if (!into) {
    into = vmmc_.bind(to, 0, size, {.way = way, .combining = combining, .delay = std::chrono::hours(1)}).or_throw();
    std::memset(into->memory().data(), 0, size);
  }
  return into->memory();
}

mutable_bytes vmmc_side::mapped() {
  return bind(mapped_, theirs_, 4096, update_way::mapped, true);
}
mutable_bytes vmmc_side::bound() {
  return bind(bound_, their_field_, field_bytes, update_way::automatic, true);
}
mutable_bytes vmmc_side::tracked(bool combining) {
  return bind(combining ? tracked_ : uncombined_, their_field_, field_bytes, update_way::tracked, combining);
}

std::span<word> vmmc_side::own_field() {
  if (own_field_.empty()) own_field_.resize(field_bytes / sizeof(word));
  return own_field_;
}

void vmmc_side::transfer(bytes what) {
  active::transfer_to(station_, their_segment_, 0, what).or_throw();
}

}  // namespace weft::bench
