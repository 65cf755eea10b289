#include "bench/harness/plots.h"

#include <filesystem>
#include <fstream>

#include "bench/floor/bare_socket.h"
#include "bench/harness/requirements.h"

namespace weft::bench {
namespace {

void add_systems(plot& p, const report& r, const std::string& name, double scale) {
  for (const auto& f : r.fabrics) add_line(p, f.title, r.found, f.owner, name, scale);
  for (const auto& s : r.peers) add_line(p, s.title, r.found, s.owner, name, scale, plot::style::dashed);
}

void add_point(plot& p, const std::string& title, double x, std::optional<double> y, double scale) {
  if (y) p.add({title, {{x, *y * scale}}, plot::style::dotted});
}

plot latency(const report& r) {
  plot p("Latency of a message, one way", sizes("bytes of application data"), values("microseconds"));
  add_systems(p, r, "latency", 1e-3);
  add_line(p, "plain UDP, blocking", r.found, "bare", "socket_latency", 1e-3, plot::style::dotted);
  add_point(p, "bare cache line", 8, r.found.median("bare", "two_lines_one_way", 8), 1e-3);
  return p;
}

plot bandwidth(const report& r) {
  plot p("Bandwidth of puts", sizes("bytes in one put"), values("GB/s"));
  add_systems(p, r, "put_bandwidth", 1);
  add_line(p, "memcpy", r.found, "bare", "memcpy", 1, plot::style::dotted);
  plot::line sockets{"plain UDP, datagrams", {}, plot::style::dotted};
  if (const auto* sizes = r.found.find("bare", "socket_stream"))
    for (const auto& [size, each] : *sizes) sockets.points.push_back({static_cast<double>(size), each.median()});
  if (const auto best = best_socket_stream(r.found)) sockets.points.push_back({65507, *best});
  if (!sockets.points.empty()) p.add(std::move(sockets));
  return p;
}

plot message_rate(const report& r) {
  plot p("Rate of messages, one sender and one receiver", sizes("bytes of application data"), values("million messages a second"));
  add_systems(p, r, "messages_per_second", 1e-6);
  add_line(p, "plain UDP, several a call", r.found, "bare", "socket_messages_per_second", 1e-6, plot::style::dotted);
  return p;
}

}  // namespace

plot::axis sizes(std::string label, plot::counts what) {
  return {std::move(label), charts::scale::powers_of_two, what};
}
plot::axis values(std::string label) {
  return {std::move(label), charts::scale::powers_of_ten};
}

void add_line(plot& p, const std::string& title, const measurements& m, const std::string& owner, const std::string& name,
              double scale, plot::style how) {
  const auto* sizes = m.find(owner, name);
  if (!sizes) return;
  plot::line l{title, {}, how};
  for (const auto& [size, each] : *sizes)
    if (size > 0) l.points.push_back({static_cast<double>(size), each.median() * scale});
  p.add(std::move(l));
}

void write_plot(const std::filesystem::path& path, const plot& p, const report& r) {
  std::ofstream out(path);
  out << p.svg(r.machine.processor + ", " + std::to_string(r.machine.cores) + " cores; " + r.pinning);
  if (!out.flush()) throw error(errc::system, "cannot write " + path.string() + "; choose another folder with --plots");
}

void make_folder(const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    throw error(errc::system, "cannot make the folder " + folder + ": " + problem.message() + "; choose another with --plots");
}

void write_plots(const report& r, const std::string& folder) {
  const std::filesystem::path to(folder);
  write_plot(to / "latency.svg", latency(r), r);
  write_plot(to / "bandwidth.svg", bandwidth(r), r);
  write_plot(to / "message-rate.svg", message_rate(r), r);
}

}  // namespace weft::bench
