// Reads and writes, in every mode on every engine.
#include "world.hpp"

namespace contract {

PROMISE(full_read, everywhere, "a read fills the whole buffer") {
  auto file = w.with(16 * 4096);
  memory buffer(3 * 4096);
  CHECK(w.read(file, 4096, buffer.all()).value() == 3 * 4096);
  CHECK(holds_pattern(buffer.all(), 4096));
}

PROMISE(short_read, everywhere, "a read that reaches the end of the file returns the bytes before it") {
  auto file = w.with(2 * 4096 + 1000);
  memory buffer(4 * 4096);
  CHECK(w.read(file, 4096, buffer.all()).value() == 4096 + 1000);
  CHECK(holds_pattern(buffer.part(0, 4096 + 1000), 4096));
  CHECK(w.read(file, 8192, buffer.all()).value() == 1000);
}

PROMISE(short_read_at_block, everywhere,
        "a read that reaches an end of the file between two blocks returns the bytes before it") {
  auto file = w.with(2 * 4096);
  memory buffer(4 * 4096);
  CHECK(w.read(file, 4096, buffer.all()).value() == 4096);
  CHECK(holds_pattern(buffer.part(0, 4096), 4096));
}

PROMISE(read_past_end, everywhere, "a read at or past the end of the file returns 0") {
  auto file = w.with(4096);
  memory buffer(4096);
  CHECK(w.read(file, 4096, buffer.all()).value() == 0);
  CHECK(w.read(file, 8192, buffer.all()).value() == 0);
  CHECK(w.read(file, std::uint64_t(1) << 40, buffer.all()).value() == 0);
  CHECK(holds_only(buffer.all(), std::byte{0}));
  auto empty = w.open("empty", access::read_write, creation::always_new).value();
  CHECK(w.read(empty, 0, buffer.all()).value() == 0);
}

PROMISE(empty_buffer, everywhere, "a transfer of an empty buffer returns 0 at any offset") {
  auto file = w.with(4096);
  const std::span<std::byte> nothing;
  CHECK(w.read(file, 0, nothing).value() == 0);
  CHECK(w.read(file, 1 << 20, nothing).value() == 0);
  CHECK(w.write(file, 1 << 20, nothing).value() == 0);
  CHECK(w.read(file, 0, std::vector<qio::mutable_buffer>()).value() == 0);
  CHECK(w.read(file, 0, std::vector<qio::mutable_buffer>(3)).value() == 0);
  CHECK(w.write(file, 0, std::vector<qio::const_buffer>(3)).value() == 0);
  CHECK(file.size().value() == 4096);
}

PROMISE(unaligned, everywhere, "without direct I/O, a transfer may have any offset, length and address") {
  if (w.unit != 1) {
    SUCCEED("direct");
    return;
  }
  auto file = w.with(10000);
  memory buffer(3 * 4096);
  for (const std::size_t odd : {1u, 7u, 4095u, 4097u}) {
    CHECK(w.read(file, odd, buffer.part(odd, odd)).value() == odd);
    CHECK(holds_pattern(buffer.part(odd, odd), odd));
    auto source = memory::with_pattern(odd + 3, odd);
    CHECK(w.write(file, odd + 3, source.all()).value() == odd);
  }
  memory whole(10000);
  CHECK(w.read(file, 0, whole.all()).value() == 10000);
  CHECK(holds_pattern(whole.all(), 0));
}

PROMISE(extending, everywhere, "a write beyond the end extends the file, and the hole reads as zeros") {
  auto file = w.with(4096);
  auto source = memory::with_pattern(5 * 4096, 2 * 4096);
  CHECK(w.write(file, 5 * 4096, source.all()).value() == 2 * 4096);
  CHECK(file.size().value() == 7 * 4096);
  memory whole(7 * 4096);
  CHECK(w.read(file, 0, whole.all()).value() == 7 * 4096);
  CHECK(holds_pattern(whole.part(0, 4096), 0));
  CHECK(holds_only(whole.part(4096, 4 * 4096), std::byte{0}));
  CHECK(holds_pattern(whole.part(5 * 4096, 2 * 4096), 5 * 4096));
}

PROMISE(resizing, everywhere, "resize truncates a file, or extends it with zeros") {
  auto file = w.with(3 * 4096);
  CHECK(w.resize(file, 5000));
  CHECK(file.size().value() == 5000);
  CHECK(w.resize(file, 3 * 4096));
  memory whole(4 * 4096);
  CHECK(w.read(file, 0, whole.all()).value() == 3 * 4096);
  CHECK(holds_pattern(whole.part(0, 5000), 0));
  CHECK(holds_only(whole.part(5000, 3 * 4096 - 5000), std::byte{0}));
  CHECK(w.resize(file, 0));
  CHECK(w.read(file, 0, whole.all()).value() == 0);
  const auto refused = w.resize(file, std::uint64_t(1) << 63);
  REQUIRE(!refused);
  CHECK(refused.error() == errc::offset_too_large);
  CHECK(refused.error().given() == std::uint64_t(1) << 63);
  CHECK(refused.error().needed() == (std::uint64_t(1) << 63) - 1);
}

PROMISE(syncing, everywhere, "each kind of sync succeeds after a write") {
  auto file = w.with(4096);
  for (const auto kind : {qio::sync_kind::data, qio::sync_kind::data_and_size, qio::sync_kind::everything})
    CHECK(w.sync(file, kind));
  if constexpr (Where::is_of_system) {
    CHECK(w.context->run(qio::async_sync_directory(*w.context, w.where.path())));
    CHECK(w.context->run(qio::async_sync_directory(*w.context, w.where / "no such")).error() ==
          std::errc::no_such_file_or_directory);
  }
}

TEST_CASE("sync_directory succeeds for a directory, and fails for a file or a missing path") {
  const directory where;
  put(where / "data", "");
  CHECK(qio::sync_directory(where.path()));
  CHECK(qio::sync_directory(where / "no such").error() == std::errc::no_such_file_or_directory);
  CHECK(qio::sync_directory(where / "data").error() == std::errc::not_a_directory);
}

PROMISE(durable_writes, everywhere, "durable writes write the same bytes as other writes") {
  auto file = w.open("data", access::read_write, creation::always_new, {.durable_writes = true}).value();
  CHECK(file.explain().find("durable writes")->value == "on");
  auto source = memory::with_pattern(0, 4 * 4096);
  CHECK(w.write(file, 0, source.part(0, 2 * 4096)).value() == 2 * 4096);
  const std::array<qio::const_buffer, 2> pair{qio::const_buffer(source.part(2 * 4096, 4096)),
                                              qio::const_buffer(source.part(3 * 4096, 4096))};
  CHECK(w.write(file, 2 * 4096, pair).value() == 2 * 4096);  // extends it
  CHECK(w.write(file, 4096, source.part(4096, 4096)).value() == 4096);
  CHECK(file.size().value() == 4 * 4096);
  memory target(4 * 4096);
  CHECK(w.read(file, 0, target.all()).value() == 4 * 4096);
  CHECK(holds_pattern(target.all(), 0));
  if constexpr (Where::mode::is_mapped) CHECK(holds_pattern(file.view(0, 4 * 4096).value(), 0));
  CHECK(w.sync(file, qio::sync_kind::everything));

  auto ordinary = w.open("data", access::read_write, creation::open_existing).value();
  CHECK(ordinary.explain().find("durable writes")->value == "off");
}

PROMISE(vectored, everywhere, "a vectored transfer takes any number of buffers, including empty ones") {
  const std::size_t piece = w.unit == 1 ? 3 : w.unit;
  for (const std::size_t count : {1u, 2u, 1024u, 1025u, 3000u}) {
    CAPTURE(count);
    auto file = w.with(0);
    auto source = memory::with_pattern(0, count * piece);
    std::vector<qio::const_buffer> out;
    for (std::size_t i = 0; i < count; ++i) {
      out.emplace_back(source.part(i * piece, piece));
      if (i % 3 == 0) out.emplace_back(nullptr, 0);
    }
    REQUIRE(w.write(file, 0, out).value() == count * piece);
    REQUIRE(file.size().value() == count * piece);

    memory target(count * piece);
    std::vector<qio::mutable_buffer> in(1);
    for (std::size_t i = 0; i < count; ++i) {
      in.emplace_back(target.part(i * piece, piece));
      if (i % 5 == 0) in.emplace_back(nullptr, 0);
    }
    REQUIRE(w.read(file, 0, in).value() == count * piece);
    REQUIRE(holds_pattern(target.all(), 0));
  }
}

PROMISE(vectored_at_end, everywhere, "a vectored read that reaches the end of the file fills the buffers in order") {
  auto file = w.with(2 * 4096 + 100);
  memory target(4 * 4096);
  const std::array<qio::mutable_buffer, 3> in{qio::mutable_buffer(target.part(0, 4096)),
                                              qio::mutable_buffer(target.part(4096, 2 * 4096)),
                                              qio::mutable_buffer(target.part(3 * 4096, 4096))};
  CHECK(w.read(file, 0, in).value() == 2 * 4096 + 100);
  CHECK(holds_pattern(target.part(0, 2 * 4096 + 100), 0));
  CHECK(holds_only(target.part(3 * 4096, 4096), std::byte{0}));
}

PROMISE(many_pieces_at_end, everywhere,
        "a vectored read of more buffers than one system call takes reaches the end of the file") {
  const std::size_t piece = w.unit;
  auto file = w.with(1500 * piece);
  memory target(3000 * piece);
  std::vector<qio::mutable_buffer> in;
  for (std::size_t i = 0; i < 3000; ++i) in.emplace_back(target.part(i * piece, piece));
  CHECK(w.read(file, 0, in).value() == 1500 * piece);
  CHECK(holds_pattern(target.part(0, 1500 * piece), 0));
}

PROMISE(largest_offsets, everywhere,
        "a transfer that ends past 2^63 - 1 is refused with the numbers, and a smaller one is not") {
  constexpr std::uint64_t largest = (std::uint64_t(1) << 63) - 1;
  auto file = w.with(4096);
  memory buffer(4096);
  const std::uint64_t last = largest / 4096 * 4096 - 4096;
  CHECK(w.read(file, last, buffer.all()).value() == 0);

  const std::uint64_t over = last + 4096;  // ends at 2^63
  for (const auto& refused : {w.read(file, over, buffer.all()), w.write(file, over, buffer.all())}) {
    REQUIRE(!refused);
    CHECK(refused.error() == errc::offset_too_large);
    CHECK(refused.error() == std::errc::file_too_large);
    CHECK(refused.error().given() == largest + 1);
    CHECK(refused.error().needed() == largest);
    CHECK(refused.error().message().find("9223372036854775807") != std::string::npos);
    CHECK(refused.error().message().find(' ' + (w.where / "data") + ": offset + length = ") != std::string::npos);
  }
  CHECK(w.read(file, ~std::uint64_t(0) - 4095, buffer.all()).error() == errc::offset_too_large);
  const std::vector<qio::mutable_buffer> endless(3, qio::mutable_buffer(buffer.data(), std::size_t(1) << 62));
  CHECK(w.read(file, 0, endless).error() == errc::offset_too_large);
  // Below that offset, the file system may have a limit of its own. XFS and tmpfs have none.
  const auto written = w.write(file, last, buffer.all());
  if (!written) CHECK(os::is_beyond_file_system(written.error()));
  CHECK(file.size().value() == (written ? last + 4096 : 4096));
}

PROMISE(misaligned, everywhere, "a misaligned direct transfer is refused with the numbers, without a system call") {
  if constexpr (std::is_same_v<typename Where::mode, qio::direct>) {
    auto file = w.with(4 * 4096);
    const qio::alignment needed = file.alignment();
    memory buffer(4 * 4096);
    os::take_away(file.native_handle());

    const auto refused = [&](const qio::result<std::size_t>& answer, errc why, std::uint64_t given,
                             std::uint64_t multiple) {
      REQUIRE(!answer);
      CHECK(answer.error() == why);
      CHECK(answer.error() == std::errc::invalid_argument);
      CHECK(answer.error().given() == given);
      CHECK(answer.error().needed() == multiple);
      const std::string message = answer.error().message();
      CHECK(message.find("cannot ") == 0);
      CHECK(message.find(' ' + (w.where / "data") + ": ") != std::string::npos);
      CHECK(message.find(std::to_string(given)) != std::string::npos);
      CHECK(message.find(std::to_string(multiple)) != std::string::npos);
    };
    refused(w.read(file, 100, buffer.all()), errc::misaligned_offset, 100, needed.read);
    refused(w.write(file, 4097, buffer.all()), errc::misaligned_offset, 4097, needed.write);
    refused(w.read(file, 0, buffer.part(0, 4095)), errc::misaligned_length, 4095, needed.read);
    refused(w.write(file, 0, buffer.part(0, 100)), errc::misaligned_length, 100, needed.write);
    if (needed.memory > 1) {
      const auto address = reinterpret_cast<std::uintptr_t>(buffer.data()) + 1;
      refused(w.read(file, 0, buffer.part(1, 4096)), errc::misaligned_buffer, address, needed.memory);
      refused(w.write(file, 0, buffer.part(1, 4096)), errc::misaligned_buffer, address, needed.memory);
      const std::vector<qio::mutable_buffer> second{buffer.part(0, 4096), buffer.part(4097, 4096)};
      refused(w.read(file, 0, second), errc::misaligned_buffer, address + 4096, needed.memory);
    }
    const std::vector<qio::const_buffer> odd_one{qio::const_buffer(buffer.part(0, 4096)),
                                                 qio::const_buffer(buffer.part(4096, 10))};
    refused(w.write(file, 0, odd_one), errc::misaligned_length, 10, needed.write);
    if constexpr (Where::is_async) CHECK(served(file.statistics()) == 0);
  } else {
    auto file = w.with(0);
    CHECK(file.alignment() == qio::alignment{1, 1, 1});
    CHECK(!file.is_direct());
  }
}

PROMISE(other_access, everywhere, "a transfer that the file was not opened for fails, and changes nothing") {
  { auto file = w.with(4096); }
  memory buffer(4096);
  auto reader = w.open("data", access::read, creation::open_existing).value();
  const auto refused = w.write(reader, 0, buffer.all());
  REQUIRE(!refused);
  CHECK(refused.error() == errc::access_not_granted);
  CHECK(w.read(reader, 0, buffer.all()).value() == 4096);
  CHECK(holds_pattern(buffer.all(), 0));
  CHECK(w.resize(reader, 0).error() == errc::access_not_granted);

  auto writer = w.open("data", access::write, creation::open_existing).value();
  CHECK(w.write(writer, 4096, buffer.all()).value() == 4096);
  if (!Where::mode::is_mapped && !Where::mode::is_uncached)
    CHECK(w.read(writer, 0, buffer.all()).error() == errc::access_not_granted);
  CHECK(writer.size().value() == 8192);
}

PROMISE(names_access, everywhere,
        "the error of a transfer that the file was not opened for names the file and its access") {
  { auto file = w.with(4096); }
  memory buffer(4096);
  const auto ends_with = [](const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
  };
  const std::string no_write =
      "data: the file was opened with access::read, which does not permit writing: open it with access::read_write";
  auto reader = w.open("data", access::read, creation::open_existing).value();
  for (const qio::error& each : {w.write(reader, 0, buffer.all()).error(), w.resize(reader, 0).error()}) {
    CHECK(each.message().find("cannot write ") == 0);
    CHECK(ends_with(each.message(), no_write));
    CHECK(each.given() == static_cast<std::uint64_t>(access::read));
    CHECK(each.needed() == static_cast<std::uint64_t>(access::write));
  }
  if constexpr (Where::mode::is_mapped) CHECK(ends_with(reader.writable_view(0, 1).error().message(), no_write));

  auto writer = w.open("data", access::write, creation::open_existing).value();
  if (Where::mode::is_mapped || Where::mode::is_uncached) return;
  const std::string refused = w.read(writer, 0, buffer.all()).error().message();
  CHECK(refused.find("cannot read ") == 0);
  CHECK(ends_with(
      refused,
      "data: the file was opened with access::write, which does not permit reading: open it with access::read_write"));
}

PROMISE(coherent, everywhere_in_the_system, "data that is written in one mode can be read in the others") {
  auto file = w.with(4 * 4096);
  const std::string path = w.where / "data";
  auto cached = qio::cached_file::open(path, access::read_write).value();
  auto mapped = qio::mapped_file::open(path, access::read_write).value();
  auto direct = qio::direct_file::open(path, access::read_write, creation::open_existing,
                                       {.fallback = qio::if_unavailable::use_cache})
                    .value();
  memory buffer(4096);
  const auto seen_by_all = [&](std::byte value, std::uint64_t offset) {
    const auto seen = [&](const qio::result<std::size_t>& answer) {
      const bool right = answer.value() == 4096 && holds_only(buffer.all(), value);
      std::fill(buffer.all().begin(), buffer.all().end(), std::byte{0xee});
      return right;
    };
    REQUIRE(seen(cached.read_at(offset, buffer.all())));
    REQUIRE(seen(mapped.read_at(offset, buffer.all())));
    REQUIRE(seen(direct.read_at(offset, buffer.all())));
    REQUIRE(seen(w.read(file, offset, buffer.all())));
    REQUIRE(holds_only(mapped.view(offset, 4096).value(), value));
  };
  memory source(4096);
  const auto filled = [&](std::byte value) {
    std::fill(source.all().begin(), source.all().end(), value);
    return source.all();
  };
  REQUIRE(w.write(file, 0, filled(std::byte{1})).value() == 4096);
  seen_by_all(std::byte{1}, 0);
  REQUIRE(cached.write_at(0, filled(std::byte{2})).value() == 4096);
  seen_by_all(std::byte{2}, 0);
  REQUIRE(direct.write_at(0, filled(std::byte{3})).value() == 4096);
  seen_by_all(std::byte{3}, 0);
  REQUIRE(mapped.write_at(0, filled(std::byte{4})).value() == 4096);
  seen_by_all(std::byte{4}, 0);
  REQUIRE(w.write(file, 8 * 4096, filled(std::byte{5})).value() == 4096);  // the file grows
  seen_by_all(std::byte{5}, 8 * 4096);
}

PROMISE(moving, everywhere_in_the_system,
        "a file that is moved still works, and assignment closes the file that it replaces") {
  auto first = w.with(4096);
  auto moved = std::move(first);
  CHECK(!first.is_open());  // NOLINT(bugprone-use-after-move): this tests the moved-from file
  memory buffer(4096);
  CHECK(w.read(moved, 0, buffer.all()).value() == 4096);
  auto other = w.open("other", access::read_write, creation::always_new).value();
  CHECK(os::has_open(w.where / "other"));
  other = std::move(moved);
  CHECK(!os::has_open(w.where / "other"));
  CHECK(w.read(other, 0, buffer.all()).value() == 4096);
  CHECK(holds_pattern(buffer.all(), 0));
}

PROMISE(closing, everywhere_in_the_system, "close() returns the error, and closes the file in any case") {
  auto file = w.with(4096);
  CHECK(os::has_open(w.where / "data"));
  CHECK(file.close());
  CHECK(!file.is_open());
  CHECK(!os::has_open(w.where / "data"));

  auto robbed = w.with(0);
  os::close(robbed.native_handle());
  CHECK(robbed.close().error() == std::errc::bad_file_descriptor);
  CHECK(!robbed.is_open());
}

PROMISE(explaining, everywhere, "explain() reports the mode and what is active") {
  auto file = w.with(0);
  const qio::explanation facts = file.explain();
  REQUIRE(facts.find("mode") != nullptr);
  CHECK(facts.find("mode")->value == Where::mode::name);
  CHECK(facts.find("no such fact") == nullptr);
  if constexpr (Where::mode::is_direct) {
    CHECK(file.is_direct());
    CHECK(facts.find("direct")->value == "on");
    CHECK(facts.find("alignment")->value.find(std::to_string(file.alignment().read)) != std::string::npos);
    CHECK(!facts.find("alignment")->reason.empty());
  } else if constexpr (Where::mode::is_uncached) {
    CHECK(file.is_uncached());
    CHECK(facts.find("uncached")->value == "on");
  } else {
    CHECK(facts.find("inline reads") != nullptr);
    if (!Where::is_async) CHECK(facts.find("inline writes")->value == "off");
  }
}

}  // namespace contract
