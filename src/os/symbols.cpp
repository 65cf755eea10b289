#include "os/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "os/memory_file.h"

namespace weft::os {

namespace {

constexpr std::size_t longest_name = 120;  // templates have names that nobody reads

// The program or library that has an address.
struct object {
  std::uintptr_t address;  // what is looked for
  std::string file;
  std::uintptr_t base = 0;
  bool found = false;
};

int visit(dl_phdr_info* info, std::size_t, void* into) {
  auto& o = *static_cast<object*>(into);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& h = info->dlpi_phdr[i];
    const std::uintptr_t first = info->dlpi_addr + h.p_vaddr;
    if (h.p_type != PT_LOAD || o.address < first || o.address >= first + h.p_memsz) continue;
    o.file = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
    o.base = info->dlpi_addr;
    o.found = true;
    return 1;
  }
  return 0;
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? plain.get() : name;
}

// A part of a file, if it lies inside it.
template <typename T>
const T* part(const mapping& file, std::uint64_t offset, std::uint64_t count = 1) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) return nullptr;
  return reinterpret_cast<const T*>(file.base() + offset);
}

// The symbol of a kind that covers an address, from a table of an ELF file.
std::string find_symbol(const mapping& file, const ElfW(Shdr) & table, const ElfW(Shdr) & names, std::uintptr_t address,
                        unsigned char kind) {
  const std::size_t count = table.sh_size / sizeof(ElfW(Sym));
  const auto* symbols = part<ElfW(Sym)>(file, table.sh_offset, count);
  const auto* text = part<char>(file, names.sh_offset, names.sh_size);
  if (!symbols || !text || names.sh_size == 0 || text[names.sh_size - 1] != '\0') return {};
  for (std::size_t i = 0; i < count; ++i) {
    const auto& s = symbols[i];
    if ((s.st_info & 15) == kind && address >= s.st_value && address < s.st_value + s.st_size && s.st_name < names.sh_size)
      return demangled(text + s.st_name);
  }
  return {};
}

std::string look_up(const object& o, unsigned char kind) {
  const unique_fd fd(::open(o.file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about;
  if (fd.get() < 0 || ::fstat(fd.get(), &about) != 0 || about.st_size == 0) return {};
  const auto file = map_file(fd.get(), 0, static_cast<std::size_t>(about.st_size), false);
  if (!file) return {};
  const auto* header = part<ElfW(Ehdr)>(*file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto* sections = part<ElfW(Shdr)>(*file, header->e_shoff, header->e_shnum);
  if (!sections) return {};
  for (const ElfW(Word) wanted : {SHT_SYMTAB, SHT_DYNSYM})
    for (unsigned i = 0; i < header->e_shnum; ++i) {
      if (sections[i].sh_type != wanted || sections[i].sh_link >= header->e_shnum) continue;
      auto name = find_symbol(*file, sections[i], sections[sections[i].sh_link], o.address - o.base, kind);
      if (!name.empty()) return name;
    }
  return {};
}

object find(const void* address) {
  object o{reinterpret_cast<std::uintptr_t>(address), {}};
  ::dl_iterate_phdr(visit, &o);
  return o;
}

std::string long_name(const std::string& file) {
  char path[4096];
  const auto size = ::readlink(file.c_str(), path, sizeof path);  // /proc/self/exe; a library's name is its own
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : file;
}

std::string short_name(const std::string& file) {
  const auto whole = long_name(file);
  return whole.substr(whole.rfind('/') + 1);
}

}  // namespace

std::string name_of_code(const void* address) {
  if (!address) return {};
  const object o = find(static_cast<const char*>(address) - 1);  // a return address may lie behind the last call of a function
  if (!o.found) return base::format("%p", address);
  const auto function = look_up(o, STT_FUNC);
  return base::format("%s+0x%zx", short_name(o.file).c_str(), static_cast<std::size_t>(o.address + 1 - o.base)) +
         (function.empty() ? "" : " in " + (function.size() > longest_name ? function.substr(0, longest_name) + "..." : function));
}

std::string place_of_call(const void* return_address) {
  if (!return_address) return {};
  const object o = find(static_cast<const char*>(return_address) - 1);
  return o.found ? long_name(o.file) + base::format("+0x%zx", static_cast<std::size_t>(o.address - o.base)) : std::string();
}

std::string name_of_variable(const void* address) {
  const object o = find(address);
  return o.found ? look_up(o, STT_OBJECT) : std::string();
}

}  // namespace weft::os
