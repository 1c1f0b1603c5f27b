// replay LOG DRIVE NOTES: writes the log that device-mapper's log-writes target made on the drive LOG to DRIVE, which
// is as the logged drive was. Continues where the last call ended, up to the next moment at which a power cut would
// leave exactly this state: the end of a flush or of a forced write (FUA). Skips moments before the first mark. Stores
// marks of the form "name=number" as files in NOTES, and the position in the log as well.
//
// Exit status: 0 there is a new state, 3 the log has ended.
//
// A log consists of a superblock and entries, each in a block of its own, followed by its data. A write is logged when
// it has been flushed, so the log lacks unflushed writes, like a drive that loses its cache. (The kernel documents the
// format in Documentation/admin-guide/device-mapper/log-writes.rst.)
#include <qio/qio.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct superblock {
  std::uint64_t magic, version, entries;
  std::uint32_t block;  // bytes
};
struct entry {
  std::uint64_t block, blocks, flags, text_bytes;
};
constexpr std::uint64_t magic = 0x6a736677736872, version = 1;
constexpr std::uint64_t flush = 1, forced = 2, discard = 4, mark = 8;

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
    bool marked = number_ != 0, changed = false, stable = false;
    for (; number_ != super_.entries; ++number_) {
      entry next;
      std::memcpy(&next, read(at_, sizeof next).data(), sizeof next);
      if (marked && changed && stable && next.blocks != 0) break;
      if ((next.flags & discard) != 0) throw std::runtime_error("a discard: nobody was to ask for one");
      if ((next.flags & mark) != 0) {
        note(at_ + sizeof next, next.text_bytes);
        marked = true;
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

 private:
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
  if (count != 4) {
    std::fprintf(stderr, "usage: %s LOG DRIVE NOTES\n", arguments[0]);
    return 2;
  }
  return replayed_log(arguments[1], arguments[2], arguments[3]).reach_next_state() ? 0 : 3;
}
