// replay LOG DRIVE NOTES [SEED]: writes the log that device-mapper's log-writes target made on the drive LOG to DRIVE,
// which is as the logged drive was. Continues where the last call ended, up to the next moment at which a power cut
// would leave exactly this state: the end of a flush or of a forced write (FUA), with the marks that follow it. Skips
// moments before the first mark. Stores marks of the form "name=number" as files in NOTES, and the position in the log
// as well.
//
// With a seed, at random, it also writes some of the sectors that the next write of a batch of a qio::log_writer
// changes, as if the power had failed during this write, and notes "torn N=1", where N is the number of that log.
//
// Exit status: 0 there is a new state, 3 the log has ended.
//
// A log consists of a superblock and entries, each in a block of its own, followed by its data. A write is logged when
// it has been flushed, so the log lacks unflushed writes, like a drive that loses its cache. (The kernel documents the
// format in Documentation/admin-guide/device-mapper/log-writes.rst.)
#include "log_of_writes.hpp"
#include <qio/log/format.hpp>
#include <qio/qio.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace log_of_writes;

class replayed_log {
 public:
  replayed_log(const char* log, const char* drive, std::string notes)
      : log_(qio::cached_file::open(log).value()),
        drive_(qio::cached_file::open(drive, qio::access::read_write).value()),
        notes_(std::move(notes)) {
    std::memcpy(&super_, read(0, sizeof super_).data(), sizeof super_);
    if (super_.magic != magic || super_.version != version) throw std::runtime_error("this is no log that is known");
    at_ = super_.block;
    std::ifstream(notes_ + "/place") >> number_ >> at_;
  }

  /// False if there is none left.
  bool reach_next_state() {
    bool marked = number_ != 0, changed = false, stable = true;
    for (; number_ != super_.entries; ++number_) {
      entry next;
      std::memcpy(&next, read(at_, sizeof next).data(), sizeof next);
      if (marked && changed && stable && next.blocks != 0) break;
      if ((next.flags & discard) != 0) throw std::runtime_error("a discard: nobody was to ask for one");
      if ((next.flags & mark) != 0) {
        note(at_ + sizeof next, next.text_bytes);
        marked = changed = true;
      }
      at_ += super_.block;
      if (next.blocks != 0) {
        const std::uint64_t bytes = next.blocks * super_.block;
        drive_.write_at(next.block * super_.block, read(at_, bytes)).value();
        at_ += bytes;
        changed = true;
        stable = false;
      }
      stable = stable || (next.flags & (flush | forced)) != 0;
    }
    drive_.sync().value();
    std::ofstream(notes_ + "/place") << number_ << ' ' << at_ << '\n';
    return changed;
  }

  /// Writes a part of what was in flight at this moment. What was written before does not change.
  void tear(std::uint64_t seed) {
    forget_torn();
    std::mt19937_64 random(seed + number_);
    if (random() % 3 == 0) return;
    std::uint64_t at = at_;
    for (std::uint64_t number = number_; number != super_.entries; ++number) {
      entry next;
      std::memcpy(&next, read(at, sizeof next).data(), sizeof next);
      at += super_.block;
      if (next.blocks != 0) tear(next.block * super_.block, read(at, next.blocks * super_.block), random);
      at += next.blocks * super_.block;
      if ((next.flags & (flush | forced | mark)) != 0) break;
    }
    drive_.sync().value();
  }

 private:
  static constexpr std::size_t sector = 512;

  void forget_torn() const {
    for (const auto& each : std::filesystem::directory_iterator(notes_))
      if (each.path().filename().string().starts_with("torn ") && each.path().filename() != "torn batches")
        std::filesystem::remove(each.path());
  }

  // Some of the sectors that the write changes, but not all, if it is of a batch.
  void tear(std::uint64_t offset, std::span<const std::byte> written, std::mt19937_64& random) {
    std::vector<std::byte> before(written.size());
    if (drive_.read_at(offset, before).value() != before.size()) throw std::runtime_error("a write past the drive");
    std::vector<std::size_t> changed;
    std::uint64_t log = 0;
    for (std::size_t at = 0; at != written.size(); at += sector) {
      if (std::memcmp(&written[at], &before[at], sector) == 0) continue;
      changed.push_back(at);
      if (const auto batch = qio::detail::log_format::batch_header::load_from(&written[at])) log = batch->log;
    }
    if (log == 0 || changed.size() < 2) return;
    std::shuffle(changed.begin(), changed.end(), random);
    changed.resize(1 + random() % (changed.size() - 1));
    for (const std::size_t at : changed) drive_.write_at(offset + at, written.subspan(at, sector)).value();
    std::ofstream(notes_ + "/torn " + std::to_string(log)) << "1\n";
  }

  std::span<const std::byte> read(std::uint64_t offset, std::uint64_t bytes) {
    memory_.resize(static_cast<std::size_t>(bytes));
    if (log_.read_at(offset, memory_).value() != bytes) throw std::runtime_error("the log is cut off");
    return memory_;
  }

  void note(std::uint64_t offset, std::uint64_t bytes) {
    const auto memory = read(offset, bytes);
    const std::string text(reinterpret_cast<const char*>(memory.data()), memory.size());
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos) return;  // the kernel's own mark at the end
    std::ofstream(notes_ + '/' + text.substr(0, sign)) << std::stoull(text.substr(sign + 1)) << '\n';
  }

  qio::cached_file log_, drive_;
  std::string notes_;
  std::vector<std::byte> memory_;
  superblock super_;
  std::uint64_t number_ = 0;  // the number of the next entry
  std::uint64_t at_ = 0;      // its position
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 4 && count != 5) {
    std::fprintf(stderr, "usage: %s LOG DRIVE NOTES [SEED]\n", arguments[0]);
    return 2;
  }
  replayed_log log(arguments[1], arguments[2], arguments[3]);
  if (!log.reach_next_state()) return 3;
  if (count == 5) log.tear(std::stoull(arguments[4]));
  return 0;
}
