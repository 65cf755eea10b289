// What a benchmark produces: samples with a unit, kept by owner (a fabric, a peer, "bare"), name and size.
//
// They travel from the measuring process to the reporting one as lines of text on a pipe, one a measurement:
//   measured OWNER NAME SIZE UNIT SAMPLE...
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::bench {

struct measurement {
  std::string unit;  // "ns", "GB/s", "1/s" or "times"
  std::vector<double> samples;

  double median() const;
  double least() const;
  double most() const;
};

class measurements {
 public:
  using by_size = std::map<std::size_t, measurement>;
  using by_name = std::map<std::string, by_size>;

  void add(const std::string& owner, const std::string& name, std::size_t size, const std::string& unit, double sample);
  void add_all(const measurements& others);

  // Takes a line in the form above; false when it is something else.
  bool add_line(const std::string& line);
  std::string lines() const;

  const std::map<std::string, by_name>& all() const { return all_; }

  // One sample of each: the least.
  measurements least() const;
  bool has(const std::string& owner) const { return all_.count(owner) != 0; }
  const by_size* find(const std::string& owner, const std::string& name) const;

  struct place {
    std::string owner, name;
    std::size_t size;
  };

  // The median of what `made` makes of one sample of each place, sample by sample: those that were taken next to each other saw the
  // same machine. What is not finite does not count.
  using formula = std::function<double(std::span<const double>)>;
  std::optional<double> paired(std::span<const place> of, const formula& made) const;

  // The same of a/b.
  std::optional<double> ratio(const place& a, const place& b) const;

  // The least sample, if there is one.
  std::optional<double> least(const place& p) const;

  // The median, if it was measured. Without a size: of the smallest that was.
  std::optional<double> median(const std::string& owner, const std::string& name, std::size_t size) const;
  std::optional<double> median(const std::string& owner, const std::string& name) const;

 private:
  const measurement* at(const place& p) const;

  std::map<std::string, by_name> all_;
};

}  // namespace weft::bench
