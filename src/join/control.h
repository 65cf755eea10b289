// The control messages of a job started by `weft run`: between the launcher and the agent of each host, and between an agent and
// the nodes that it started.
//
// A frame on the stream is a 32-bit length, a byte that says what kind of message follows, and the message; the length counts the
// kind and the message. Everything here is a pure function of bytes, because these bytes come from outside: decode() either gives a
// message that encode() would write in exactly the same way, or nothing.
//
// The node fields of messages that a node sends are filled in by its agent, which knows from whom it has the message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"

namespace weft::control {

using base::byte_buffer;
using base::byte_view;

// The most that one frame may carry; a longer one is taken for garbage.
inline constexpr std::size_t most_bytes = std::size_t{16} * 1024 * 1024;
inline constexpr std::size_t header_bytes = sizeof(std::uint32_t);

// What an agent writes before its first frame, so that the launcher can tell it from what a login shell may print.
inline constexpr std::string_view greeting{"\0weft-agent-1\n", 14};

// How much output an agent may have sent that the launcher has not yet written, and how much input the other way round.
inline constexpr std::uint32_t output_window = 1024 * 1024;
inline constexpr std::uint32_t input_window = 256 * 1024;

// Between the launcher and the agents that it reached through a command: how often a sign of life goes each way, after how much
// silence the launcher gives up a host, and after how much an agent gives up its launcher. The latter is longer because a launcher
// may be stopped, under a debugger say.
inline constexpr base::nanoseconds between_heartbeats = 5 * base::second;
inline constexpr base::nanoseconds longest_silence_of_agent = 20 * base::second;
inline constexpr base::nanoseconds longest_silence_of_launcher = 60 * base::second;

// --- launcher to agent -----------------------------------------------------------------------------------------------------------

struct start_job {
  std::uint32_t nodes = 0, host = 0, hosts = 0;
  std::uint64_t group = 0;
  std::array<std::byte, 16> key{};
  std::vector<std::uint32_t> host_of;
  std::map<std::string, std::string> options;
  std::vector<std::string> arguments;    // the program and its arguments
  std::string directory;                 // where the nodes start
  std::vector<std::string> environment;  // NAME=VALUE, set over what the agent itself has
  std::uint8_t whole_lines = 1;          // 0: pass output on as it comes (a job of one node)
  auto fields() {
    return std::tie(nodes, host, hosts, group, key, host_of, options, arguments, directory, environment, whole_lines);
  }
};

struct input {  // standard input for node 0; an empty piece is its end
  byte_buffer data;
  auto fields() { return std::tie(data); }
};

struct output_credit {
  std::uint32_t count = 0;
  auto fields() { return std::tie(count); }
};

struct admit {  // this node may join
  std::uint32_t node = 0;
  auto fields() { return std::tie(node); }
};

struct refuse {  // this node may not join
  std::uint32_t node = 0;
  std::string reason;
  auto fields() { return std::tie(node, reason); }
};

struct end_job {
  std::uint8_t at_once = 0;  // 1: with SIGKILL
  auto fields() { return std::tie(at_once); }
};

// --- agent to launcher -----------------------------------------------------------------------------------------------------------

struct ready {
  std::string version;
  auto fields() { return std::tie(version); }
};

struct started {
  std::uint32_t node = 0;
  std::int32_t pid = 0;
  auto fields() { return std::tie(node, pid); }
};

struct not_started {
  std::uint32_t node = 0;
  std::int32_t exit_status = 0;  // as a shell would give it: 127 not found, 126 not executable
  std::string reason;
  auto fields() { return std::tie(node, exit_status, reason); }
};

struct output {
  std::uint32_t node = 0;
  std::uint8_t stream = 0;  // 1 or 2
  byte_buffer data;
  auto fields() { return std::tie(node, stream, data); }
};

struct input_credit {
  std::uint32_t count = 0;
  auto fields() { return std::tie(count); }
};

struct exited {
  std::uint32_t node = 0;
  std::int32_t wait_status = 0;  // as waitpid gives it
  auto fields() { return std::tie(node, wait_status); }
};

struct finished {  // all nodes of this host are gone and all their output has been sent
  std::uint8_t nothing = 0;
  auto fields() { return std::tie(nothing); }
};

// --- node to agent to launcher ---------------------------------------------------------------------------------------------------

struct hello {
  std::uint32_t node = 0;
  std::string version, build;
  auto fields() { return std::tie(node, version, build); }
};

struct card {
  std::uint32_t node = 0, round = 0;
  byte_buffer data;
  auto fields() { return std::tie(node, round, data); }
};

struct leave {
  std::uint32_t node = 0;
  auto fields() { return std::tie(node); }
};

struct report {
  std::uint32_t node = 0, peer = 0;
  std::string how;
  auto fields() { return std::tie(node, peer, how); }
};

struct give_up {  // this node is about to fail, and why
  std::uint32_t node = 0;
  std::string sentence;
  auto fields() { return std::tie(node, sentence); }
};

struct ask_missing {  // who has not come to this exchange?
  std::uint32_t node = 0, round = 0;
  auto fields() { return std::tie(node, round); }
};

struct thread_state {  // one of a node's threads
  std::uint32_t number = 0;
  std::uint8_t waits_for = 0;  // a wait_kind
  std::uint64_t object = 0;    // as wait_record has them
  std::uint64_t detail = 0;
  std::int64_t waited = 0;   // nanoseconds
  std::uint32_t holder = 0;  // the node that holds the object, plus 1; 0: not known to this node
  std::string name, where;   // the object, and the place in the program, for people
  auto fields() { return std::tie(number, waits_for, object, detail, waited, holder, name, where); }
};

struct presence {  // the answer to a roll-call
  std::uint32_t node = 0, round = 0;
  std::uint64_t progress = 0;  // changes whenever a thread begins or ends to wait
  std::uint64_t barriers = 0;  // of all nodes, that this one has come to
  std::vector<thread_state> threads;
  std::vector<std::uint64_t> held;  // objects that threads of this node hold
  auto fields() { return std::tie(node, round, progress, barriers, threads, held); }
};

struct ask_roll_call {  // this node was asked for one
  std::uint32_t node = 0;
  auto fields() { return std::tie(node); }
};

struct document {  // the statistics of all nodes, from node 0
  std::uint32_t node = 0;
  std::string text;
  auto fields() { return std::tie(node, text); }
};

struct trace_part {  // the next piece of the trace of all nodes, from node 0
  std::uint32_t node = 0;
  std::string text;
  auto fields() { return std::tie(node, text); }
};

struct sample {  // the answer to ask_sample
  std::uint32_t node = 0, nodes = 0, round = 0;
  byte_buffer here;  // a presence, as a frame
  std::string text;  // what has been counted: insight/sample.h
  auto fields() { return std::tie(node, nodes, round, here, text); }
};

// --- both ways between launcher and agent ----------------------------------------------------------------------------------------

struct heartbeat {           // the agent answers each with one
  std::uint8_t watched = 1;  // 0: the launcher is about to be stopped, and its silence means nothing
  auto fields() { return std::tie(watched); }
};

// --- launcher to agent to node ---------------------------------------------------------------------------------------------------

struct gathered {
  std::uint32_t round = 0;
  std::vector<byte_buffer> cards;
  auto fields() { return std::tie(round, cards); }
};

struct notice {
  std::uint32_t node = 0;
  std::string how;
  auto fields() { return std::tie(node, how); }
};

struct missing {
  std::uint32_t node = 0, round = 0;
  std::vector<std::uint32_t> absent;
  auto fields() { return std::tie(node, round, absent); }
};

struct roll_call {  // what do your threads do?
  std::uint32_t round = 0;
  auto fields() { return std::tie(round); }
};

struct ask_sample {  // from 'weft top': what have you counted?
  std::uint32_t round = 0;
  auto fields() { return std::tie(round); }
};

// --- agent to node ---------------------------------------------------------------------------------------------------------------

struct welcome {
  std::uint32_t self = 0, nodes = 0, host = 0, hosts = 0;
  std::uint64_t group = 0;
  std::array<std::byte, 16> key{};
  std::vector<std::uint32_t> host_of;
  std::map<std::string, std::string> options;
  auto fields() { return std::tie(self, nodes, host, hosts, group, key, host_of, options); }
};

// The kind of a message on the wire is its place in this list: only ever append.
using message =
    std::variant<start_job, input, output_credit, admit, refuse, end_job, ready, started, not_started, output, input_credit, exited,
                 finished, hello, card, leave, report, ask_missing, gathered, notice, missing, welcome, heartbeat, give_up,
                 roll_call, presence, ask_roll_call, document, trace_part, ask_sample, sample>;

// The whole frame, length included. A message beyond most_bytes gives an empty buffer.
byte_buffer encode(message m);

// What follows the length of a frame: the kind and the message. Nothing when it is not exactly one well-formed message.
std::optional<message> decode(byte_view frame);

// Takes a stream apart into frames. Feed bytes as they come, take messages until there is none; once broken() it stays so.
class parser {
 public:
  void feed(byte_view more);
  std::optional<message> next();
  bool broken() const { return broken_; }

 private:
  byte_buffer held_;
  std::size_t begin_ = 0;
  bool broken_ = false;
};

}  // namespace weft::control
