// An append-only log: each record is durable when append() has returned.
#include <qio/qio.hpp>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

class log {
 public:
  /// Continues a log that exists.
  static qio::result<log> open(const std::string& path) {
    auto file = qio::cached_file::open(path, qio::access::read_write, qio::creation::if_needed);
    if (!file) return file.error();
    // The name of a new file is durable only after this.
    if (auto synced = qio::sync_directory("."); !synced) return synced.error();
    const auto size = file.value().size();
    if (!size) return size.error();
    return log(std::move(file).value(), size.value());
  }

  qio::result<void> append(std::string_view record) {
    if (auto written = file_.write_at(end_, std::as_bytes(std::span(record))); !written) return written.error();
    // If a sync fails, so does every later one: what was written may be lost, and writing it again is not enough. See
    // docs/durability.md.
    if (auto synced = file_.sync(qio::sync_kind::data_and_size); !synced) return synced.error();
    end_ += record.size();
    return qio::success();
  }

  std::uint64_t size() const { return end_; }

 private:
  log(qio::cached_file file, std::uint64_t end) : file_(std::move(file)), end_(end) {}

  qio::cached_file file_;
  std::uint64_t end_;  // the next record overwrites one that was not written completely
};

int main() {
  std::remove("log.tmp");
  for (const char* record : {"first\n", "second\n"}) {
    auto opened = log::open("log.tmp");
    if (!opened) {
      std::printf("%s\n", opened.error().message().c_str());
      return 1;
    }
    opened.value().append(record).value();
    std::printf("%llu bytes are durable\n", static_cast<unsigned long long>(opened.value().size()));
  }
  const bool is_right = log::open("log.tmp").value().size() == 13;
  std::remove("log.tmp");
  return is_right ? 0 : 1;
}
