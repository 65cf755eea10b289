#include "cli/sim/simulation.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>

#include <weft/status.h>

#include "base/text.h"
#include "terminal/progress_bar.h"
#include "sim/machine/settings.h"

namespace weft::simulator {

namespace {

namespace files = std::filesystem;

std::string read_file(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(all).str();
}

// A simulation that runs: what comes through its pipes.
class started {
 public:
  // `quiet`: what the program prints is kept, not shown.
  started(const simulation& s, bool quiet) {
    int report[2], text[2];
    if (::pipe(report) != 0 || ::pipe(text) != 0) throw error(errc::system, "cannot make pipes for a simulation");
    const std::string settings = s.settings_text() + " report=" + std::to_string(report[1]);
    pid_ = ::fork();
    if (pid_ < 0) throw error(errc::system, "cannot start another process");
    if (pid_ == 0) {
      ::close(report[0]);
      ::close(text[0]);
      if (quiet) {
        ::dup2(text[1], STDOUT_FILENO);
        ::dup2(text[1], STDERR_FILENO);
      }
      ::setenv(sim::settings_variable, settings.c_str(), 1);
      std::vector<char*> arguments;
      for (const auto& w : s.words) arguments.push_back(const_cast<char*>(w.c_str()));
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(report[1]);
    ::close(text[1]);
    ends_[0] = report[0];
    ends_[1] = text[0];
  }

  // Waits a little for what it writes; whether it has ended.
  bool listen(int milliseconds) {
    pollfd ready[2] = {{ends_[0], POLLIN, 0}, {ends_[1], POLLIN, 0}};
    ::poll(ready, 2, milliseconds);
    for (int i = 0; i < 2; ++i) {
      char some[4096];
      if (ends_[i] < 0 || ready[i].revents == 0) continue;
      const ssize_t got = ::read(ends_[i], some, sizeof some);
      if (got > 0) {
        text_[i].append(some, static_cast<std::size_t>(got));
      } else {
        ::close(ends_[i]);
        ends_[i] = -1;
      }
    }
    return ends_[0] < 0 && ends_[1] < 0;
  }

  outcome end() {
    int how = 0;
    ::waitpid(pid_, &how, 0);
    outcome o;
    o.exit_status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    o.printed = text_[1];
    if (o.exit_status == 0 && !text_[0].empty()) o.report = nlohmann::json::parse(text_[0]);
    return o;
  }

 private:
  pid_t pid_ = -1;
  int ends_[2] = {-1, -1};  // of the report, of what is printed
  std::string text_[2];
};

void complete(const simulation& s, outcome& o) {
  if (o.report.is_null()) return;
  o.report["name"] = s.name;
  o.report["settings"] = s.settings_text();
}

// Kept reports: older than the program they are not taken.
class shelf {
 public:
  explicit shelf(const std::string& directory) : directory_(directory) {
    if (!directory.empty()) files::create_directories(directory);
  }
  bool take(const simulation& s, outcome& into) const {
    std::error_code missing;
    const auto at = place(s);
    if (directory_.empty() || !files::exists(at, missing) || files::last_write_time(at) < files::last_write_time(s.words[0]))
      return false;
    into.report = nlohmann::json::parse(read_file(at), nullptr, false);
    return into.report.is_object();
  }
  void put(const simulation& s, const outcome& o) const {
    if (!directory_.empty()) std::ofstream(place(s)) << o.report.dump(1);
  }

 private:
  std::string place(const simulation& s) const {
    std::string all = s.settings_text();
    for (std::size_t i = 1; i < s.words.size(); ++i) all += " " + s.words[i];
    std::string name = files::path(s.words[0]).filename().string() + " " + all;
    std::replace(name.begin(), name.end(), '/', '_');
    std::replace(name.begin(), name.end(), ' ', '_');
    return (files::path(directory_) / (name + ".json")).string();
  }
  std::string directory_;
};

[[noreturn]] void fail(const simulation& s, const outcome& o) {
  const auto lines = base::split(o.printed, '\n');
  std::string last;
  for (const auto& l : lines)
    if (!l.empty()) last = l;
  throw error(errc::system,
              base::format("%s: the simulated program ended with status %d: %s", s.name.c_str(), o.exit_status, last.c_str()));
}

void check_program(const std::string& program) {
  if (::access(program.c_str(), X_OK) != 0) throw error(errc::invalid_argument, "there is no program '" + program + "'");
  if (read_file(program).find(sim::program_mark) == std::string::npos)
    throw error(errc::invalid_argument,
                "'" + program + "' was not built for the simulator; build it with weft_add_program(NAME SOURCES SIMULATED)");
}

}  // namespace

std::string simulation::settings_text() const {
  std::string text;
  for (const auto& [what, value] : settings) text += (text.empty() ? "" : " ") + what + "=" + value;
  return text;
}

void check(const std::vector<simulation>& all) {
  std::set<std::string> seen;
  for (const auto& s : all) {
    sim::read_settings(s.settings_text()).or_throw();
    if (seen.insert(s.words[0]).second) check_program(s.words[0]);
  }
}

outcome run(const simulation& s) {
  started one(s, false);
  while (!one.listen(-1)) {
  }
  outcome o = one.end();
  complete(s, o);
  return o;
}

std::vector<outcome> run_all(const std::vector<simulation>& all, const ways& how) {
  const unsigned cores = how.at_once != 0 ? how.at_once : std::max(1u, std::thread::hardware_concurrency());
  const shelf kept(how.keep);
  std::vector<outcome> outcomes(all.size());
  std::vector<std::size_t> waiting;
  double total = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!kept.take(all[i], outcomes[i])) {
      waiting.push_back(i);
      total += all[i].weight;
    }
  std::stable_sort(waiting.begin(), waiting.end(), [&](std::size_t a, std::size_t b) { return all[a].weight < all[b].weight; });
  terminal::progress_bar bar(total);
  std::map<std::size_t, std::unique_ptr<started>> running;
  while (!waiting.empty() || !running.empty()) {
    for (; !waiting.empty() && running.size() < cores; waiting.pop_back())
      running[waiting.back()] = std::make_unique<started>(all[waiting.back()], true);
    for (auto r = running.begin(); r != running.end();) {
      const auto& [i, one] = *r;
      bar.advance(0, all[i].name);
      if (!one->listen(50)) {
        ++r;
        continue;
      }
      outcomes[i] = one->end();
      if (outcomes[i].report.is_null()) fail(all[i], outcomes[i]);
      complete(all[i], outcomes[i]);
      kept.put(all[i], outcomes[i]);
      bar.advance(all[i].weight, all[i].name);
      r = running.erase(r);
    }
  }
  return outcomes;
}

}  // namespace weft::simulator
