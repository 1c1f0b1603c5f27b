// crash_checker KIND LOG OFFSET [IMAGES [FIRST LAST]]: makes what a power cut would have left of the drive whose log is
// in the file LOG, at that offset, mounts it on a loop device, and compares what is found with the states that a
// simulated disk allows for the same program (crash_states.hpp). KIND is ext4-ordered, ext4-journal, ext4-writeback,
// xfs or btrfs, or ext4-unsynced for programs whose syncs were left out.
//
// The log is by device-mapper's log-writes target, with the marks of crash_recorder.cpp. An image has everything that
// is in the log up to the end of a flush or of a forced write (FUA). Then come the writes up to the next flush, which
// were in the cache of the drive: of these, an image has none, all, or some that are chosen at random, and of one of
// them perhaps only some sectors (blocks of 4096 bytes, if it has more than the contents of files, because no file
// system can stand anything else). Since any of them might have been written until that flush has completed, the
// operations that had been acknowledged by then are those of the last mark before its end.
//
// IMAGES is how many images are made for each flush, at most; 6 by default. FIRST and LAST are the seeds of the
// programs that are checked, by default all. Prints differences, and at last the number of images. Needs root. Exit
// status: 0 no difference but those that are documented for this file system, 1 others, 2 it could not be checked.
#include "../property/random.hpp"
#include "../simulation/crash_states.hpp"
#include "crash_program.hpp"
#include "log_of_writes.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t block = 4096, sector = 512;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::system_category(), what); }

// --- the log ---

using namespace log_of_writes;

/// An entry of the log: a mark, or a write, whose bytes may be none.
struct logged {
  std::uint64_t flags, offset;
  std::span<const std::byte> bytes;
  std::string text;
};

class write_log {
 public:
  write_log(const char* path, std::uint64_t offset) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) fail(path);
    bytes_ = static_cast<std::size_t>(::lseek(file, 0, SEEK_END));
    memory_ = static_cast<const std::byte*>(::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0));
    ::close(file);
    if (memory_ == MAP_FAILED) fail(path);
    superblock super;
    std::memcpy(&super, memory_ + offset, sizeof super);
    if (super.magic != magic || super.version != version) throw std::runtime_error("this is no log that is known");
    std::uint64_t at = offset + super.block;
    for (std::uint64_t number = 0; number != super.entries; ++number) {
      entry next;
      std::memcpy(&next, memory_ + at, sizeof next);
      if ((next.flags & discard) != 0) throw std::runtime_error("a discard: nobody was to ask for one");
      logged made{next.flags, next.block * super.block, {}, {}};
      if ((next.flags & mark) != 0)
        made.text.assign(reinterpret_cast<const char*>(memory_ + at + sizeof next), next.text_bytes);
      at += super.block;
      made.bytes = {memory_ + at, next.blocks * super.block};
      at += next.blocks * super.block;
      if (at > bytes_) throw std::runtime_error("the log is cut off");
      all_.push_back(std::move(made));
    }
  }
  const std::vector<logged>& all() const { return all_; }

 private:
  const std::byte* memory_;
  std::size_t bytes_;
  std::vector<logged> all_;
};

/// What a drive contains: blocks that are not zeros.
class drive_contents {
 public:
  using one_block = std::array<std::byte, block>;

  void write(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t within = static_cast<std::size_t>(offset % block);
      const std::size_t part = (std::min)(bytes.size(), block - within);
      one_block made = at(offset / block);
      std::copy_n(bytes.begin(), part, made.begin() + static_cast<std::ptrdiff_t>(within));
      if (made == one_block{})
        blocks_.erase(offset / block);
      else
        blocks_.insert_or_assign(offset / block, std::make_shared<const one_block>(made));
      bytes = bytes.subspan(part);
      offset += part;
    }
  }
  one_block at(std::uint64_t number) const {
    const auto found = blocks_.find(number);
    return found == blocks_.end() ? one_block{} : *found->second;
  }
  bool has(std::uint64_t number) const { return blocks_.contains(number); }
  /// By their numbers; copies of the drive share them.
  const std::map<std::uint64_t, std::shared_ptr<const one_block>>& blocks() const { return blocks_; }

 private:
  std::map<std::uint64_t, std::shared_ptr<const one_block>> blocks_;
};

// --- mounting ---

struct file_system {
  const char *kind, *type, *options;
  std::uint64_t bytes;
  enum property : std::uint8_t { none, names_in_any_order, old_data };
  property documented;  // in docs/simulation.md
};
constexpr std::array<file_system, 6> file_systems{
    {{"ext4-ordered", "ext4", "data=ordered", 64u << 20, file_system::none},
     {"ext4-journal", "ext4", "data=journal", 64u << 20, file_system::none},
     {"ext4-writeback", "ext4", "data=writeback", 64u << 20, file_system::old_data},
     {"ext4-unsynced", "ext4", "data=ordered", 64u << 20, file_system::none},
     {"xfs", "xfs", "nouuid", 64u << 20, file_system::old_data},
     {"btrfs", "btrfs", "", 128u << 20, file_system::names_in_any_order}}};

/// A loop device on a file in memory. It detaches itself when the process has ended.
class loop_device {
 public:
  explicit loop_device(std::uint64_t bytes) : bytes_(bytes) {
    memory_ = ::memfd_create("drive", MFD_CLOEXEC);
    if (memory_ < 0 || ::ftruncate(memory_, static_cast<off_t>(bytes)) != 0) fail("memfd_create");
    mapped_ = static_cast<std::byte*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0));
    if (mapped_ == MAP_FAILED) fail("mmap");
    const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0) fail("/dev/loop-control");
    for (;;) {
      const int number = ::ioctl(control, LOOP_CTL_GET_FREE);
      if (number < 0) fail("LOOP_CTL_GET_FREE");
      path_ = "/dev/loop" + std::to_string(number);
      device_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
      if (device_ < 0) fail(path_);
      loop_config configuration{};
      configuration.fd = static_cast<std::uint32_t>(memory_);
      configuration.info.lo_flags = LO_FLAGS_AUTOCLEAR;
      if (::ioctl(device_, LOOP_CONFIGURE, &configuration) == 0) break;
      if (errno != EBUSY) fail("LOOP_CONFIGURE");
      ::close(device_);
    }
    ::close(control);
  }
  loop_device(const loop_device&) = delete;
  loop_device& operator=(const loop_device&) = delete;
  ~loop_device() {
    ::close(device_);
    ::munmap(mapped_, bytes_);
    ::close(memory_);
  }

  const std::string& path() const { return path_; }

  /// Changes only what differs.
  void contain(const drive_contents& what) {
    for (off_t end = 0, begin; (begin = ::lseek(memory_, end, SEEK_DATA)) >= 0;) {
      end = ::lseek(memory_, begin, SEEK_HOLE);
      for (std::uint64_t each = static_cast<std::uint64_t>(begin) / block;
           each * block < static_cast<std::uint64_t>(end); ++each)
        if (!what.has(each)) std::memset(mapped_ + each * block, 0, block);
    }
    for (const auto& [number, each] : what.blocks())
      if (std::memcmp(mapped_ + number * block, each->data(), block) != 0)
        std::memcpy(mapped_ + number * block, each->data(), block);
    if (::ioctl(device_, BLKFLSBUF, 0) != 0) fail("BLKFLSBUF");
  }

 private:
  std::uint64_t bytes_;
  std::byte* mapped_ = nullptr;
  int memory_ = -1, device_ = -1;
  std::string path_;
};

using files = qio::detail::crash_states::files;

/// The files of a directory, as a file system recovers them.
class recovery {
 public:
  explicit recovery(const file_system& kind) : kind_(kind), device_(kind.bytes) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      fail("unshare");
    std::string made = (std::filesystem::temp_directory_path() / "crash-XXXXXX").string();
    if (::mkdtemp(made.data()) == nullptr) fail(made);
    mounted_ = made;
  }
  recovery(const recovery&) = delete;
  recovery& operator=(const recovery&) = delete;
  ~recovery() {
    std::error_code ignored;
    std::filesystem::remove(mounted_, ignored);
  }

  files recover(const drive_contents& drive, const std::string& directory) {
    device_.contain(drive);
    if (::mount(device_.path().c_str(), mounted_.c_str(), kind_.type, 0, kind_.options) != 0) fail("mount");
    files found;
    const std::filesystem::path top = mounted_ / directory;
    for (const auto& each : std::filesystem::recursive_directory_iterator(top))
      if (each.is_regular_file()) found.emplace(each.path().lexically_relative(top).string(), contents(each.path()));
    if (::umount2(mounted_.c_str(), 0) != 0) fail("umount");
    return found;
  }

 private:
  static std::vector<std::byte> contents(const std::filesystem::path& path) {
    const auto file = qio::cached_file::open(path.c_str()).value();
    std::vector<std::byte> all(static_cast<std::size_t>(file.size().value()));
    if (file.read_at(0, all).value() != all.size()) throw std::runtime_error("a file is shorter than its size");
    return all;
  }

  const file_system& kind_;
  loop_device device_;
  std::filesystem::path mounted_;
};

// --- what is allowed ---

/// A program, and the states that a simulated disk allows when the power fails during it.
class simulated_program {
 public:
  explicit simulated_program(std::uint64_t seed) : seed_(seed), operations_(crash_program::program_of(seed)) {
    qio::simulated_disk disk;
    run(disk);
    if (calls_.size() != operations_.size() + 1) throw std::runtime_error("a simulated operation failed");
  }
  std::uint64_t seed() const { return seed_; }

  /// How the most similar state differs that may be left when so many operations had been acknowledged; nothing if it
  /// is the same.
  std::string difference(std::uint64_t acknowledged, const files& found) {
    std::string least;
    visit_states(acknowledged, [&](qio::detail::crash_states& each) {
      const std::string differs = each.difference(found);
      if (differs.empty() || least.empty() || differs.size() < least.size()) least = differs;
      return !differs.empty();
    });
    return least;
  }
  /// Whether it is the same but for what is documented of the file system.
  bool allows(file_system::property documented, std::uint64_t acknowledged, const files& found) {
    return !visit_states(acknowledged, [&](qio::detail::crash_states& each) {
      return !(documented == file_system::names_in_any_order ? each.allows_with_names_in_any_order(found)
                                                             : each.allows_with_other_contents(found));
    });
  }

  std::string story(std::uint64_t acknowledged) const {
    std::string text;
    for (std::uint64_t number = 0; number < operations_.size() && number <= acknowledged; ++number)
      text += "  " + std::to_string(number + 1) + ". " + text_of(operations_[number]) +
              (number == acknowledged ? " (in flight)\n" : "\n");
    return text;
  }

 private:
  // Calls `visit` for each system call of the operation that was in flight, until it returns false; that is returned.
  template <class Visit>
  bool visit_states(std::uint64_t acknowledged, Visit&& visit) {
    if (acknowledged != acknowledged_) states_.clear();
    acknowledged_ = acknowledged;
    const std::uint64_t first = calls_.at(acknowledged);
    const std::uint64_t last = acknowledged == operations_.size() ? first : calls_[acknowledged + 1];
    for (std::uint64_t calls = first; calls <= last; ++calls) {
      auto& states = states_[calls];
      if (states == nullptr) {
        qio::simulated_disk disk;
        states = qio::detail::crash_states::after(disk, calls, [&] { run(disk); });
      }
      if (!visit(*states)) return false;
    }
    return true;
  }

  void run(qio::simulated_disk& disk) {
    auto context = qio::basic_context<qio::simulated>::create({.workers = 0, .disk = &disk}).value();
    crash_program::player player(context, seed_);
    std::vector<std::uint64_t> calls{disk.system_calls()};
    for (std::uint64_t number = 0; number != operations_.size(); ++number) {
      if (!player.run(operations_[number], number)) break;
      calls.push_back(disk.system_calls());
    }
    if (calls_.empty()) calls_ = calls;
  }

  std::uint64_t seed_;
  std::vector<crash_program::operation> operations_;
  std::vector<std::uint64_t> calls_;  // before each operation, and after the last one
  std::uint64_t acknowledged_ = 0;    // that the states are for
  std::map<std::uint64_t, std::unique_ptr<qio::detail::crash_states>> states_;  // by the number of calls
};

// --- the images ---

class checker {
 public:
  checker(const file_system& kind, const write_log& log, std::uint64_t images, std::uint64_t first, std::uint64_t last)
      : kind_(kind), recovery_(kind), log_(log.all()), images_(images), first_(first), last_(last) {}

  void run() {
    // From one flush, or forced write, to the next.
    for (std::size_t at = 0; at != log_.size();) {
      std::size_t end = at;
      std::vector<const logged*> writes;
      for (; end != log_.size() && (log_[end].flags & (flush | forced)) == 0; ++end)
        if (log_[end].flags & mark)
          note(log_[end].text);
        else if (!log_[end].bytes.empty())
          writes.push_back(&log_[end]);
      if (program_) check_group(writes, at);
      if (end == log_.size()) break;
      for (; at <= end; ++at) drive_.write(log_[at].offset, log_[at].bytes);
    }
  }

  std::uint64_t images() const { return made_; }
  /// That are allowed only because of what is documented of the file system.
  std::uint64_t documented() const { return documented_; }
  std::uint64_t differences() const { return differences_; }

 private:
  void note(const std::string& text) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos) return;  // the kernel's own mark at the end
    const std::string_view what = std::string_view(text).substr(0, sign);
    const std::uint64_t number = std::stoull(text.substr(sign + 1));
    if (what == "program") {
      if (first_ <= number && number <= last_) program_.emplace(number);
      acknowledged_ = 0;
    } else if (what == "operations") {
      acknowledged_ = number;
    } else if (what == "end") {
      program_.reset();
    }
  }

  void check_group(const std::vector<const logged*>& writes, std::size_t at) {
    property::random_numbers random(program_->seed(), at);
    check(drive_, at, "none of the writes in the cache");
    if (writes.empty()) return;
    std::uint64_t most = images_ - 1;
    if (writes.size() < 3) most = (std::min<std::uint64_t>)(most, 2 * writes.size());
    for (std::uint64_t number = 0; number != most; ++number) {
      drive_contents image = drive_;
      std::string kept;
      const std::uint64_t torn = number % 2 == 0 ? writes.size() : random.below(writes.size());
      const std::uint64_t first = number == 1 ? random.below(writes.size() + 1) : writes.size();  // lost from here on
      for (std::size_t each = 0; each != writes.size(); ++each) {
        const bool is_kept = each < first && (number == 1 || random.one_in(2));
        kept += each == torn ? '/' : is_kept ? '1' : '0';
        if (each == torn)
          tear(image, *writes[each], random);
        else if (is_kept)
          image.write(writes[each]->offset, writes[each]->bytes);
      }
      check(image, at, "of the writes in the cache " + kept);
    }
  }

  static void tear(drive_contents& image, const logged& write, property::random_numbers& random) {
    const std::size_t unit = is_data(write.bytes) ? sector : block;
    for (std::size_t at = 0; at < write.bytes.size(); at += unit)
      if (random.one_in(2))
        image.write(write.offset + at, write.bytes.subspan(at, (std::min)(unit, write.bytes.size() - at)));
  }

  // Whether it is nothing but the contents of files.
  static bool is_data(std::span<const std::byte> bytes) {
    std::size_t marked = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, &bytes[at], sizeof word);
      if (word == 0) continue;
      if (word >> 48 != crash_program::mark_of_data) return false;
      ++marked;
    }
    return marked != 0;
  }

  void check(const drive_contents& image, std::size_t at, const std::string& about) {
    ++made_;
    const files found = recovery_.recover(image, std::to_string(program_->seed()));
    const std::string differs = program_->difference(acknowledged_, found);
    if (differs.empty()) return;
    if (kind_.documented != file_system::none && program_->allows(kind_.documented, acknowledged_, found)) {
      ++documented_;
      return;
    }
    ++differences_;
    std::printf("program %ju, entry %zu of the log, %s: %s\n%s", std::uintmax_t{program_->seed()}, at, about.c_str(),
                differs.c_str(), program_->story(acknowledged_).c_str());
  }

  const file_system& kind_;
  recovery recovery_;
  const std::vector<logged>& log_;
  std::uint64_t images_, first_, last_;
  drive_contents drive_;
  std::optional<simulated_program> program_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t made_ = 0, documented_ = 0, differences_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  const std::string_view kind = count >= 4 && count <= 7 && count != 6 ? arguments[1] : "";
  const auto found = std::ranges::find(file_systems, kind, &file_system::kind);
  if (found == file_systems.end()) {
    std::fprintf(stderr, "usage: %s KIND LOG OFFSET [IMAGES [FIRST LAST]]\n", arguments[0]);
    return 2;
  }
  try {
    const write_log log(arguments[2], std::stoull(arguments[3]));
    const auto number = [&](int place, std::uint64_t otherwise) {
      return place < count ? std::uint64_t{std::stoull(arguments[place])} : otherwise;
    };
    checker all(*found, log, number(4, 6), number(5, 0), number(6, ~std::uint64_t(0)));
    all.run();
    std::printf("%s: %ju images, %ju as documented, %ju other differences\n", found->kind, std::uintmax_t{all.images()},
                std::uintmax_t{all.documented()}, std::uintmax_t{all.differences()});
    return all.differences() == 0 ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", arguments[0], failure.what());
    return 2;
  }
}
