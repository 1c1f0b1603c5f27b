// The space of a file.
#include "world.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace contract {

namespace {

template <class Where>
auto allocate(world<Where>& w, typename world<Where>::file& file, std::uint64_t offset, std::uint64_t bytes,
              qio::allocation how = qio::allocation::extend) {
  if constexpr (Where::is_async && !Where::mode::is_mapped)
    return w.template run<void>([&] { return file.async_allocate(offset, bytes, how); });
  else
    return file.allocate(offset, bytes, how);
}
template <class Where>
auto discard(world<Where>& w, typename world<Where>::file& file, std::uint64_t offset, std::uint64_t bytes) {
  if constexpr (Where::is_async)
    return w.template run<void>([&] { return file.async_discard(offset, bytes); });
  else
    return file.discard(offset, bytes);
}
template <class Where>
auto zero(world<Where>& w, typename world<Where>::file& file, std::uint64_t offset, std::uint64_t bytes) {
  if constexpr (Where::is_async)
    return w.template run<void>([&] { return file.async_zero(offset, bytes); });
  else
    return file.zero(offset, bytes);
}
template <class Where>
auto next_data(world<Where>& w, typename world<Where>::file& file, std::uint64_t from) {
  if constexpr (Where::is_async)
    return w.template run<std::optional<qio::extent>>([&] { return file.async_next_data(from); });
  else
    return file.next_data(from);
}
template <class Where, class Source>
auto clone(world<Where>& w, typename world<Where>::file& file, Source& source, const qio::extent& what,
           std::uint64_t to) {
  if constexpr (Where::is_async && !Where::mode::is_mapped)
    return w.template run<std::uint64_t>([&] { return file.async_clone_from(source, what, to); });
  else
    return file.clone_from(source, what, to);
}
template <class Where, class Source>
auto copy(world<Where>& w, typename world<Where>::file& file, Source& source, const qio::extent& what,
          std::uint64_t to) {
  if constexpr (Where::is_async && !Where::mode::is_mapped)
    return w.template run<std::uint64_t>([&] { return file.async_copy_from(source, what, to); });
  else
    return file.copy_from(source, what, to);
}

/// The pattern, but zeros in a range.
template <class Where>
void check_zeros(world<Where>& w, typename world<Where>::file& file, std::size_t begin, std::size_t end,
                 std::size_t size) {
  memory buffer(size + 4096);
  REQUIRE(w.read(file, 0, buffer.all()).value() == size);
  CHECK(holds_pattern(buffer.part(0, begin), 0));
  CHECK(holds_only(buffer.part(begin, end - begin), std::byte{0}));
  CHECK(holds_pattern(buffer.part(end, size - end), end));
}

}  // namespace

PROMISE(allocate_space, everywhere, "allocate() extends a file with zeros, or reserves without extending it") {
  auto file = w.with(8192);
  if (const auto kept = allocate(w, file, 4096, 65536, qio::allocation::keep_size); !kept)
    QIO_SKIP("no space can be reserved here: " + kept.error().message());
  CHECK(file.size().value() == 8192);
  CHECK(allocate(w, file, 4096, 65536));
  CHECK(file.size().value() == 4096 + 65536);
  memory buffer(65536);
  CHECK(w.read(file, 0, buffer.all()).value() == 65536);
  CHECK(holds_pattern(buffer.part(0, 8192), 0));
  CHECK(holds_only(buffer.part(8192, 65536 - 8192), std::byte{0}));
  CHECK(allocate(w, file, 0, 0));
  CHECK(allocate(w, file, too_far, 5).error() == errc::offset_too_large);
  file = w.open("data", access::read, creation::open_existing).value();
  CHECK(allocate(w, file, 0, 4096).error() == errc::access_not_granted);
  static_cast<void>(file.close());
  CHECK(allocate(w, file, 0, 4096).error() == std::errc::bad_file_descriptor);
}

PROMISE(discard_space, everywhere, "discard() makes zeros of a range at any offset, and keeps the size") {
  constexpr std::size_t size = 8 * 4096;
  auto file = w.with(size);
  if (const auto made = discard(w, file, 4096, 2 * 4096); !made) QIO_SKIP("no holes here: " + made.error().message());
  check_zeros(w, file, 4096, 3 * 4096, size);
  CHECK(discard(w, file, 4096, 2 * 4096 + 100));
  check_zeros(w, file, 4096, 3 * 4096 + 100, size);
  CHECK(discard(w, file, size - 100, 5000));
  CHECK(discard(w, file, 2 * size, 4096));
  CHECK(file.size().value() == size);
  CHECK(discard(w, file, 0, 0));
  CHECK(discard(w, file, too_far, 5).error() == errc::offset_too_large);
  if constexpr (Where::mode::is_mapped) CHECK(file.view(4096, 1).value()[0] == std::byte{0});
  file = w.open("data", access::read, creation::open_existing).value();
  CHECK(discard(w, file, 0, 4096).error() == errc::access_not_granted);
  static_cast<void>(file.close());
  CHECK(discard(w, file, 0, 4096).error() == std::errc::bad_file_descriptor);
}

PROMISE(zero_space, everywhere, "zero() makes zeros of a range at any offset, and keeps the size") {
  constexpr std::size_t size = 8 * 4096;
  auto file = w.with(size);
  if (const auto made = zero(w, file, 4096, 2 * 4096); !made) {
    CHECK(made.error() == std::errc::operation_not_supported);
    QIO_SKIP("no ranges can be zeroed here: " + made.error().message());
  }
  check_zeros(w, file, 4096, 3 * 4096, size);
  CHECK(zero(w, file, 4096, 2 * 4096 + 100));
  check_zeros(w, file, 4096, 3 * 4096 + 100, size);
  CHECK(zero(w, file, size - 100, 5000));
  CHECK(zero(w, file, 2 * size, 4096));
  CHECK(file.size().value() == size);
  CHECK(zero(w, file, 0, 0));
  CHECK(zero(w, file, too_far, 5).error() == errc::offset_too_large);
  file = w.open("data", access::read, creation::open_existing).value();
  CHECK(zero(w, file, 0, 4096).error() == errc::access_not_granted);
  static_cast<void>(file.close());
  CHECK(zero(w, file, 0, 4096).error() == std::errc::bad_file_descriptor);
}

PROMISE(next_data_found, everywhere, "next_data() finds what was written, and no holes, nor what is only reserved") {
  constexpr std::uint64_t unit = 65536;  // no file system here has larger blocks
  auto file = w.with(0);
  REQUIRE(w.resize(file, 8 * unit));
  const auto none = next_data(w, file, 0);
  if (!none) QIO_SKIP("the file system does not report holes: " + none.error().message());
  if (none.value()) QIO_SKIP("the file system makes no holes");
  auto source = memory::with_pattern(2 * unit, 2 * unit);
  REQUIRE(w.write(file, 2 * unit, source.all()));
  // Pages of reserved space that a mapping has brought into the page cache may count as data (ext4).
  if constexpr (!Where::mode::is_mapped)
    if (const auto reserved = allocate(w, file, 6 * unit, unit)) CHECK(file.size().value() == 8 * unit);
  CHECK(next_data(w, file, 0).value() == qio::extent{2 * unit, 2 * unit});
  CHECK(next_data(w, file, 3 * unit).value() == qio::extent{3 * unit, unit});
  CHECK_FALSE(next_data(w, file, 4 * unit).value());
  CHECK_FALSE(next_data(w, file, 8 * unit).value());
  CHECK_FALSE(next_data(w, file, 100 * unit).value());
  REQUIRE(discard(w, file, 2 * unit, unit));
  CHECK(next_data(w, file, 0).value() == qio::extent{3 * unit, unit});
  REQUIRE(w.resize(file, 3 * unit + 8192));
  CHECK(next_data(w, file, 0).value() == qio::extent{3 * unit, 8192});
  CHECK(next_data(w, file, too_far).error() == errc::offset_too_large);
  static_cast<void>(file.close());
  CHECK(next_data(w, file, 0).error() == std::errc::bad_file_descriptor);
}

PROMISE(next_data_is_never_empty, everywhere, "next_data() never returns an empty range, which would end no loop") {
  // On ext4 with blocks of 1 KiB: a page with reserved blocks, a hole, and data.
  constexpr std::size_t size = 4 * 4096;
  const std::size_t block = std::max<std::size_t>(512, w.unit);
  auto file = w.with(0);
  REQUIRE(w.resize(file, size));
  auto source = memory::with_pattern(size - block, block);
  REQUIRE(w.write(file, size - block, source.all()));
  if (const auto reserved = allocate(w, file, 8192, 6144, qio::allocation::keep_size); !reserved)
    QIO_SKIP("no space can be reserved here: " + reserved.error().message());
  if (!next_data(w, file, 0)) QIO_SKIP("the file system does not report holes");
  for (std::uint64_t from = 0; from < size; from += 512) {
    CAPTURE(from);
    const auto found = next_data(w, file, from).value();
    REQUIRE(found);
    CHECK(found->offset >= from);
    CHECK(found->bytes > 0);
    CHECK(found->offset + found->bytes <= size);
  }
}

PROMISE(copy_all, everywhere, "copy_from() copies a range of another file, and extends the file") {
  constexpr std::uint64_t size = 3 * 1024 * 1024 + 8192;  // several pieces, if it is read and written
  auto source = w.with(size);
  auto file = w.open("copy", access::read_write, creation::always_new).value();
  CHECK(copy(w, file, source, {4096, size - 4096}, 8192).value() == size - 4096);
  CHECK(file.size().value() == size + 4096);
  memory buffer(static_cast<std::size_t>(size));
  CHECK(w.read(file, 8192, buffer.all()).value() == size - 4096);
  CHECK(holds_pattern(buffer.part(0, static_cast<std::size_t>(size) - 4096), 4096));
  CHECK(copy(w, file, source, {size - 4096, 65536}, 0).value() == 4096);
  CHECK(w.read(file, 0, buffer.part(0, 4096)).value() == 4096);
  CHECK(holds_pattern(buffer.part(0, 4096), size - 4096));
  CHECK(copy(w, file, source, {size, 65536}, 0).value() == 0);
  CHECK(copy(w, file, source, {0, 0}, 0).value() == 0);
  CHECK(file.size().value() == size + 4096);
  // What no file system clones, because it is no multiple of its block: in several pieces, where it is read and
  // written.
  const std::size_t unit = (std::max<std::size_t>)(file.alignment().read, file.alignment().write);
  CHECK(copy(w, file, source, {unit, size - unit}, 4096 + 2 * unit).value() == size - unit);
  CHECK(w.read(file, 4096 + 2 * unit, buffer.all()).value() == size - unit);
  CHECK(holds_pattern(buffer.part(0, static_cast<std::size_t>(size) - unit), unit));
  // From another mode, at odd offsets; to a direct file only if whole blocks are written.
  if constexpr (!Where::mode::is_direct) {
    CHECK(copy(w, file, source, {1, 10000}, 3).value() == 10000);
    CHECK(w.read(file, 3, buffer.part(0, 10000)).value() == 10000);
    CHECK(holds_pattern(buffer.part(0, 10000), 1));
  }
  // Within the file.
  CHECK(copy(w, source, source, {0, 8192}, 65536).value() == 8192);
  CHECK(w.read(source, 65536, buffer.part(0, 8192)).value() == 8192);
  CHECK(holds_pattern(buffer.part(0, 8192), 0));
}

PROMISE(copy_refused, everywhere,
        "copy_from() and clone_from() refuse ranges that overlap, and files that are closed") {
  auto file = w.with(65536);
  auto again = w.open("data", access::read, creation::open_existing).value();
  for (const bool clones : {false, true}) {
    const auto from = [&](auto& source, const qio::extent& what, std::uint64_t to) {
      return clones ? clone(w, file, source, what, to) : copy(w, file, source, what, to);
    };
    const auto overlaps = from(again, {4096, 8192}, 8192);
    CAPTURE(clones);
    REQUIRE(!overlaps);
    CHECK(overlaps.error() == errc::overlapping_copy);
    CHECK(overlaps.error().given() == 4096);
    CHECK(overlaps.error().needed() == 8192);
    CHECK(overlaps.error() == std::errc::invalid_argument);
    CHECK(overlaps.error().message() == "the ranges at 4096 and 8192 of the file overlap: copy to another place first");
    CHECK(from(again, {4096, too_far}, 0).error() == errc::offset_too_large);
    CHECK(from(again, {0, 4096}, too_far).error() == errc::offset_too_large);
    CHECK((clones ? clone(w, again, file, {0, 4096}, 8192) : copy(w, again, file, {0, 4096}, 8192)).error() ==
          errc::access_not_granted);
    if constexpr (std::is_same_v<typename Where::mode, qio::cached>) {
      auto write_only = w.open("data", access::write, creation::open_existing).value();
      CHECK(from(write_only, {0, 4096}, 8192).error() == errc::access_not_granted);
    }
  }
  static_cast<void>(again.close());
  CHECK(copy(w, file, again, {0, 4096}, 8192).error() == std::errc::bad_file_descriptor);
  CHECK(clone(w, file, again, {0, 4096}, 8192).error() == std::errc::bad_file_descriptor);
}

PROMISE(clone_refused, each_mode, "a clone that fails leaves the size of a file, also while others have mapped it") {
  auto file = w.with(4 * 65536);
  auto mapped = qio::mapped_file::open(w.where / "data", access::read_write).value();
  REQUIRE(mapped.writable_view(0, 65536));
  const auto cloned = file.clone_from(file, {0, 65536}, 8 * 65536);
  CHECK(file.size().value() == (cloned ? 9 : 4) * 65536);
}

PROMISE(clone_range, everywhere, "clone_from() shares the blocks of another file, until one is written") {
  constexpr std::size_t size = 8 * 65536;
  auto source = w.with(size);
  auto file = w.open("clone", access::read_write, creation::always_new).value();
  const auto cloned = clone(w, file, source, {65536, size}, 0);
  if (!cloned) {
    CHECK(cloned.error() == std::errc::operation_not_supported);
    CHECK(file.size().value() == 0);
    QIO_SKIP("files share no blocks here: " + cloned.error().message());
  }
  CHECK(cloned.value() == size - 65536);
  CHECK(file.size().value() == size - 65536);
  memory buffer(size);
  auto ones = memory::with_pattern(99, 65536);
  REQUIRE(w.write(source, 65536, ones.all()));
  CHECK(w.read(file, 0, buffer.all()).value() == size - 65536);
  CHECK(holds_pattern(buffer.part(0, size - 65536), 65536));
  CHECK(clone(w, file, source, {size, 65536}, 0).value() == 0);
  const auto odd = clone(w, file, source, {0, 5000}, 0);
  REQUIRE(!odd);
  CHECK(odd.error() == errc::misaligned_clone);
  CHECK(odd.error().given() == 5000);
  CHECK(odd.error().needed() >= 512);
  CHECK(odd.error().message() ==
        "an offset or the length of the clone, 5000, is not a multiple of the file system's "
        "block, " +
            std::to_string(odd.error().needed()) + ": use copy_from()");
}

PROMISE(copy_between, mapped_only, "copy_from() copies between modes, and what was stored in views is part of it") {
  auto source = w.with(65536);
  source.writable_view(5000, 1).value()[0] = std::byte{0};
  auto cached = qio::cached_file::open(w.where / "copy", access::read_write, creation::always_new).value();
  CHECK(cached.copy_from(source, {0, 65536}, 0).value() == 65536);
  auto mapped = w.open("third", access::read_write, creation::always_new).value();
  CHECK(mapped.copy_from(cached, {0, 65536}, 0).value() == 65536);
  const auto view = mapped.view(0, 65536).value();
  CHECK(holds_pattern(view.first(5000), 0));
  CHECK(view[5000] == std::byte{0});
  CHECK(holds_pattern(view.subspan(5001), 5001));
}

}  // namespace contract
