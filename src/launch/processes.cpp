#include "launch/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/text.h"
#include "os/descriptor.h"

namespace weft::launch {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const auto& w : words) all.push_back(const_cast<char*>(w.c_str()));
  all.push_back(nullptr);
  return all;
}

// The descriptors that the child gets must not be overwritten while others are put in place: first all go out of the way.
bool place_descriptors(const spawn_request& r) {
  int from[3] = {r.in, r.out, r.err};
  for (auto& fd : from)
    if ((fd = ::fcntl(fd, F_DUPFD_CLOEXEC, inherited_descriptor + 1)) < 0) return false;
  if (r.control >= 0 && ::dup2(r.control, inherited_descriptor) < 0) return false;
  for (int i = 0; i < 3; ++i)
    if (::dup2(from[i], i) < 0) return false;
  return true;
}

void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
}

struct trouble {
  int why;
  bool at_directory;
};

// In the child. Comes back only when something failed.
trouble become(const spawn_request& r, char* const* words, char* const* environment, pid_t parent) {
  if (r.own_session)
    ::setsid();
  else
    ::setpgid(0, 0);
  if (r.ends_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it ended before the request above
  }
  if (!place_descriptors(r)) return {errno, false};
  if (r.open_files) ::setrlimit(RLIMIT_NOFILE, &*r.open_files);
  if (!r.directory.empty() && ::chdir(r.directory.c_str()) != 0) return {errno, true};
  reset_signals();
  ::execvpe(r.file.empty() ? words[0] : r.file.c_str(), words, environment);
  return {errno, false};
}

pid_t parent_of(pid_t pid) {
  std::ifstream stat(base::format("/proc/%d/stat", pid));
  std::string text;  // none of a process that ends meanwhile
  std::getline(stat, text, '\0');
  const auto end_of_name = text.rfind(')');  // the name may hold anything, blanks and brackets included
  if (end_of_name == std::string::npos || end_of_name + 4 > text.size()) return -1;
  if (text[end_of_name + 2] == 'Z') return -1;  // it is dead and waits to be reaped
  return std::atoi(text.c_str() + end_of_name + 4);
}

}  // namespace

spawned spawn(const spawn_request& request) {
  int status_pipe[2];
  if (::pipe2(status_pipe, O_CLOEXEC) != 0) return {-1, errno, false};
  os::descriptor reads(status_pipe[0]), writes(status_pipe[1]);
  const auto words = pointers(request.words);
  const auto given = request.environment ? pointers(*request.environment) : std::vector<char*>();
  const auto parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return {-1, errno, false};
  if (pid == 0) {
    const auto t = become(request, words.data(), request.environment ? given.data() : environ, parent);
    const auto told = ::write(writes.get(), &t, sizeof t);
    ::_exit(told == sizeof t ? 127 : 126);
  }
  writes.close();
  trouble t{};
  ssize_t got;
  while ((got = ::read(reads.get(), &t, sizeof t)) < 0 && errno == EINTR) {
  }
  if (got == sizeof t) return {-1, t.why, t.at_directory};  // whoever reaps children reaps this one too
  return {pid, 0, false};
}

found_program find_program(const std::string& word, const std::string& directory, const std::string& search_path) {
  const auto in_directory = [&](const std::string& path) { return path.front() == '/' ? path : directory + "/" + path; };
  const auto is_file = [](const std::string& path) {
    struct stat about;
    return ::stat(path.c_str(), &about) == 0 && !S_ISDIR(about.st_mode);
  };
  if (word.empty()) return {{}, 127, "the name of the program is empty"};
  if (word.find('/') == std::string::npos) {
    for (const auto& folder : base::split(search_path, ':')) {
      const auto path = in_directory((folder.empty() ? std::string(".") : folder) + "/" + word);
      if (is_file(path) && ::access(path.c_str(), X_OK) == 0) return {path, 0, {}};
    }
    const bool here = is_file(in_directory(word));
    return {{},
            127,
            base::format("there is no program '%s' in PATH%s", word.c_str(),
                         here ? base::format("; write ./%s for the one in this folder", word.c_str()).c_str()
                              : "; give its path or install it")};
  }
  const auto path = in_directory(word);
  if (::access(path.c_str(), F_OK) != 0)
    return {{}, 127, base::format("there is no program '%s'; check the path, and that the file is on every host", path.c_str())};
  if (!is_file(path)) return {{}, 126, base::format("'%s' is a folder, not a program; give the path of a file", path.c_str())};
  if (::access(path.c_str(), X_OK) != 0)
    return {{}, 126, base::format("'%s' may not be executed; try 'chmod +x %s'", path.c_str(), path.c_str())};
  return {path, 0, {}};
}

std::vector<pid_t> descendants() {
  std::multimap<pid_t, pid_t> children;
  if (DIR* proc = ::opendir("/proc")) {
    while (const dirent* entry = ::readdir(proc))
      if (const auto pid = base::parse_number(entry->d_name))
        children.emplace(parent_of(static_cast<pid_t>(*pid)), static_cast<pid_t>(*pid));
    ::closedir(proc);
  }
  std::vector<pid_t> found{::getpid()};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (auto [child, end] = children.equal_range(found[i]); child != end; ++child) found.push_back(child->second);
  found.erase(found.begin());
  return found;
}

std::size_t signal_descendants(int number) {
  const auto all = descendants();
  for (const auto pid : all) ::kill(pid, number);
  return all.size();
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

rlimit raise_open_files() {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit more = before;
  more.rlim_cur = more.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &more);
  return before;
}

}  // namespace weft::launch
