// How cashmere is to work: what `--protocol cashmere:WORD+WORD` says.
//
//   in-place  pages of other nodes are used where they lie; nothing is copied, so there is nothing to tell
//   copied    they are copied
// With neither, pages are used in place where the fabric maps memory, and copied elsewhere.
#pragma once

#include <string>
#include <string_view>

#include <weft/port.h>

namespace weft::protocols {

struct cashmere_settings {
  enum class placing : std::uint8_t { as_mapped, copied, in_place };

  placing pages = placing::as_mapped;

  // Of cashmere that copies: "cashmere", with what was asked for behind a colon.
  std::string name() const;

  bool uses_in_place(const port& p) const noexcept {
    return pages == placing::in_place || (pages == placing::as_mapped && p.can().mapped);
  }
};

// The words after the colon, with '+' between them. Fails in a sentence.
result<cashmere_settings> read_cashmere_settings(std::string_view words);

}  // namespace weft::protocols
