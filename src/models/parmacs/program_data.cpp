#include "models/parmacs/program_data.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <elf.h>
#include <link.h>

// The linker's names for the ends of the sections that weft's own variables are in; absent where these have no sections of their own.
extern "C" {
extern std::byte __start_weft_data[] __attribute__((weak, visibility("hidden")));
extern std::byte __stop_weft_data[] __attribute__((weak, visibility("hidden")));
extern std::byte __start_weft_bss[] __attribute__((weak, visibility("hidden")));
extern std::byte __stop_weft_bss[] __attribute__((weak, visibility("hidden")));
}

namespace weft::parmacs {

namespace {

constexpr std::size_t page = 4096;

using address = std::uintptr_t;
struct range {
  address first, last;
};

#if defined(__x86_64__)
constexpr std::uint32_t copy_relocation = R_X86_64_COPY, word_relocation = R_X86_64_64;
constexpr std::uint32_t linkage[] = {R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_IRELATIVE};
#elif defined(__aarch64__)
constexpr std::uint32_t copy_relocation = R_AARCH64_COPY, word_relocation = R_AARCH64_ABS64;
constexpr std::uint32_t linkage[] = {R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_AARCH64_IRELATIVE};
#else
#error "which relocations belong to the loader on this processor?"
#endif

// The main program's description by the loader.
class object {
 public:
  explicit object(const dl_phdr_info& info) : info_(info) {}

  template <typename Do>
  void for_segments(std::uint32_t type, Do&& each) const {
    for (int i = 0; i < info_.dlpi_phnum; ++i)
      if (const auto& header = info_.dlpi_phdr[i]; header.p_type == type)
        each(header, range{info_.dlpi_addr + header.p_vaddr, info_.dlpi_addr + header.p_vaddr + header.p_memsz});
  }

  // What the loader has filled in: words of linkage, and variables of libraries that were copied here.
  void add_loaders_own(bool libraries_differ, std::vector<range>& into) const {
    for_segments(PT_DYNAMIC, [&](const auto&, range at) {
      into.push_back(at);
      for (auto* d = reinterpret_cast<const ElfW(Dyn)*>(at.first); d->d_tag != DT_NULL; ++d) note(*d);
      if (linkage_table_ != 0)
        into.push_back({linkage_table_, linkage_table_ + 3 * sizeof(ElfW(Addr))});  // the loader's first words
    });
    for (const auto& t : {table{rela_, rela_size_}, table{linkage_, linkage_size_}})
      for (std::size_t i = 0; i < t.size / sizeof(ElfW(Rela)); ++i)
        add(reinterpret_cast<const ElfW(Rela)*>(t.at)[i], libraries_differ, into);
  }

 private:
  struct table {
    address at;
    std::size_t size;
  };

  // Some loaders leave addresses in this list as they are in the file.
  address placed(ElfW(Addr) at) const { return at < info_.dlpi_addr ? at + info_.dlpi_addr : at; }

  void note(const ElfW(Dyn) & d) const {
    switch (d.d_tag) {
      case DT_RELA: rela_ = placed(d.d_un.d_ptr); break;
      case DT_RELASZ: rela_size_ = d.d_un.d_val; break;
      case DT_JMPREL: linkage_ = placed(d.d_un.d_ptr); break;
      case DT_PLTGOT: linkage_table_ = placed(d.d_un.d_ptr); break;
      case DT_PLTRELSZ: linkage_size_ = d.d_un.d_val; break;
      case DT_SYMTAB: symbols_ = reinterpret_cast<const ElfW(Sym)*>(placed(d.d_un.d_ptr)); break;
      default: break;
    }
  }

  void add(const ElfW(Rela) & r, bool libraries_differ, std::vector<range>& into) const {
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info));
    const auto& symbol = symbols_[ELF64_R_SYM(r.r_info)];
    const address at = info_.dlpi_addr + r.r_offset;
    if (type == copy_relocation) into.push_back({at, at + symbol.st_size});
    const bool elsewhere = type == word_relocation && symbol.st_shndx == SHN_UNDEF && libraries_differ;
    if (elsewhere || std::find(std::begin(linkage), std::end(linkage), type) != std::end(linkage))
      into.push_back({at, at + sizeof(ElfW(Addr))});
  }

  const dl_phdr_info& info_;
  mutable address rela_ = 0, linkage_ = 0, linkage_table_ = 0;
  mutable std::size_t rela_size_ = 0, linkage_size_ = 0;
  mutable const ElfW(Sym) * symbols_ = nullptr;
};

// The main program is the first object that the loader reports.
template <typename Do>
void with_main_program(Do&& each) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* f) {
        (*static_cast<Do*>(f))(*info);
        return 1;
      },
      &each);
}

bool is_zero(const std::byte* first, std::size_t size) {
  return size == 0 || (first[0] == std::byte{0} && std::memcmp(first, first + 1, size - 1) == 0);
}

// Cuts a part at pages and calls with each piece.
template <typename Do>
void for_pages(const program_data::part& of, Do&& each) {
  for (std::size_t done = 0; done < of.size;) {
    std::byte* at = of.first + done;
    const std::size_t size = std::min(of.size - done, page - reinterpret_cast<address>(at) % page);
    each(at, size);
    done += size;
  }
}

}  // namespace

addresses own_addresses() noexcept {
  addresses a{nullptr, stdout};
  with_main_program([&](const dl_phdr_info& info) { a.program = info.dlpi_phdr; });
  return a;
}

program_data program_data::find(bool libraries_differ) {
  std::vector<range> writable, excluded;
  const auto exclude = [&](const std::byte* first, const std::byte* last) {
    if (first != last) excluded.push_back({reinterpret_cast<address>(first), reinterpret_cast<address>(last)});
  };
  exclude(__start_weft_data, __stop_weft_data);
  exclude(__start_weft_bss, __stop_weft_bss);
  with_main_program([&](const dl_phdr_info& info) {
    const object program(info);
    program.for_segments(PT_LOAD, [&](const auto& header, range at) {
      if (header.p_flags & PF_W) writable.push_back(at);
    });
    // Written by the loader and then protected, as far as whole pages go.
    program.for_segments(PT_GNU_RELRO, [&](const auto&, range at) {
      excluded.push_back({at.first / page * page, at.last / page * page});
    });
    program.add_loaders_own(libraries_differ, excluded);
  });
  std::sort(excluded.begin(), excluded.end(), [](const range& a, const range& b) { return a.first < b.first; });
  program_data found;
  for (range w : writable) {
    const auto add = [&](address first, address last) {
      if (first < last) found.parts_.push_back({reinterpret_cast<std::byte*>(first), last - first});
    };
    for (const range& e : excluded) {
      if (e.last <= w.first || e.first >= w.last) continue;
      add(w.first, e.first);
      w.first = e.last;
    }
    add(w.first, w.last);
  }
  return found;
}

std::size_t program_data::most_bytes() const noexcept {
  std::size_t size = sizeof(word);
  for (const part& all : parts_) size += all.size + (all.size / page + 2) * sizeof(part);
  return size;
}

void program_data::pack(std::byte* into) const {
  std::vector<part> filled;
  for (const part& all : parts_)
    for_pages(all, [&](std::byte* at, std::size_t n) {
      if (is_zero(at, n)) return;
      if (filled.empty() || filled.back().first + filled.back().size != at) filled.push_back({at, 0});
      filled.back().size += n;
    });
  const auto append = [&into](const void* from, std::size_t size) {
    if (size != 0) std::memcpy(into, from, size);
    into += size;
  };
  const word count = filled.size();
  append(&count, sizeof count);
  append(filled.data(), filled.size() * sizeof(part));
  for (const part& f : filled) append(f.first, f.size);
}

status program_data::unpack(port& p, node_id node, const window& image) const {
  word count = 0;
  if (auto got = p.get(node, image, 0, std::as_writable_bytes(std::span(&count, 1))); !got) return got;
  std::vector<part> filled(count);
  if (auto got = p.get(node, image, sizeof count, std::as_writable_bytes(std::span(filled))); !got) return got;
  std::uint64_t offset = sizeof count + count * sizeof(part);
  auto next = filled.begin();
  for (const part& of : parts_) {
    std::byte* const end = of.first + of.size;
    std::byte* done = of.first;
    const auto clear_to = [&](std::byte* to) {
      for_pages({done, static_cast<std::size_t>(to - done)}, [](std::byte* at, std::size_t n) {
        if (!is_zero(at, n)) std::memset(at, 0, n);
      });
    };
    for (; next != filled.end() && next->first < end; ++next) {
      clear_to(next->first);
      if (auto got = p.get(node, image, offset, {next->first, next->size}); !got) return got;
      offset += next->size;
      done = next->first + next->size;
    }
    clear_to(end);
  }
  return {};
}

}  // namespace weft::parmacs
