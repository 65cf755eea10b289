// Building sentences and reading numbers as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/status.h>

namespace weft::base {

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// "what failed: Permission denied" as a status; `why` is an errno value.
status system_failure(std::string_view what, int why);

std::vector<std::string> split(std::string_view text, char separator);

// Whole decimal numbers; nothing else around them.
std::optional<std::uint64_t> parse_number(std::string_view text);

// "64KiB", "2M", "1.5GiB", "4096": K, M and G are powers of 1024.
std::optional<std::uint64_t> parse_size(std::string_view text);

// "250ns", "10us", "3ms", "5s", "2m"; a bare number is seconds. In nanoseconds.
std::optional<std::int64_t> parse_duration(std::string_view text);

// "5%", "0.05": a share between 0 and 1.
std::optional<double> parse_share(std::string_view text);

}  // namespace weft::base
