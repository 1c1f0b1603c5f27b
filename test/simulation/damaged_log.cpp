// Every byte of a small log is changed, and all pairs of its sectors are lost, replaced by what was there before, or
// exchanged. The log never shows a record that was not appended, and reports what it has lost.
#include "log_in_memory.hpp"
#include "program.hpp"
#include <qio/log_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

namespace {

using namespace simulation;
namespace format = qio::detail::log_format;

constexpr std::uint64_t sector = format::sector, header_bytes = format::file_header::bytes;
constexpr std::uint64_t copies[] = {0, 4096};

struct batch {
  std::uint64_t begin, end;     // offsets in the file
  std::uint64_t first, behind;  // numbers of its first record, and of the one behind its last
};

/// A log, and everything that was ever in it.
struct sample {
  bool checksums = false, trimmed = false;
  bytes file;
  std::vector<bytes> versions;  // of the file: after each change
  std::vector<bytes> records;   // by their numbers, from 1
  std::vector<batch> batches;

  std::uint64_t end() const noexcept { return batches.back().end; }
  qio::log_options options() const {
    return {.extent = 16 * 1024, .largest_batch = 4096, .checksums = checksums, .id = 9};
  }
};

constexpr auto accept = [](const qio::log_record&) { return true; };

bytes numbered(std::size_t size, std::size_t number) {
  bytes made(size);
  for (std::size_t i = 0; i != size; ++i) made[i] = static_cast<std::byte>(number * 37 + i * 11 + 1);
  return made;
}

/// Six batches of one to four sectors and one to three records. The log is opened again in front of the fourth, and
/// trimmed in front of the last, if at all.
sample make_sample(bool checksums, bool trimmed) {
  sample made{.checksums = checksums, .trimmed = trimmed, .file = {}, .versions = {}, .records = {}, .batches = {}};
  qio::simulated_disk disk({.seed = 1});
  const std::vector<std::vector<std::size_t>> groups = {{0, 40, 700}, {1800}, {8, 16}, {300}, {500, 600}, {100, 0, 90}};
  std::size_t next = 0;
  for (const std::size_t until : {std::size_t(3), groups.size()}) {
    program writer(disk);
    auto log = writer.context.run(qio::open_log(writer.open("log").value(), accept, made.options())).value();
    made.versions.push_back(contents(disk, "log"));
    const auto append = [&](std::uint64_t number) -> qio::task<void> {
      const auto appended = co_await log.append(made.records[static_cast<std::size_t>(number - 1)]);
      REQUIRE(appended.value() == number);
    };
    const auto trim = [&]() -> qio::task<void> { REQUIRE((co_await log.trim(made.batches[2].first)).has_value()); };
    for (; next != until; ++next) {
      if (trimmed && next + 1 == groups.size()) {
        writer.context.run(trim());
        made.versions.push_back(contents(disk, "log"));
      }
      const std::uint64_t begin = log.end(), first = made.records.size() + 1;
      for (const std::size_t length : groups[next]) made.records.push_back(numbered(length, made.records.size() + 1));
      std::vector<qio::task<void>> appends;
      for (std::uint64_t number = first; number <= made.records.size(); ++number) appends.push_back(append(number));
      writer.context.run(qio::when_all(std::move(appends)));
      made.batches.push_back({begin, log.end(), first, made.records.size() + 1});
      made.versions.push_back(contents(disk, "log"));
    }
  }
  made.file = made.versions.back();
  for (const batch& each : made.batches) {
    const auto header = format::batch_header::load_from(made.file.data() + each.begin);
    REQUIRE(header);
    REQUIRE(header->size == each.end - each.begin);
    REQUIRE(header->first_record + header->records == each.behind);
  }
  return made;
}

// --- what may be found in a log that has changed ---

bool is_zero(const bytes& file, std::uint64_t begin, std::uint64_t end) {
  return format::is_zero(
      std::span(file).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
}
bool is_same(const bytes& left, const bytes& right, std::uint64_t begin, std::uint64_t end) {
  return std::memcmp(left.data() + begin, right.data() + begin, static_cast<std::size_t>(end - begin)) == 0;
}

/// The newer of the two copies that are left.
std::optional<format::file_header> header_of(const bytes& file) {
  std::optional<format::file_header> newest;
  for (const std::uint64_t at : copies) {
    const auto copy = format::file_header::load_from(file.data() + at, at);
    if (copy && (!newest || copy->is_newer_than(*newest))) newest = copy;
  }
  return newest;
}

/// Whether a batch may be taken for one that was being written when the system stopped: the end of a sector is missing
/// or begins to, or the beginning of the batch. See "What recovery cannot detect" in docs/log.md.
bool looks_torn(const bytes& file, const batch& of) {
  if (file[static_cast<std::size_t>(of.begin)] == std::byte{0}) return true;
  for (std::uint64_t at = of.begin; at != of.end; at += sector)
    for (std::uint64_t byte = at + format::payload; byte != at + sector; ++byte)
      if (file[static_cast<std::size_t>(byte)] == std::byte{0}) return true;
  return false;
}

/// Whether it is as if the records from `number` on had not been acknowledged: they are the last ones, appended since
/// the header was written, and what is left of them is what a crash leaves.
bool looks_like_crash(const sample& of, const bytes& changed, const format::file_header& header, std::uint64_t number) {
  if (number < header.known.record) return false;
  for (const batch& each : of.batches) {
    if (each.first != number) continue;
    return is_zero(changed, each.end, header.owned) &&
           (is_zero(changed, each.begin, each.end) || looks_torn(changed, each));
  }
  return false;  // not the first record of a batch
}

enum class outcome { whole, refused, damaged, changed, lost };

/// What is found in `changed`, which is the sample with some bytes changed; and what it must not be.
outcome check(qio::basic_context<qio::simulated>& context, const sample& of, file_in_memory& changed, bool is_locked) {
  const auto header = header_of(changed.stored);
  std::uint64_t next = header ? header->start.record : 1;
  bool is_changed = false, is_wrong = false;
  const auto batch_of = [&](std::uint64_t number) -> const batch& {
    return *std::ranges::find_if(of.batches, [&](const batch& each) { return number < each.behind; });
  };
  const auto visit = [&](const qio::log_record& each) {
    if (each.number != next || each.number > of.records.size()) {
      is_wrong = true;
      return false;
    }
    ++next;
    if (std::ranges::equal(each.bytes, of.records[static_cast<std::size_t>(each.number - 1)])) return true;
    // Without checksums, a record may have changed where the bytes of its batch have.
    const batch& in = batch_of(each.number);
    is_changed = true;
    is_wrong = is_wrong || of.checksums || is_same(changed.stored, of.file, in.begin, in.end);
    return true;
  };
  const found_in_memory found = context.run(read_in_memory(changed, visit, is_locked));
  if (is_wrong) FAIL("a record is shown that was not appended");
  if (found.is_new) FAIL("a log is taken for a new one");
  if (found.contents.has_value() != header.has_value()) FAIL("a log is refused, or read without a header");
  if (!found.contents) return outcome::refused;
  for (const batch& each : of.batches)
    if (each.first >= next && next <= of.records.size()) {
      // The first batch that is not there as a whole: something in it, or in front of it, has changed.
      if (is_same(changed.stored, of.file, batch_of(header->start.record).begin, each.end))
        FAIL("record " << each.first << " is lost in front of the damage");
      break;
    }
  if (found.contents->tail == qio::log_end::damaged) return outcome::damaged;
  if (next > of.records.size()) return is_changed ? outcome::changed : outcome::whole;
  if (!looks_like_crash(of, changed.stored, *header, next)) FAIL("record " << next << " is lost, and not reported");
  return outcome::lost;
}

/// How often there was each outcome.
struct outcomes {
  std::uint64_t counts[5] = {};

  void add(outcome one) { ++counts[static_cast<int>(one)]; }
  std::uint64_t of(outcome one) const { return counts[static_cast<int>(one)]; }
  std::uint64_t all() const {
    return of(outcome::whole) + of(outcome::refused) + of(outcome::damaged) + of(outcome::changed) + of(outcome::lost);
  }
};
std::ostream& operator<<(std::ostream& out, const outcomes& all) {
  return out << all.all() << " changes: " << all.of(outcome::whole) << " without effect, " << all.of(outcome::refused)
             << " logs refused, " << all.of(outcome::damaged) << " damaged, " << all.of(outcome::changed)
             << " with a changed record, " << all.of(outcome::lost) << " with the last batch lost";
}

template <class Check>
void each_sample(Check check_sample) {
  for (const bool checksums : {false, true})
    for (const bool trimmed : {false, true}) {
      CAPTURE(checksums, trimmed);
      check_sample(make_sample(checksums, trimmed));
    }
}

/// Calls `change(byte, value)` for other values of a byte: for all of them, or for those that differ by a bit and a
/// few.
template <class Change>
void each_value(std::byte present, bool all, Change change) {
  for (unsigned other = 1; other != 256; ++other) {
    const auto value = static_cast<std::byte>(std::to_integer<unsigned>(present) ^ other);
    const bool is_one_bit = (other & (other - 1)) == 0;
    if (all || is_one_bit || value == std::byte{0} || value == std::byte{0xff} || other == 0xff || other == 0x11)
      change(value);
  }
}

void change_each_byte(bool all_values) {
  each_sample([&](const sample& of) {
    qio::simulated_disk disk;
    program reader(disk);
    file_in_memory file{of.file};
    outcomes found;
    const auto change = [&](std::uint64_t at) {
      std::byte& byte = file.stored[static_cast<std::size_t>(at)];
      const std::byte present = byte;
      each_value(present, all_values, [&](std::byte value) {
        INFO("byte " << at << ": " << std::to_integer<unsigned>(value));
        byte = value;
        const outcome one = check(reader.context, of, file, true);
        found.add(one);
        if (one == outcome::lost && value != std::byte{0})
          FAIL("a byte that is not zero looks as if it was not written");
      });
      byte = present;
    };
    for (const std::uint64_t copy : copies)
      for (std::uint64_t at = 0; at != header_bytes + 32; ++at) change(copy + at);
    for (std::uint64_t at = of.batches.front().begin; at != of.end() + 2 * sector; ++at) change(at);
    INFO(found);
    // One copy of the header is enough.
    CHECK(found.of(outcome::refused) == 0);
    // A zero in a stamp of the last batch, or at its beginning.
    CHECK(found.of(outcome::lost) == (of.end() - of.batches.back().begin) / sector * format::stamp_bytes + 1);
    CHECK((found.of(outcome::changed) != 0) == !of.checksums);
    CHECK(found.of(outcome::damaged) > 1000);
  });
}

}  // namespace

TEST_CASE("no changed byte makes a log show what was not appended, or lose a record silently but the last batch") {
  change_each_byte(false);
}

TEST_CASE("no byte with any other value makes a log show what was not appended, or lose a record silently",
          "[nightly]") {
  change_each_byte(true);
}

namespace {

/// What a sector may have become: what it was after each change of the log, or zeros. Its present contents first.
std::vector<bytes> contents_of_sector(const sample& of, std::uint64_t at) {
  const auto in = [&](const bytes& file) {
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
    return bytes(begin, begin + static_cast<std::ptrdiff_t>(sector));
  };
  std::vector<bytes> all = {in(of.file)};
  const auto add = [&](bytes one) {
    if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
  };
  add(bytes(sector));
  for (const bytes& each : of.versions) add(in(each));
  return all;
}

void put(bytes& file, std::uint64_t at, const bytes& contents) {
  std::ranges::copy(contents, file.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Calls `check(file)` for all combinations of what these sectors may have become.
template <class Check>
void change_all(const sample& of, std::span<const std::uint64_t> sectors, bytes& file, Check& check_changed) {
  if (sectors.empty()) return check_changed(file);
  const std::uint64_t at = sectors.front();
  const std::vector<bytes> all = contents_of_sector(of, at);
  for (const bytes& each : all) {
    put(file, at, each);
    change_all(of, sectors.subspan(1), file, check_changed);
  }
  put(file, at, all.front());
}

/// For each pair of sectors, also exchanged, and for each sector together with both copies of the header.
template <class Check>
void change_sectors(const sample& of, Check check_changed) {
  std::vector<std::uint64_t> sectors(std::begin(copies), std::end(copies));
  for (std::uint64_t at = of.batches.front().begin; at != of.end() + 2 * sector; at += sector) sectors.push_back(at);
  bytes file = of.file;
  for (std::size_t i = 0; i != sectors.size(); ++i)
    for (std::size_t j = i + 1; j != sectors.size(); ++j) {
      const std::uint64_t both[] = {sectors[i], sectors[j]};
      INFO("sectors at " << both[0] << " and " << both[1]);
      change_all(of, both, file, check_changed);
      const bytes first = contents_of_sector(of, both[0]).front(), second = contents_of_sector(of, both[1]).front();
      put(file, both[0], second);
      put(file, both[1], first);
      check_changed(file);
      put(file, both[0], first);
      put(file, both[1], second);
    }
  for (std::size_t i = std::size(copies); i != sectors.size(); ++i) {
    INFO("both headers, and the sector at " << sectors[i]);
    const std::uint64_t three[] = {copies[0], copies[1], sectors[i]};
    change_all(of, three, file, check_changed);
  }
}

/// Opens the log in `file` on a disk, and appends a record to it. What was found is there again afterwards, and so is
/// that record; a log that is not opened is not changed. Returns whether it was opened.
bool open_and_append(const sample& of, const bytes& file) {
  qio::simulated_disk disk({.seed = 2});
  {
    program writer(disk);
    REQUIRE(writer.open("log").value().write_at(0, file).value() == file.size());
  }
  std::vector<std::pair<std::uint64_t, bytes>> found, again;
  const auto collect = [](auto& into) {
    return [&into](const qio::log_record& each) {
      into.emplace_back(each.number, bytes(each.bytes.begin(), each.bytes.end()));
      return true;
    };
  };
  const bytes added = numbered(100, 99);
  bool is_open = false;
  {
    program writer(disk);
    auto log = writer.context.run(qio::open_log(writer.open("log").value(), collect(found), of.options()));
    is_open = log.has_value();
    if (is_open) {
      const auto append = [&]() -> qio::task<void> {
        const auto number = co_await log.value().append(added);
        found.emplace_back(number.value(), added);
      };
      writer.context.run(append());
    }
  }
  if (!is_open) {
    if (contents(disk, "log") != file) FAIL("a log was changed that was not opened");
    return false;
  }
  program reader(disk);
  const auto reopened = reader.context.run(qio::open_log(reader.open("log").value(), collect(again), of.options()));
  if (!reopened || again != found) FAIL("what was found in a log, and appended to it, is not there again");
  return true;
}

}  // namespace

TEST_CASE(
    "no sectors that are lost, old or exchanged make a log show what was not appended, or lose records silently") {
  each_sample([](const sample& of) {
    qio::simulated_disk disk;
    program reader(disk);
    outcomes found;
    std::uint64_t opened = 0;
    change_sectors(of, [&](const bytes& file) {
      file_in_memory in{file};
      const outcome locked = check(reader.context, of, in, true);
      found.add(locked);
      // read_log() finds the same.
      if (check(reader.context, of, in, false) != locked) FAIL("read_log() and open_log() find different ends");
      const bool is_open = open_and_append(of, file);
      if (is_open != (locked != outcome::damaged && locked != outcome::refused)) FAIL("a damaged log is opened");
      opened += is_open;
    });
    INFO(found << ", " << opened << " opened");
    CHECK(found.of(outcome::changed) == 0);
    CHECK(found.of(outcome::damaged) > 250);
    CHECK(found.of(outcome::refused) > 0);
    CHECK(found.of(outcome::lost) > 0);
  });
}
