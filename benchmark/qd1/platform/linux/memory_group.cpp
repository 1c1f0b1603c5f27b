// SPDX-License-Identifier: BSL-1.0
// Documentation/admin-guide/cgroup-v1/memory.rst, Documentation/admin-guide/cgroup-v2.rst.
#include "platform/memory_group.hpp"

#include "failure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <qd1/machine/linux/limits.hpp>
#include <qd1/machine/linux/text.hpp>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

namespace qd1::platform {
namespace {

using linux_system::tree;

constexpr std::string_view name_of_ours = "qd1-";

// Why the kernel did not take it; empty: it did.
std::string put(const std::string& file, const std::string& text) {
  const int handle = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (handle < 0) return fmt::format("{}: {}", file, std::generic_category().message(errno));
  const bool written = ::write(handle, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  ::close(handle);
  return written ? "" : fmt::format("{}: {}", file, std::generic_category().message(reason));
}

std::string enter(const std::string& group) { return put(group + "/cgroup.procs", std::to_string(::getpid())); }

// While the kernel still takes leave of a process the directory is busy.
void remove_group(const std::string& group) {
  for (int attempt = 0; attempt < 100 && ::rmdir(group.c_str()) != 0 && errno == EBUSY; ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// "qd1-1234-0" of a process that there is no more.
void remove_left_behind(const std::string& above) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator each(above, ignored), end; each != end; each.increment(ignored)) {
    const std::string name = each->path().filename().string();
    if (!name.starts_with(name_of_ours)) continue;
    long process = 0;
    std::from_chars(name.data() + name_of_ours.size(), name.data() + name.size(), process);
    if (process > 0 && !std::filesystem::exists(fmt::format("/proc/{}", process), ignored))
      ::rmdir(each->path().c_str());
  }
}

std::string next_name() {
  static std::atomic<int> number = 0;
  return fmt::format("{}{}-{}", name_of_ours, ::getpid(), number++);
}

}  // namespace

// Below the group that this process is in, so that the limits of that one hold, too. Version 2 hands memory down only
// from groups without processes (but for the topmost), so there it is mostly beside it.
memory_group::memory_group(std::uint64_t bytes) {
  const linux_system::memory_groups found = linux_system::find_memory_groups(tree());
  if (found.upwards.empty()) throw usage_error("no memory control groups are visible here");
  unified_ = found.unified;
  before_ = "/" + found.upwards.front().string();
  std::string reason = try_to_enter(before_, bytes);
  if (!reason.empty() && unified_ && found.upwards.size() > 1)
    reason = try_to_enter("/" + found.upwards[1].string(), bytes);
  if (!reason.empty()) throw usage_error(reason);
}

std::string memory_group::try_to_enter(const std::string& above, std::uint64_t bytes) {
  remove_left_behind(above);
  own_ = above + '/' + next_name();
  std::error_code failed;
  if (!std::filesystem::create_directory(own_, failed)) return fmt::format("{}: {}", own_, failed.message());
  const std::string limit = own_ + (unified_ ? "/memory.max" : "/memory.limit_in_bytes");
  std::string reason;
  if (!std::filesystem::exists(limit, failed))
    reason = fmt::format("{}: does not delegate memory to groups below it (cgroup.subtree_control)", above);
  if (reason.empty()) reason = put(limit, std::to_string(bytes));
  // What this process itself works with stays in memory; not everywhere is there a swap to be forbidden.
  put(own_ + (unified_ ? "/memory.swap.max" : "/memory.swappiness"), "0");
  if (reason.empty()) reason = enter(own_);
  if (!reason.empty()) remove_group(own_);
  return reason;
}

memory_group::~memory_group() {
  // Where there is no way back, at least nothing is short any more.
  if (!enter(before_).empty())
    put(own_ + (unified_ ? "/memory.max" : "/memory.limit_in_bytes"), unified_ ? "max" : "-1");
  remove_group(own_);
}

std::optional<std::uint64_t> memory_group::dirty_bytes() const {
  const std::string counts = tree().text(own_.substr(1) + "/memory.stat").value_or("");
  const auto of = [&](std::string_view key) {
    return linux_system::to_number(linux_system::value_of(counts, key).value_or(""));
  };
  const auto dirty = of(unified_ ? "file_dirty" : "dirty");
  const auto written = of(unified_ ? "file_writeback" : "writeback");
  if (!dirty) return std::nullopt;
  return *dirty + written.value_or(0);
}

void end_this_process_first() noexcept {
  const int handle = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (handle < 0) return;
  static_cast<void>(::write(handle, "1000", 4) == 4);
  ::close(handle);
}

}  // namespace qd1::platform
