// Reading and writing plain values in byte buffers. Everything that parses bytes from outside goes through `reader`, which never
// reads past the end: one failed read makes all later ones fail, so a parser checks once, at the end. Little-endian, as the wire is.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft::base {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian and so are the machines weft runs on");

using byte_view = std::span<const std::byte>;
using byte_buffer = std::vector<std::byte>;

template <typename T>
requires std::is_trivially_copyable_v<T> byte_view bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

inline byte_view bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

template <typename T>
T load(const std::byte* from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void store(std::byte* to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(to, &value, sizeof value);
}

class reader {
 public:
  explicit reader(byte_view input) : rest_(input) {}

  template <typename T>
  T take() {
    if (!require(sizeof(T))) return T{};
    T value = load<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }

  byte_view take_bytes(std::size_t count) {
    if (!require(count)) return {};
    auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  // A 32-bit length and that many bytes.
  byte_view take_block() { return take_bytes(take<std::uint32_t>()); }
  std::string take_text() {
    auto b = take_block();
    return {reinterpret_cast<const char*>(b.data()), b.size()};
  }

  byte_view rest() const { return rest_; }
  std::size_t left() const { return rest_.size(); }
  bool ok() const { return ok_; }
  bool complete() const { return ok_ && rest_.empty(); }

 private:
  bool require(std::size_t count) {
    if (ok_ && count <= rest_.size()) return true;
    ok_ = false;
    rest_ = {};
    return false;
  }

  byte_view rest_;
  bool ok_ = true;
};

class writer {
 public:
  template <typename T>
  writer& put(const T& value) {
    return put_bytes(bytes_of(value));
  }
  writer& put_bytes(byte_view b) {
    if (b.empty()) return *this;
    const std::size_t at = out_.size();
    out_.resize(at + b.size());
    std::memcpy(out_.data() + at, b.data(), b.size());
    return *this;
  }
  writer& put_block(byte_view b) {
    put(static_cast<std::uint32_t>(b.size()));
    return put_bytes(b);
  }
  writer& put_text(std::string_view text) { return put_block(bytes_of(text)); }

  byte_view view() const { return out_; }
  byte_buffer take() { return std::move(out_); }
  void clear() { out_.clear(); }  // and keep the memory

 private:
  byte_buffer out_;
};

}  // namespace weft::base
