// Starting programs, finding them, and ending everything that they have started: what the launcher and the agents do with
// processes.
//
// For single-threaded programs: children are made by fork, and the process tree is read from /proc.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include <weft/status.h>

namespace weft::launch {

struct spawn_request {
  std::string file;                                     // the program's file; empty: the first word, looked for in PATH
  std::vector<std::string> words;                       // the program's name and its arguments
  std::optional<std::vector<std::string>> environment;  // NAME=VALUE; this process's own if not given
  std::string directory;                                // where to start it; empty: here
  int in = 0, out = 1, err = 2;                         // become its standard streams
  int control = -1;                                     // becomes inherited_descriptor if given
  bool own_session = false;                             // else it gets a process group of its own
  bool ends_with_parent = false;                        // killed when this process ends, however that happens
  std::optional<rlimit> open_files;                     // its limit, where it differs from ours
};

// Under which number spawn_request::control is open in the program: high, because shells use the low ones.
inline constexpr int inherited_descriptor = 100;

struct spawned {
  pid_t pid = -1;
  int why = 0;                // errno, when pid is -1
  bool at_directory = false;  // it was the directory that failed, not the program
};

spawned spawn(const spawn_request& request);

// A program that a node is to run, or why it cannot be: with the status that a shell would give.
struct found_program {
  std::string path;
  int exit_status = 0;
  std::string reason;
};

// `word` with a slash is a path from `directory`; without one it is looked for in `search_path`, as execvp does.
found_program find_program(const std::string& word, const std::string& directory, const std::string& search_path);

// All living processes below this one, children first.
std::vector<pid_t> descendants();

// Sends `number` to every descendant; how many there were.
std::size_t signal_descendants(int number);

// Has orphans among the descendants become children of this process, so that it can find and reap them.
void adopt_orphans();

// Lets this process have as many descriptors as the system allows; returns the limit from before.
rlimit raise_open_files();

}  // namespace weft::launch
