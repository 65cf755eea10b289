// How cashmere is to work: what `--protocol cashmere:WORD+WORD` says.
//
//   in-place  pages of other nodes are used where they lie; nothing is copied, so there is nothing to tell
//   copied    they are copied
// With neither, pages are used in place where the fabric maps memory, and copied elsewhere. The following go with copies, which they imply:
//   immediate write notices go out at the first write to a page that faults, not at the release
//   unsafe    a page of which `default_unsafe` or more nodes must be told at once turns unsafe: who has a copy looks by itself
//   unsafe=N  or of which N must be
#pragma once

#include <string>
#include <string_view>

#include <weft/port.h>

namespace weft::protocols {

struct cashmere_settings {
  enum class placing : std::uint8_t { as_mapped, copied, in_place };

  static constexpr std::uint32_t default_unsafe = 3;

  placing pages = placing::as_mapped;
  bool immediate = false;
  std::uint32_t unsafe_from = 0;  // 0: no page turns unsafe

  // Of cashmere that copies: "cashmere", with what was asked for behind a colon.
  std::string name() const;

  bool uses_in_place(const port& p) const noexcept {
    return pages == placing::in_place || (pages == placing::as_mapped && p.can().mapped);
  }
};

// The words after the colon, with '+' between them. Fails in a sentence.
result<cashmere_settings> read_cashmere_settings(std::string_view words);

}  // namespace weft::protocols
