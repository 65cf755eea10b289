#include "bench/harness/measurement.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/text.h"

namespace weft::bench {

double measurement::median() const {
  if (samples.empty()) return 0;
  auto sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double measurement::least() const {
  return samples.empty() ? 0 : *std::min_element(samples.begin(), samples.end());
}
double measurement::most() const {
  return samples.empty() ? 0 : *std::max_element(samples.begin(), samples.end());
}

void measurements::add(const std::string& owner, const std::string& name, std::size_t size, const std::string& unit,
                       double sample) {
  auto& m = all_[owner][name][size];
  m.unit = unit;
  m.samples.push_back(sample);
}

void measurements::add_all(const measurements& others) {
  for (const auto& [owner, names] : others.all_)
    for (const auto& [name, sizes] : names)
      for (const auto& [size, m] : sizes)
        for (const double sample : m.samples) add(owner, name, size, m.unit, sample);
}

measurements measurements::least() const {
  measurements one_each;
  for (const auto& [owner, names] : all_)
    for (const auto& [name, sizes] : names)
      for (const auto& [size, m] : sizes) one_each.add(owner, name, size, m.unit, m.least());
  return one_each;
}

bool measurements::add_line(const std::string& line) {
  std::istringstream in(line);
  std::string word, owner, name, unit;
  std::size_t size = 0;
  if (!(in >> word >> owner >> name >> size >> unit) || word != "measured") return false;
  for (double sample = 0; in >> sample;) add(owner, name, size, unit, sample);
  return in.eof();
}

std::string measurements::lines() const {
  std::string text;
  for (const auto& [owner, names] : all_)
    for (const auto& [name, sizes] : names)
      for (const auto& [size, m] : sizes) {
        text += base::format("measured %s %s %zu %s", owner.c_str(), name.c_str(), size, m.unit.c_str());
        for (const double sample : m.samples) text += base::format(" %.9g", sample);
        text += '\n';
      }
  return text;
}

const measurements::by_size* measurements::find(const std::string& owner, const std::string& name) const {
  const auto names = all_.find(owner);
  if (names == all_.end()) return nullptr;
  const auto sizes = names->second.find(name);
  return sizes == names->second.end() ? nullptr : &sizes->second;
}

const measurement* measurements::at(const place& p) const {
  const auto* sizes = find(p.owner, p.name);
  if (!sizes) return nullptr;
  const auto m = sizes->find(p.size);
  return m == sizes->end() ? nullptr : &m->second;
}

std::optional<double> measurements::paired(std::span<const place> of, const formula& made) const {
  std::vector<const measurement*> all;
  std::size_t common = ~std::size_t{0};
  for (const auto& p : of) {
    all.push_back(at(p));
    if (!all.back()) return {};
    common = std::min(common, all.back()->samples.size());
  }
  measurement each;
  for (std::size_t i = 0; i < common; ++i) {
    std::vector<double> taken;
    for (const auto* m : all) taken.push_back(m->samples[i]);
    if (const double value = made(taken); std::isfinite(value)) each.samples.push_back(value);
  }
  return each.samples.empty() ? std::nullopt : std::optional(each.median());
}

std::optional<double> measurements::ratio(const place& a, const place& b) const {
  const place both[] = {a, b};
  return paired(both, [](std::span<const double> v) { return v[0] / v[1]; });
}

std::optional<double> measurements::least(const place& p) const {
  const auto* m = at(p);
  return m ? std::optional(m->least()) : std::nullopt;
}

std::optional<double> measurements::median(const std::string& owner, const std::string& name, std::size_t size) const {
  const auto* m = at({owner, name, size});
  return m ? std::optional(m->median()) : std::nullopt;
}

std::optional<double> measurements::median(const std::string& owner, const std::string& name) const {
  const auto* sizes = find(owner, name);
  return sizes && !sizes->empty() ? std::optional(sizes->begin()->second.median()) : std::nullopt;
}

}  // namespace weft::bench
