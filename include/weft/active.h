// Active messages after JAM (StarT-JR, section 4), typed: a call names a function of another node and carries its arguments; there
// it runs at once, on the thread that drives the port, and may answer.
//
//   weft::active::station station(job);
//   weft::active::function<void(int, double)> answer(station, "answer", [&](const weft::active::caller&, int i, double x) { ... });
//   weft::active::function<void(int)> ask(station, "ask", [&](const weft::active::caller& from, int i) {
//     answer.reply(from.node, i, 0.5 * i).ignore();
//   });
//   station.open();              // collective: checks that all nodes registered the same
//   ask(1, 42).or_throw();       // runs on node 1
//
// examples/active.cpp is the whole program.
//
// Arguments are trivially copyable and take together at most 20 words of 8 bytes, checked when compiled; a last argument of type
// weft::bytes is a payload of up to most_payload bytes, valid until the function returns.
//
// Lanes. operator() calls on the request lane; reply() on the reply lane, which moves whatever the request lane does. A function
// that runs may update, enqueue and reply, to anybody; whatever would wait, a call on the request lane included, gives
// errc::would_block.
//
// Names. A function's handler number follows from its name, the same on every node without asking. Two names with one number, or
// nodes that disagree about a function's arguments, are found when registering or opening, and thrown as weft::error.
//
// Threads. Any thread may call. Functions run one at a time on a node. A function object stays where it is until the job ends.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <weft/port.h>
#include <weft/vmmc.h>

namespace weft::active {

// Where a call comes from.
struct caller {
  port& at;
  node_id node;
  weft::lane lane;
};

template <typename T>
concept argument = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

class segment;
struct segment_state;

// A node's functions and segments. Functions are registered before open(), in any order; calls are made after it.
class station {
 public:
  template <job_like Job>
  explicit station(Job& job) : station(job.port(), [&job](bytes mine) { return job.exchange(mine); }) {}
  station(weft::port& port, exchange with_all);
  ~station();
  station(const station&) = delete;
  station& operator=(const station&) = delete;

  weft::port& port() const noexcept { return port_; }

  // Collective. Throws weft::error that names the function and the node when the nodes do not agree.
  void open();

  // Messages that did not fit their function's arguments, and were dropped.
  std::uint64_t malformed() const noexcept;

  static constexpr std::size_t most_segments = 256;
  static constexpr std::size_t most_name = 255;

 private:
  template <typename>
  friend class function;
  friend class segment;
  struct inside;

  handler_id add(std::string_view name, std::uint64_t signature, handler h);
  void drop_malformed() noexcept;

  weft::port& port_;
  std::shared_ptr<inside> inside_;
};

namespace detail {

constexpr std::size_t words_for(std::size_t size) {
  return (size + sizeof(word) - 1) / sizeof(word);
}

// How the arguments A... lie in a message: their first words, how many words in all, and whether the last is a payload.
template <typename... A>
struct layout {
  static constexpr std::size_t count = sizeof...(A);
  template <std::size_t I>
  using type = std::tuple_element_t<I, std::tuple<A...>>;

  static constexpr bool has_payload = [] {
    if constexpr (count == 0)
      return false;
    else
      return std::is_same_v<type<count - 1>, bytes>;
  }();
  static constexpr std::size_t plain = count - (has_payload ? 1 : 0);  // arguments that travel as words

  static constexpr auto starts = [] {
    std::array<std::size_t, count + 1> at{};
    std::size_t i = 0, next = 0;
    ((at[i] = next, next += i < plain ? words_for(sizeof(A)) : 0, ++i), ...);
    at[count] = next;
    return at;
  }();
  static constexpr std::size_t words = starts[count];

  template <std::size_t I>
  static constexpr bool fine = I >= plain || argument<type<I>>;
};

// The text of a type's name is the same in all nodes of a job: they run one program.
template <typename... A>
constexpr std::uint64_t signature() {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : std::string_view(__PRETTY_FUNCTION__)) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace detail

template <typename Signature>
class function;

template <typename... A>
class function<void(A...)> {
  using layout = detail::layout<A...>;
  static_assert(layout::words <= most_words, "an active message carries at most 20 words of arguments; use a payload for more");
  static_assert(
      []<std::size_t... I>(std::index_sequence<I...>) {
        return (layout::template fine<I> && ...);
      }(std::index_sequence_for<A...>{}),
      "arguments of an active message are trivially copyable and no pointers; a payload (weft::bytes) comes last");

 public:
  // Registers `run` under `name`. Throws weft::error.
  template <typename F>
  requires std::is_invocable_v<F&, const caller&, A...> function(station& at, std::string_view name, F run) : port_(at.port()) {
    id_ = at.add(name, detail::signature<A...>(), [&at, run = std::move(run)](const message& m) mutable {
      if (m.words.size() != layout::words) [[unlikely]]
        return at.drop_malformed();
      call(run, m, std::index_sequence_for<A...>{});
    });
  }

  // Runs the function on `node`.
  status operator()(node_id node, A... arguments) const { return send(node, lane::request, arguments...); }
  status reply(node_id node, A... arguments) const { return send(node, lane::reply, arguments...); }

 private:
  status send(node_id node, lane l, const A&... arguments) const {
    std::array<word, layout::words> words;
    bytes payload;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (pack<I>(words, payload, arguments), ...);
    }
    (std::index_sequence_for<A...>{});
    return port_.send(node, l, id_, words, payload);
  }

  template <std::size_t I, typename T>
  static void pack(std::array<word, layout::words>& words, bytes& payload, const T& value) {
    if constexpr (I >= layout::plain) {
      payload = value;
    } else {
      if constexpr (sizeof(T) % sizeof(word) != 0) words[layout::starts[I + 1] - 1] = 0;
      std::memcpy(&words[layout::starts[I]], &value, sizeof value);
    }
  }

  template <std::size_t I>
  static auto unpack(const message& m) {
    using T = typename layout::template type<I>;
    if constexpr (I >= layout::plain) {
      return m.payload;
    } else {
      std::array<std::byte, sizeof(T)> raw;
      std::memcpy(raw.data(), &m.words[layout::starts[I]], sizeof(T));
      return std::bit_cast<T>(raw);
    }
  }

  template <typename F, std::size_t... I>
  static void call(F& run, const message& m, std::index_sequence<I...>) {
    run(caller{m.at, m.source, m.lane}, unpack<I>(m)...);
  }

  weft::port& port_;
  handler_id id_ = 0;
};

// --- bulk transfers --------------------------------------------------------------------------------------------------------------

// Where a segment is. Plain data: it may be an argument of a call.
struct segment_address {
  node_id node = 0;
  std::uint32_t id = 0;
  std::uint64_t capability = 0;
  weft::window window;
};

// Memory of this node that others fill by transfers of any sizes; when as many bytes have arrived as were expected, its function
// runs, on the thread that drives the port, as any active message does. Bytes beyond the expectation count for the next one.
class segment {
 public:
  // Throws weft::error.
  segment(station& at, const memory& m, std::uint64_t expected, std::function<void()> when_complete);
  ~segment();
  segment(const segment&) = delete;
  segment& operator=(const segment&) = delete;

  const segment_address& address() const noexcept;

  // The function runs again after so many more bytes.
  void expect(std::uint64_t more);
  std::int64_t missing() const noexcept;  // bytes still to come

 private:
  std::shared_ptr<station::inside> station_;
  std::shared_ptr<segment_state> inside_;
};

// Moves bytes into a segment, on either lane. Returns when the source may be reused.
status transfer_to(station& from, const segment_address& to, std::uint64_t offset, bytes source, lane l = lane::request);

}  // namespace weft::active
