// Prints the value at a JSON pointer of a file: json_value FILE /per_node/0/wall. Fails if the file is no JSON or has no such value.
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream file(argv[1]);
  const auto document = nlohmann::json::parse(file, nullptr, false);
  if (document.is_discarded()) return std::fprintf(stderr, "%s is not JSON\n", argv[1]), 1;
  const nlohmann::json::json_pointer where(argv[2]);
  if (!document.contains(where)) return std::fprintf(stderr, "%s has no %s\n", argv[1], argv[2]), 1;
  const auto& value = document.at(where);
  std::puts(value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
}
