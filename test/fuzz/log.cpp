// Files that are, or seem to be, logs (log_writer.hpp), on a simulated disk without faults.
#include "fuzz.hpp"
#include <qio/engine/simulated.hpp>
#include <qio/log_writer.hpp>
#include <qio/qio.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace {

namespace format = qio::detail::log_format;

using context = qio::basic_context<qio::simulated>;
using bytes = std::vector<std::byte>;

// A log that asks for more is refused.
constexpr std::uint64_t limit = 64 * 1024;
constexpr qio::log_options options{.extent = 8 * 1024, .largest_batch = 4096, .batch_limit = limit, .id = 7};

auto open(const context& on, qio::creation how = qio::creation::if_needed) {
  return qio::basic_file<qio::cached>::open(on, "log", qio::access::read_write, how).value();
}

/// Whether numbers follow one another, and no record is longer than a batch.
struct checked_records {
  std::uint64_t found = 0, last = 0;

  bool operator()(const qio::log_record& each) {
    fuzz::require(found == 0 || each.number == last + 1, "records have consecutive numbers");
    fuzz::require(each.bytes.size() <= limit, "a record is not longer than a batch");
    last = each.number;
    ++found;
    return true;
  }
};

template <class Log>
qio::task<std::uint64_t> append(Log& log) {
  const auto number = co_await log.append(std::as_bytes(std::span("appended")));
  co_return number ? number.value() : 0;
}

/// The bytes of a log with a few records.
const bytes& sample() {
  static const bytes made = [] {
    qio::simulated_disk disk;
    context on = context::create({.disk = &disk}).value();
    {
      auto log = on.run(qio::open_log(open(on), checked_records(), options)).value();
      for (int i = 0; i < 5; ++i) on.run(append(log));
    }
    auto file = open(on);
    bytes all(static_cast<std::size_t>(file.size().value()));
    file.read_at(0, all).value();
    return all;
  }();
  return made;
}

/// Replaces a number in front of a seal, which is renewed.
template <std::size_t Count>
void forge(bytes& file, std::size_t at, std::size_t number, std::uint64_t value) {
  if (at + 8 * (Count + 1) > file.size()) return;
  format::store(file.data() + at + 8 * (number % Count), value, 8);
  std::array<std::uint64_t, Count> numbers;
  for (std::size_t i = 0; i < Count; ++i) numbers[i] = format::load(file.data() + at + 8 * i, 8);
  format::store_sealed(file.data() + at, numbers);
}

/// The sample with a few changes.
bytes changed(fuzz::input in) {
  bytes file = sample();
  while (!in.empty()) {
    const std::size_t what = in.below(6);
    const std::size_t where = in.below(64);
    switch (what) {
      case 0: file.resize(in.below(file.size() + 1)); break;
      case 1: forge<15>(file, 0, where, in.bits()); break;
      case 2: forge<15>(file, 4096, where, in.bits()); break;
      case 3: forge<9>(file, 8192 + where / 9 % 8 * 512, where, in.bits()); break;
      case 4:
        for (std::size_t at = 8192 + where * 512, end = at + in.below(64) * 512; at < end && at < file.size(); ++at)
          file[at] = std::byte{0};
        break;
      default:
        if (const std::size_t at = in.below(65536); at < file.size())
          file[at] ^= static_cast<std::byte>(1u << where % 8);
        break;
    }
  }
  return file;
}

/// Whether a copy of the header has been forged so that what is appended could not be read: such a log is not opened.
bool has_large_numbers(const bytes& contents) {
  for (const std::size_t at : {std::size_t(0), std::size_t(4096)}) {
    if (at + format::file_header::bytes > contents.size()) continue;
    const auto header = format::file_header::load_from(contents.data() + at, at);
    if (header && !format::may_be_continued(*header, header->known)) return true;
  }
  return false;
}

void read(const bytes& contents) {
  qio::simulated_disk disk;
  context on = context::create({.disk = &disk}).value();
  auto file = open(on);
  if (!contents.empty()) file.write_at(0, contents).value();
  checked_records read, opened, again;
  const auto found = on.run(qio::read_log(file, std::ref(read), options));
  std::uint64_t number = 0;
  {
    auto log = on.run(qio::open_log(open(on), std::ref(opened), options));
    if (found && found.value().tail != qio::log_end::damaged && !has_large_numbers(contents)) {
      fuzz::require(log.has_value(), "a log that is not damaged is opened");
      fuzz::require(opened.found == read.found, "a log is opened with what is read");
    }
    if (!log) return;
    number = on.run(append(log.value()));
    if (number == 0) return;
    fuzz::require(opened.found == 0 || number == opened.last + 1, "the number of a record is not given twice");
  }
  const auto reopened = on.run(qio::open_log(open(on), std::ref(again), options));
  fuzz::require(reopened.has_value() && again.found == opened.found + 1 && again.last == number,
                "what was appended is found again");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size != 0 && data[0] == 0) {
    bytes raw(size - 1);
    if (!raw.empty()) std::memcpy(raw.data(), data + 1, raw.size());
    read(raw);
  } else {
    read(changed(fuzz::input(data, size)));
  }
  return 0;
}
