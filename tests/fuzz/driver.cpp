// Runs a fuzz target without a fuzzing compiler: first every file of a kept corpus, then inputs mutated from them by seed.
//
//   fuzz_X --corpus DIR [--runs N] [--seed S]     replay the corpus, then N mutated inputs
//   fuzz_X --corpus DIR --seed S --only K         repeat run K alone, as a crash report says
//   fuzz_X --generate DIR                         write the target's examples as a corpus
//   fuzz_X FILE...                                run these inputs
//
// Run K of seed S depends on nothing but K, S and the corpus.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <unistd.h>

#include "base/random.h"
#include "base/text.h"
#include "fuzz/fuzz.h"

extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace {

namespace fs = std::filesystem;
using fuzz::input;

constexpr std::size_t most_input = 1 << 17;

struct arguments {
  std::string corpus, generate;
  std::vector<std::string> files;
  std::uint64_t runs = 100'000, seed = 1, only = 0;
};

// What is being run, for the report of a crash: a signal handler may read nothing else.
char current[160] = "nothing yet\n";

void report_crash() {
  const std::string_view text = current;
  if (write(2, text.data(), text.size()) < 0) return;
}

void on_signal(int number) {
  report_crash();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run(const input& i) {
  LLVMFuzzerTestOneInput(i.data(), i.size());
}

input read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<input> load(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // the order decides what run K is
  std::vector<input> corpus;
  for (const auto& path : paths) corpus.push_back(read(path));
  return corpus;
}

int generate(const std::string& folder) {
  fs::create_directories(folder);
  unsigned number = 0;
  for (const auto& example : fuzz::examples()) {
    std::ofstream file(fs::path(folder) / weft::base::format("example-%03u", number++), std::ios::binary);
    file.write(reinterpret_cast<const char*>(example.data()), static_cast<std::streamsize>(example.size()));
  }
  std::printf("%u examples in %s\n", number, folder.c_str());
  return 0;
}

// Overwrites a field of 1, 2, 4 or 8 bytes with a value that lengths and numbers like to trip over.
void edit_field(input& i, weft::base::random& r) {
  const std::size_t width = std::size_t{1} << r.below(4);
  if (i.size() < width) return;
  const std::uint64_t values[] = {0,    1,    2,      i.size(), i.size() - 1, i.size() + 1,     i.size() / 2,
                                  0x7f, 0xff, 0x7fff, 0xffff,   0x10000,      ~std::uint64_t{0}};
  std::uint64_t value = values[r.below(std::size(values))];
  const std::size_t at = r.below(i.size() - width + 1);
  for (std::size_t b = 0; b < width; ++b, value >>= 8) i[at + b] = static_cast<std::uint8_t>(value);
}

void mutate_once(input& i, const std::vector<input>& corpus, weft::base::random& r) {
  const auto offset = [&](const input& of) { return static_cast<std::ptrdiff_t>(r.below(of.size() + 1)); };
  switch (r.below(8)) {
    case 0:
    case 1:
      if (!i.empty()) i[r.below(i.size())] ^= static_cast<std::uint8_t>(1u << r.below(8));
      break;
    case 2:
      if (!i.empty()) i[r.below(i.size())] = static_cast<std::uint8_t>(r.next());
      break;
    case 3:
    case 4: edit_field(i, r); break;
    case 5: i.resize(r.below(i.size() + 1)); break;
    case 6: {  // the front of one and the back of another
      const input& other = corpus[r.below(corpus.size())];
      i.resize(static_cast<std::size_t>(offset(i)));
      i.insert(i.end(), other.begin() + offset(other), other.end());
      break;
    }
    default: {  // something inserted
      const input piece(r.between(1, 64), static_cast<std::uint8_t>(r.next()));
      i.insert(i.begin() + offset(i), piece.begin(), piece.end());
    }
  }
  if (i.size() > most_input) i.resize(most_input);
}

input mutated(const std::vector<input>& corpus, std::uint64_t seed, std::uint64_t number) {
  weft::base::random r(seed * 0x9e3779b97f4a7c15u + number);
  input i = corpus[r.below(corpus.size())];
  for (auto times = r.between(1, 5); times != 0; --times) mutate_once(i, corpus, r);
  return i;
}

int fuzz_corpus(const arguments& a) {
  auto corpus = load(a.corpus);
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    std::snprintf(current, sizeof current, "crashed in corpus file %zu, by name\n", i);
    run(corpus[i]);
  }
  if (corpus.empty()) corpus.emplace_back();
  const std::uint64_t first = a.only != 0 ? a.only : 1, last = a.only != 0 ? a.only : a.runs;
  for (std::uint64_t k = first; k <= last; ++k) {
    const auto seed = static_cast<unsigned long long>(a.seed), number = static_cast<unsigned long long>(k);
    std::snprintf(current, sizeof current, "crashed: again with --seed %llu --only %llu\n", seed, number);
    run(mutated(corpus, a.seed, k));
  }
  std::printf("%zu kept inputs and %llu mutated ones of seed %llu: clean\n", corpus.size(),
              static_cast<unsigned long long>(last - first + 1), static_cast<unsigned long long>(a.seed));
  return 0;
}

bool parse(int argc, char** argv, arguments& into) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (!name.starts_with("--")) {
      into.files.emplace_back(name);
      continue;
    }
    if (++i == argc) return false;
    const std::string_view value = argv[i];
    if (name == "--corpus")
      into.corpus = value;
    else if (name == "--generate")
      into.generate = value;
    else if (const auto number = weft::base::parse_number(value); !number)
      return false;
    else if (name == "--runs")
      into.runs = *number;
    else if (name == "--seed")
      into.seed = *number;
    else if (name == "--only")
      into.only = *number;
    else
      return false;
  }
  return !into.files.empty() || !into.corpus.empty() || !into.generate.empty();
}

}  // namespace

int main(int argc, char** argv) {
  arguments a;
  if (!parse(argc, argv, a)) {
    std::fprintf(stderr, "usage: %s [--corpus DIR [--runs N] [--seed S] [--only K]] [--generate DIR] [FILE...]\n", argv[0]);
    return 2;
  }
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(number, on_signal);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(report_crash);
  if (!a.generate.empty()) return generate(a.generate);
  for (const auto& file : a.files) run(read(file));
  return a.corpus.empty() ? 0 : fuzz_corpus(a);
}
