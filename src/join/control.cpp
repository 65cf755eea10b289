#include "join/control.h"

#include <concepts>
#include <type_traits>

namespace weft::control {
namespace {

template <typename T>
concept plain = std::integral<T> || std::same_as<T, std::array<std::byte, 16>>;

void write(base::writer& out, const plain auto& value) {
  out.put(value);
}
void write(base::writer& out, const std::string& text) {
  out.put_text(text);
}
void write(base::writer& out, const byte_buffer& block) {
  out.put_block(block);
}

void write(base::writer& out, const thread_state& t) {
  thread_state copy = t;  // fields() is for both ways
  std::apply([&out](const auto&... field) { (write(out, field), ...); }, copy.fields());
}

template <typename T>
void write(base::writer& out, const std::vector<T>& list) {
  out.put(static_cast<std::uint32_t>(list.size()));
  for (const auto& each : list) write(out, each);
}

void write(base::writer& out, const std::map<std::string, std::string>& map) {
  out.put(static_cast<std::uint32_t>(map.size()));
  for (const auto& [name, value] : map) out.put_text(name).put_text(value);
}

// Each gives false when the bytes are not what encode() would have written.
bool read(base::reader& in, plain auto& value) {
  value = in.take<std::remove_reference_t<decltype(value)>>();
  return in.ok();
}

bool read(base::reader& in, std::string& text) {
  text = in.take_text();
  return in.ok();
}

bool read(base::reader& in, byte_buffer& block) {
  const auto taken = in.take_block();
  block.assign(taken.begin(), taken.end());
  return in.ok();
}

bool read(base::reader& in, thread_state& t) {
  return std::apply([&in](auto&... field) { return (read(in, field) && ...); }, t.fields());
}

template <typename T>
bool read(base::reader& in, std::vector<T>& list) {
  const auto count = in.take<std::uint32_t>();
  if (!in.ok() || count > in.left() / sizeof(std::uint32_t)) return false;  // an element takes four bytes at the least
  list.resize(count);
  for (auto& each : list)
    if (!read(in, each)) return false;
  return true;
}

bool read(base::reader& in, std::map<std::string, std::string>& map) {
  const auto count = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    auto name = in.take_text();
    auto value = in.take_text();
    if (!map.empty() && name <= map.rbegin()->first) return false;  // the writer's order is the map's
    map.emplace_hint(map.end(), std::move(name), std::move(value));
  }
  return in.ok();
}

template <std::size_t Kind = 0>
std::optional<message> decode_as(std::size_t kind, base::reader& in) {
  if constexpr (Kind < std::variant_size_v<message>) {
    if (kind != Kind) return decode_as<Kind + 1>(kind, in);
    std::variant_alternative_t<Kind, message> m;
    const bool well_formed = std::apply([&in](auto&... field) { return (read(in, field) && ...); }, m.fields());
    if (!well_formed || !in.complete()) return std::nullopt;
    return message(std::move(m));
  } else {
    return std::nullopt;
  }
}

}  // namespace

byte_buffer encode(message m) {
  base::writer out;
  out.put(std::uint32_t{0}).put(static_cast<std::uint8_t>(m.index()));
  std::visit([&out](auto& each) { std::apply([&out](const auto&... field) { (write(out, field), ...); }, each.fields()); }, m);
  auto frame = out.take();
  if (frame.size() - header_bytes > most_bytes) return {};
  base::store(frame.data(), static_cast<std::uint32_t>(frame.size() - header_bytes));
  return frame;
}

std::optional<message> decode(byte_view frame) {
  base::reader in(frame);
  const auto kind = in.take<std::uint8_t>();
  if (!in.ok()) return std::nullopt;
  return decode_as(kind, in);
}

void parser::feed(byte_view more) {
  if (broken_) return;
  if (begin_ == held_.size()) {
    held_.clear();
    begin_ = 0;
  } else if (begin_ > held_.size() / 2) {
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  held_.insert(held_.end(), more.begin(), more.end());
}

std::optional<message> parser::next() {
  const byte_view rest = byte_view(held_).subspan(begin_);
  if (broken_ || rest.size() < header_bytes) return std::nullopt;
  const std::size_t length = base::load<std::uint32_t>(rest.data());
  if (length == 0 || length > most_bytes) {
    broken_ = true;
    return std::nullopt;
  }
  if (rest.size() - header_bytes < length) return std::nullopt;
  auto m = decode(rest.subspan(header_bytes, length));
  begin_ += header_bytes + length;
  if (!m) broken_ = true;
  return m;
}

}  // namespace weft::control
