// What `weft doctor` finds out about this machine. Every check tries the thing itself where it can, and a check that finds
// something missing knows the one line that fixes it.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

enum class grade {
  good,
  plain,    // neither good nor bad: a fact
  lacking,  // weft runs without it, but slower or with fewer ways to start
  fatal,    // weft cannot run without it
};

struct finding {
  std::string key;   // for programs
  std::string what;  // for people
  std::string value;
  cli::grade grade = cli::grade::plain;
  std::string fix;  // the command that mends it, or empty
};

// What weft would do on this machine, and why.
struct choice {
  std::string key, what, value, why;
};

struct diagnosis {
  std::vector<finding> findings;
  std::vector<choice> choices;

  void add(finding f) { findings.push_back(std::move(f)); }
  void choose(choice c) { choices.push_back(std::move(c)); }
};

void examine_kernel(diagnosis& d);   // the kernel, its page machinery and memory limits; chooses the page engine
void examine_network(diagnosis& d);  // sockets, libfabric, RDMA; chooses the fabrics
void examine_launch(diagnosis& d);   // processors, ssh, PMIx

// The contents of a one-line file of the kernel, without the end of the line; empty if it cannot be read.
std::string kernel_setting(const std::string& path);

}  // namespace weft::cli
