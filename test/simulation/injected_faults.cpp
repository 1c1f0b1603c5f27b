// On a disk whose writes and syncs fail again and again, nothing that was acknowledged is missing, and no failure is
// reported as success.
#include "program.hpp"
#include <qio/log_writer.hpp>
#include <qio/write_and_sync.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace {

using namespace simulation;

/// What has been injected, and what it did.
struct totals {
  std::uint64_t failed_writes = 0, failed_syncs = 0;
  std::uint64_t acknowledged = 0;  // records or writes
  std::uint64_t recoveries = 0;
  std::uint64_t crashes = 0;

  std::uint64_t faults() const noexcept { return failed_writes + failed_syncs; }
  void add(const qio::simulated_disk& disk) noexcept {
    failed_writes += disk.failed_writes();
    failed_syncs += disk.failed_syncs();
  }
};

std::uint64_t faults_of(const qio::simulated_disk& disk) noexcept { return disk.failed_writes() + disk.failed_syncs(); }

/// A disk on which a part of the writes and syncs fails: from 1 in 50 to 1 in 4, of one kind or of both.
qio::simulation_options failing_disk(std::uint64_t seed) {
  constexpr std::array<double, 4> rates{0.02, 0.05, 0.1, 0.25};
  const double rate = rates[seed % rates.size()];
  const std::uint64_t kinds = seed / rates.size() % 3;  // both, writes, syncs
  return {.seed = seed,
          .short_transfers = 0.1,
          .interruptions = 0.05,
          .write_errors = kinds == 2 ? 0 : rate,
          .sync_errors = kinds == 1 ? 0 : rate};
}

// --- Logs ---

constexpr qio::log_options layout{.extent = 16 * 1024, .largest_batch = 4096};

/// A record that follows from its identity.
bytes record_of(std::uint64_t id) {
  bytes made(sizeof id + id * 37 % 700, std::byte(id));
  std::memcpy(made.data(), &id, sizeof id);
  return made;
}

/// A log that is opened, appended to until something fails, and opened again.
template <class Mode>
class failing_log {
 public:
  explicit failing_log(std::uint64_t seed) : disk_(failing_disk(seed)), chance_(seed) {}

  void live(totals& all) {
    // Creating a log that then fails again and again shows nothing.
    for (int programs = 0; programs < 8; ++programs) {
      {
        program one(disk_);
        one.context.run(open_and_append(one));
      }
      if (chance_.below(2) == 0) crash();
    }
    for (bool is_found = false; !is_found;) {  // which may take some attempts
      program last(disk_);
      is_found = last.context.run(recover(last)).has_value();
    }
    all.add(disk_);
    all.acknowledged += acknowledged_;
    all.recoveries += recoveries_;
    all.crashes += crashes_;
  }

 private:
  using log_type = qio::log_writer<Mode, qio::simulated>;

  // Two extents of batches of 512 bytes, each with a record of everybody who appends.
  static constexpr std::uint64_t most_later = 4 * 2 * layout.extent / 512;

  void crash() {
    disk_.restart();
    ++crashes_;
  }

  /// Opens the log, which must have all acknowledged records, if it can be opened. If something fails, it cannot.
  qio::task<std::optional<log_type>> recover(program& in) {
    const std::uint64_t before = faults_of(disk_);
    auto file = in.open<Mode>("log");
    if (!file || !disk_.sync_directory(".")) co_return std::nullopt;
    std::vector<std::uint64_t> found;  // the identity of each record, from the first that is left
    std::uint64_t first = 1;
    bool is_whole = true;
    const auto visit = [&](const qio::log_record& each) {
      std::uint64_t id = 0;
      if (found.empty()) first = each.number;
      if (each.bytes.size() >= sizeof id) std::memcpy(&id, each.bytes.data(), sizeof id);
      is_whole = is_whole && each.number == first + found.size() && std::ranges::equal(each.bytes, record_of(id));
      found.push_back(id);
      return is_whole;
    };
    qio::log_options options = layout;
    options.id = disk_.seed();
    options.checksums = disk_.seed() % 2 == 0;
    auto log = co_await qio::open_log(std::move(file).value(), visit, options);
    if (!is_whole) FAIL("a record is not as it was appended");
    if (!log) {
      if (log.error() != std::errc::io_error) FAIL("the log is not opened: " << log.error().message());
      if (faults_of(disk_) == before) FAIL("the log is not opened, although nothing has failed");
      co_return std::nullopt;
    }
    if (faults_of(disk_) != before) FAIL("opening the log succeeds, although a write or a sync has failed");
    if (first > kept_) FAIL("record " << kept_ << " is missing, and " << first << " is the first");
    for (std::uint64_t number = kept_; number < kept_ + expected_.size(); ++number) {
      const std::uint64_t expected = expected_[number - kept_];
      if (expected == 0) continue;
      if (number - first >= found.size()) FAIL("acknowledged record " << number << " is missing");
      if (found[number - first] != expected) FAIL("record " << number << " is another one than was acknowledged");
    }
    // Visited is durable.
    kept_ = first;
    expected_ = std::move(found);
    ++recoveries_;
    co_return std::move(log).value();
  }

  qio::task<void> open_and_append(program& in) {
    auto log = co_await recover(in);
    if (!log) co_return;
    faults_at_first_ = faults_of(disk_);
    since_fault_ = 0;
    has_failed_ = false;
    std::vector<qio::task<void>> writers;
    for (int each = 0; each < 3; ++each) writers.push_back(append(*log));
    if (disk_.seed() % 2 == 0) writers.push_back(trim(*log));
    co_await qio::when_all(std::move(writers));
  }

  /// A failure is one if something was injected, and has to be reported before much more is appended: before the space
  /// is used up that the log has without growing.
  void note(bool succeeded) {
    const bool is_injected = faults_of(disk_) != faults_at_first_;
    if (!succeeded) {
      has_failed_ = true;
      if (!is_injected) FAIL("an operation of the log fails, although nothing else has");
    } else if (is_injected && ++since_fault_ > most_later) {
      FAIL("a write or a sync has failed, and the log still succeeds");
    }
  }

  qio::task<void> append(log_type& log) {
    while (!has_failed_) {
      const std::uint64_t id = ++last_id_;
      const bytes record = record_of(id);
      const auto number = co_await log.append(record);
      note(number.has_value());
      if (number) acknowledge(number.value(), id);
    }
  }
  qio::task<void> trim(log_type& log) {
    while (!has_failed_) {
      const std::uint64_t id = ++last_id_;
      const bytes record = record_of(id);
      const auto number = co_await log.append(record);
      note(number.has_value());
      if (!number) co_return;
      acknowledge(number.value(), id);
      if (number.value() < kept_ + 40) continue;
      const std::uint64_t keeps = number.value() - 20;
      expected_.erase(expected_.begin(), expected_.begin() + static_cast<std::ptrdiff_t>(keeps - kept_));
      kept_ = keeps;
      const auto first = co_await log.trim(keeps);
      note(first.has_value());
    }
  }

  void acknowledge(std::uint64_t number, std::uint64_t id) {
    ++acknowledged_;
    if (number < kept_) return;  // it was trimmed since
    const std::uint64_t place = number - kept_;
    if (place >= expected_.size()) expected_.resize(place + 1);
    expected_[place] = id;
  }

  qio::simulated_disk disk_;
  qio::detail::chance chance_;
  std::uint64_t last_id_ = 0;
  std::uint64_t kept_ = 1;               // records in front of it may have been trimmed
  std::vector<std::uint64_t> expected_;  // identities of the acknowledged records from there on; 0: not acknowledged
  std::uint64_t acknowledged_ = 0, recoveries_ = 0, crashes_ = 0;

  // Since the log was opened:
  std::uint64_t faults_at_first_ = 0, since_fault_ = 0;
  bool has_failed_ = false;
};

// --- Durable writes and syncs ---

/// A file of cells, which are written as a whole. Each write has a version, which is in each of its sectors.
template <class Mode>
class failing_cells {
 public:
  explicit failing_cells(std::uint64_t seed) : disk_(failing_disk(seed)), chance_(seed) {}

  void live(totals& all) {
    create();
    for (int programs = 0; programs < 10; ++programs) {
      {
        program one(disk_);
        change(one);
      }
      if (chance_.below(2) == 0) {
        disk_.restart();
        ++all.crashes;
      }
      verify();
      ++all.recoveries;
    }
    all.add(disk_);
    all.acknowledged += acknowledged_;
  }

 private:
  static constexpr std::size_t sector = 512, cell_bytes = 3 * sector, cells = 12, most_at_once = 4;
  using file_type = qio::basic_file<Mode, qio::simulated>;

  struct cell {
    /// The version that was acknowledged as durable, and those that were written later.
    std::vector<std::uint64_t> possible{0};
    std::uint64_t pending = 0;  // the last one that was written through the open file, and waits for a sync

    void become_durable(std::uint64_t version) {
      std::erase_if(possible, [=](std::uint64_t v) { return v < version; });
    }
  };

  enum class kind { write, durable_write, write_and_sync, sync };
  struct step {
    kind what;
    std::size_t cell = 0;
    std::uint64_t version = 0;
    bool written = false, synced = false;

    bool succeeded() const noexcept { return written && synced; }
    bool syncs_all() const noexcept { return what == kind::sync || what == kind::write_and_sync; }
  };

  /// The contents of a cell, of which each word has a value of its own.
  static bytes contents_of(std::size_t number, std::uint64_t version) {
    bytes made(cell_bytes);
    for (std::size_t at = 0; at < cell_bytes; at += sizeof version) {
      const std::uint64_t word = ((version * cells + number) * cell_bytes + at + 1) * 0x9e3779b97f4a7c15u;
      std::memcpy(&made[at], &word, sizeof word);
    }
    return made;
  }

  /// A new file with version 0 of each cell, which may take some attempts.
  void create() {
    bytes all;
    for (std::size_t each = 0; each < cells; ++each) {
      const bytes first = contents_of(each, 0);
      all.insert(all.end(), first.begin(), first.end());
    }
    for (bool is_done = false; !is_done;) {
      program one(disk_);
      auto file = one.open<Mode>("cells").value();
      is_done = file.write_at(0, all) && file.sync() && disk_.sync_directory(".");
    }
  }

  /// Some operations at once, and again, until a sync has failed.
  void change(program& in) {
    auto file = in.open<Mode>("cells").value();
    for (cell& each : cells_) each.pending = 0;
    for (int times = 0; times < 20; ++times) {
      const std::uint64_t before = faults_of(disk_), syncs_before = disk_.failed_syncs();
      std::vector<step> steps = chance_.below(3) == 0 ? carry_out_one(file) : carry_out_some(in, file);
      const auto failures =
          static_cast<std::uint64_t>(std::ranges::count_if(steps, [](const step& each) { return !each.succeeded(); }));
      const std::uint64_t injected = faults_of(disk_) - before;
      if (failures < injected) FAIL(injected << " calls have failed, and " << failures << " operations");
      if (failures != 0 && injected == 0) FAIL("an operation fails, although nothing else has");
      note(steps);
      if (failed_to_sync(steps, syncs_before)) return check_stays_failed(in, file);
    }
  }

  /// A durable write that fails counts as a failed sync, whatever has failed.
  bool failed_to_sync(const std::vector<step>& steps, std::uint64_t syncs_before) const {
    return disk_.failed_syncs() != syncs_before || std::ranges::any_of(steps, [](const step& each) {
             return !each.succeeded() && each.what == kind::durable_write;
           });
  }

  void check_stays_failed(program& in, file_type& file) {
    for (int times = 0; times < 3; ++times) {
      if (file.sync()) FAIL("a sync succeeds after one that has failed");
      if (in.context.run(file.async_sync())) FAIL("an asynchronous sync succeeds after one that has failed");
    }
  }

  std::vector<step> carry_out_one(file_type& file) {
    step one = next_step({});
    if (one.what == kind::write_and_sync) one.what = kind::durable_write;  // it has no blocking form
    const bytes memory = contents_of(one.cell, one.version);
    begin(one);
    const std::uint64_t at = one.cell * cell_bytes;
    switch (one.what) {
      case kind::write: one.written = one.synced = file.write_at(at, memory).has_value(); break;
      case kind::sync: one.written = true, one.synced = file.sync().has_value(); break;
      default: one.written = one.synced = file.write_at(at, memory, {.durable = true}).has_value(); break;
    }
    return {one};
  }

  std::vector<step> carry_out_some(program& in, file_type& file) {
    std::vector<step> steps;
    const std::uint64_t count = chance_.between(1, most_at_once);
    for (std::uint64_t each = 0; each < count; ++each) steps.push_back(next_step(steps));
    for (const step& each : steps) begin(each);
    std::vector<qio::task<void>> all;
    for (step& each : steps) all.push_back(carry_out(file, each));
    in.context.run(qio::when_all(std::move(all)));
    return steps;
  }

  qio::task<void> carry_out(file_type& file, step& one) {
    const bytes memory = contents_of(one.cell, one.version);
    const std::uint64_t at = one.cell * cell_bytes;
    if (one.what == kind::sync) {
      const auto synced = co_await file.async_sync();
      one.written = true;
      one.synced = synced.has_value();
    } else if (one.what == kind::write_and_sync) {
      const qio::synced_write both = co_await file.async_write_and_sync(at, memory);
      one.written = both.written.has_value();
      one.synced = both.synced.has_value();
    } else {
      const auto written = co_await file.async_write_at(at, memory, {.durable = one.what == kind::durable_write});
      one.written = one.synced = written.has_value();
    }
  }

  /// Operations at the same time write different cells.
  step next_step(const std::vector<step>& others) {
    step made{static_cast<kind>(chance_.below(4))};
    do made.cell = static_cast<std::size_t>(chance_.below(cells));
    while (std::ranges::any_of(others, [&](const step& each) { return each.cell == made.cell; }));
    made.version = ++last_version_;
    return made;
  }

  void begin(const step& each) {
    if (each.what != kind::sync) cells_[each.cell].possible.push_back(each.version);
  }
  void note(const std::vector<step>& steps) {
    // A sync covers what was written before it began, and may or may not cover writes in flight at the same time.
    if (std::ranges::any_of(steps, [](const step& each) { return each.syncs_all() && each.succeeded(); }))
      for (cell& one : cells_) one.become_durable(one.pending);
    for (const step& each : steps) {
      if (!each.succeeded()) continue;
      ++acknowledged_;
      if (each.what == kind::write) cells_[each.cell].pending = each.version;
      if (each.what == kind::durable_write || each.what == kind::write_and_sync)
        cells_[each.cell].become_durable(each.version);
    }
  }

  /// Each byte is of the version that was acknowledged, or of one that was written later: a write that fails may leave
  /// a part of any length.
  void verify() {
    program reader(disk_);
    auto file = reader.open<Mode>("cells", creation::open_existing).value();
    file.forget().value();  // what is in memory may not be on the disk
    bytes found(cells * cell_bytes);
    if (file.read_at(0, found).value() != found.size()) FAIL("the file is shorter than it was");
    for (std::size_t number = 0; number < cells; ++number) {
      std::vector<bytes> possible;
      for (const std::uint64_t each : cells_[number].possible) possible.push_back(contents_of(number, each));
      for (std::size_t at = 0; at < cell_bytes; ++at) {
        const std::byte now = found[number * cell_bytes + at];
        if (std::ranges::none_of(possible, [=](const bytes& each) { return each[at] == now; }))
          FAIL("byte " << at << " of cell " << number << " is neither of version " << cells_[number].possible.front()
                       << ", which was acknowledged, nor of one that was written later");
      }
    }
  }

  qio::simulated_disk disk_;
  qio::detail::chance chance_;
  std::array<cell, cells> cells_;
  std::uint64_t last_version_ = 0, acknowledged_ = 0;
};

template <class Program>
totals run(std::uint64_t first_seed, std::uint64_t seeds) {
  totals all;
  for (std::uint64_t seed = first_seed; seed != first_seed + seeds; ++seed) {
    INFO("seed " << seed);
    Program(seed).live(all);
  }
  return all;
}

/// A test that injects less than it says shows less than it says.
void check_injected(const totals& found, std::uint64_t faults) {
  CAPTURE(found.failed_writes, found.failed_syncs, found.acknowledged, found.recoveries, found.crashes);
  CHECK(found.faults() >= faults);
  CHECK(found.failed_writes >= faults / 4);
  CHECK(found.failed_syncs >= faults / 4);
  CHECK(found.acknowledged >= faults);
  CHECK(found.crashes >= faults / 20);
}

}  // namespace

TEST_CASE("a direct log misses no acknowledged record, and reports each failure, in 2,500 failing writes and syncs") {
  check_injected(run<failing_log<qio::direct>>(1, 300), 2500);
}

TEST_CASE("a cached log misses no acknowledged record, and reports each failure, in 2,500 failing writes and syncs") {
  check_injected(run<failing_log<qio::cached>>(1, 300), 2500);
}

TEST_CASE(
    "nothing that a direct file has made durable is missing, and no failure is a success, in 2,500 failing calls") {
  check_injected(run<failing_cells<qio::direct>>(1, 250), 2500);
}

TEST_CASE(
    "nothing that a cached file has made durable is missing, and no failure is a success, in 2,500 failing calls") {
  check_injected(run<failing_cells<qio::cached>>(1, 250), 2500);
}

// Together a million.
TEST_CASE("a direct log misses no acknowledged record, and reports each failure, in 250,000 failing writes and syncs",
          "[nightly]") {
  check_injected(run<failing_log<qio::direct>>(100'001, 30'000), 250'000);
}

TEST_CASE("a cached log misses no acknowledged record, and reports each failure, in 250,000 failing writes and syncs",
          "[nightly]") {
  check_injected(run<failing_log<qio::cached>>(100'001, 30'000), 250'000);
}

TEST_CASE(
    "nothing that a direct file has made durable is missing, and no failure is a success, in 250,000 failing calls",
    "[nightly]") {
  check_injected(run<failing_cells<qio::direct>>(100'001, 21'000), 250'000);
}

TEST_CASE(
    "nothing that a cached file has made durable is missing, and no failure is a success, in 250,000 failing calls",
    "[nightly]") {
  check_injected(run<failing_cells<qio::cached>>(100'001, 21'000), 250'000);
}
