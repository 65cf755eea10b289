// Fuzzes what parses control messages: a stream of frames, as an agent, the launcher and a node read it.
//
// The first byte of an input says how the stream is cut into pieces. Whatever the bytes are: nothing crashes, what is understood is
// written again exactly as it was read, and where a stream was cut makes no difference.
#include <algorithm>
#include <cstdlib>

#include "fuzz/fuzz.h"
#include "join/control.h"

namespace {

namespace control = weft::control;
using weft::base::byte_buffer;
using weft::base::byte_view;

void demand(bool holds) {
  if (!holds) std::abort();
}

// The frames that were understood, written again.
byte_buffer understood(byte_view stream, std::size_t piece, bool& broken) {
  control::parser parser;
  byte_buffer again;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    parser.feed(stream.subspan(at, std::min(piece, stream.size() - at)));
    while (auto m = parser.next()) {
      const auto frame = control::encode(std::move(*m));
      again.insert(again.end(), frame.begin(), frame.end());
    }
  }
  broken = parser.broken();
  return again;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto stream = std::as_bytes(std::span(data + 1, size - 1));
  bool broken_whole = false, broken_cut = false;
  const auto whole = understood(stream, std::max<std::size_t>(stream.size(), 1), broken_whole);
  demand(whole.size() <= stream.size() && std::equal(whole.begin(), whole.end(), stream.begin()));
  const auto cut = understood(stream, std::size_t{data[0]} + 1, broken_cut);
  demand(whole == cut && broken_whole == broken_cut);
  return 0;
}

std::vector<fuzz::input> fuzz::examples() {
  const auto bytes = [](std::string_view text) {
    const auto view = weft::base::bytes_of(text);
    return byte_buffer(view.begin(), view.end());
  };
  control::start_job job;
  job.nodes = 4;
  job.hosts = 2;
  job.group = 1;
  job.host_of = {0, 0, 1, 1};
  job.options = {{"fabric", "udp"}, {"port", "20000"}};
  job.arguments = {"./prog", "argument"};
  job.directory = "/tmp";
  job.environment = {"PATH=/bin", "WEFT_X=1"};
  control::welcome welcome;
  welcome.nodes = 4;
  welcome.hosts = 2;
  welcome.host_of = job.host_of;
  welcome.options = job.options;
  const std::vector<control::message> messages = {
      job,
      control::input{bytes("typed\n")},
      control::output_credit{4096},
      control::admit{1},
      control::refuse{1, "a different build"},
      control::end_job{},
      control::ready{"0.1.0"},
      control::started{1, 4711},
      control::not_started{1, 127, "there is no such program"},
      control::output{1, 1, bytes("a line\n")},
      control::input_credit{1},
      control::exited{1, 9},
      control::finished{},
      control::hello{1, "0.1.0", "0123456789abcdef"},
      control::card{1, 1, bytes("card")},
      control::leave{1},
      control::report{0, 1, "does not answer"},
      control::ask_missing{0, 1},
      control::gathered{1, {bytes("a"), bytes(""), bytes("c")}},
      control::notice{1, "was killed by signal 9 (Killed)"},
      control::missing{0, 1, {1, 2}},
      welcome,
      control::heartbeat{},
      control::give_up{1, "libfabric was not found"},
      control::roll_call{7},
      control::presence{1, 7, 99, 3, {{0, 1, 0x40, 2, 5'000'000, 3, "mutex", "prog+0x10"}, {}}, {0x40, 0x80}},
      control::ask_roll_call{1},
      control::document{0, "{}"},
      control::trace_part{0, "[]"},
      control::ask_sample{3},
      control::sample{1, 2, 3, {}, "{}"},
  };
  std::vector<input> all;
  input conversation{3};
  for (const auto& m : messages) {
    const auto frame = control::encode(m);
    const auto* begin = reinterpret_cast<const std::uint8_t*>(frame.data());
    input one{0};
    one.insert(one.end(), begin, begin + frame.size());
    all.push_back(std::move(one));
    conversation.insert(conversation.end(), begin, begin + frame.size());
  }
  all.push_back(std::move(conversation));
  return all;
}
