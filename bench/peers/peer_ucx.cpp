// UCX: runs ucx_perftest against itself with a batch of tests and reads its CSV.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "bench/harness/cores.h"
#include "bench/peers/peers.h"
#include "launch/subprocess.h"

namespace weft::bench {
namespace {

struct test {
  const char* name;      // ucx_perftest's
  const char* reported;  // ours
  const char* unit;
  std::vector<std::size_t> sizes;
  unsigned repetitions;  // of the smallest; fewer of larger ones
};

constexpr std::size_t KiB = 1024, MiB = KiB * KiB;

const std::vector<test>& tests() {
  static const std::vector<test> all = {
      {"ucp_am_lat", "latency", "ns", {8, 64, 512, 4 * KiB, 16 * KiB, 64 * KiB}, 4000},
      {"ucp_put_lat", "put_one_way", "ns", {8}, 4000},
      {"ucp_put_bw", "put_bandwidth", "GB/s", {8, 64, 512, 4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB, 4 * MiB}, 20000},
      {"ucp_am_bw", "messages_per_second", "1/s", {8, 64, 512, 4 * KiB, 16 * KiB, 64 * KiB}, 20000},
      {"ucp_fadd", "fetch_add", "ns", {8}, 4000},
  };
  return all;
}

// A file that goes away with its name.
class batch_file {
 public:
  explicit batch_file(unsigned repeat)
      : path_(std::filesystem::temp_directory_path() / base::format("weft-bench-%d.ucx", ::getpid())) {
    std::ofstream out(path_);
    for (std::size_t t = 0; t < tests().size(); ++t)
      for (const std::size_t size : tests()[t].sizes)
        for (unsigned r = 0; r < repeat; ++r) {
          const auto n = std::max<std::size_t>(tests()[t].repetitions / (1 + size / (4 * KiB)), 64);
          out << t << "/" << size << " -t " << tests()[t].name << " -s " << size << " -n " << n << " -w " << n / 10 << "\n";
        }
  }
  ~batch_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  batch_file(const batch_file&) = delete;
  batch_file& operator=(const batch_file&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// TEST/SIZE,iterations,median latency,average latency,overall latency (us),average MB/s,overall MB/s,average,overall messages/s
void take_line(measurements& into, const std::string& owner, const std::string& line) {
  const auto fields = base::split(line, ',');
  const auto slash = fields.front().find('/');
  if (fields.size() < 9 || slash == std::string::npos) return;
  const auto which = base::parse_number(fields[0].substr(0, slash)), size = base::parse_number(fields[0].substr(slash + 1));
  if (!which || !size || *which >= tests().size()) return;
  const auto& t = tests()[*which];
  const double latency = std::atof(fields[2].c_str()) * 1000, rate = std::atof(fields[8].c_str());
  const std::string unit = t.unit;
  const double sample = unit == "ns" ? latency : unit == "1/s" ? rate : rate * static_cast<double>(*size) / 1e9;
  if (sample > 0) into.add(owner, t.reported, *size, t.unit, sample);
}

std::vector<std::string> command_of(const std::vector<std::string>& first, int port, const std::string& batch, int side) {
  auto words = first;
  words.insert(words.end(), {"-p", std::to_string(port), "-b", batch, "-f", "-v"});
  const auto cores = two_cores();
  if (!cores.empty()) words.insert(words.end(), {"-c", std::to_string(cores[static_cast<std::size_t>(side)])});
  return words;
}

}  // namespace

std::string ucx_missing() {
  return launch::installed("ucx_perftest") ? "" : "not installed (apt-get install openmpi-bin libopenmpi-dev ucx-utils)";
}

result<measurements> measure_ucx(const std::string& owner, bool tcp, const settings& how) {
  const batch_file batch(how.repeat);
  const int port = 20000 + ::getpid() % 20000 + (tcp ? 1 : 0);
  const launch::subprocess::variables transports = {tcp ? "UCX_TLS=tcp,self" : "UCX_TLS=shm,self", "UCX_NET_DEVICES=lo",
                                                    "UCX_LOG_LEVEL=fatal"};
  auto server = launch::subprocess::start(command_of({"ucx_perftest"}, port, batch.path(), 1), launch::subprocess::errors::hidden,
                                          transports);
  if (!server) return server.failure();
  measurements found;
  int ended = -1;
  // The server takes a moment to listen, and does not say when it does.
  for (int attempt = 0; attempt < 20 && found.all().empty(); ++attempt) {
    ::usleep(200'000);
    auto client = launch::subprocess::start(command_of({"ucx_perftest", "localhost"}, port, batch.path(), 0),
                                            launch::subprocess::errors::hidden, transports);
    if (!client) return client.failure();
    ended = client->read([&](const std::string& line) { take_line(found, owner, line); }, 300);
  }
  if (ended != 0 || found.all().empty())
    return {errc::system,
            base::format("ucx_perftest over %s %s", tcp ? "tcp" : "shared memory", launch::describe_end(ended).c_str())};
  return found;
}

}  // namespace weft::bench
