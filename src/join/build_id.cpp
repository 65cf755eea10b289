#include "join/build_id.h"

#include <elf.h>
#include <link.h>
#include <sodium.h>

#include <cstring>
#include <string>

#include "base/bytes.h"

namespace weft::runtime {
namespace {

std::string hexadecimal(base::byte_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const auto b : bytes) {
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

std::string build_id_of_notes(base::byte_view notes) {
  constexpr auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
  base::reader in(notes);
  while (in.left() >= sizeof(ElfW(Nhdr))) {
    const auto header = in.take<ElfW(Nhdr)>();
    const auto name = in.take_bytes(padded(header.n_namesz));
    const auto value = in.take_bytes(padded(header.n_descsz));
    if (!in.ok()) break;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(name.data(), "GNU", 4) == 0)
      return hexadecimal(value.first(header.n_descsz));
  }
  return {};
}

base::byte_view segment(const dl_phdr_info& object, const ElfW(Phdr) & header) {
  return {reinterpret_cast<const std::byte*>(object.dlpi_addr + header.p_vaddr), header.p_memsz};
}

// The main program is the first object that the loader reports.
int visit_main_program(dl_phdr_info* object, std::size_t, void* into) {
  auto& id = *static_cast<std::string*>(into);
  for (int i = 0; i < object->dlpi_phnum && id.empty(); ++i)
    if (object->dlpi_phdr[i].p_type == PT_NOTE) id = build_id_of_notes(segment(*object, object->dlpi_phdr[i]));
  if (!id.empty()) return 1;

  if (sodium_init() < 0) return 1;
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, crypto_generichash_BYTES);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const auto code = segment(*object, header);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(code.data()), code.size());
  }
  std::byte hash[crypto_generichash_BYTES];
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(hash), sizeof hash);
  id = "code-" + hexadecimal(base::byte_view(hash).first(20));
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  dl_iterate_phdr(visit_main_program, &id);
  return id.empty() ? "unknown" : id;
}

}  // namespace weft::runtime
