// Callbacks instead of coroutines: reads a file block by block. Each callback starts the next read in the slot of its
// own.
#include <qio/qio.hpp>

#include <array>
#include <cstdio>
#include <string>

class reader {
 public:
  explicit reader(qio::async_cached_file& file) : file_(file) {}

  void read_next() {
    read_.emplace([this] { return file_.async_read_at(text_.size(), block_); });
    read_->start([this](qio::result<std::size_t> bytes) {
      if (!bytes || bytes.value() == 0) return;  // failed, or at the end of the file
      text_.append(reinterpret_cast<const char*>(block_.data()), bytes.value());
      read_next();
    });
  }

  const std::string& text() const { return text_; }

 private:
  qio::async_cached_file& file_;
  std::array<std::byte, 4> block_{};
  qio::operation_slot<qio::operation<qio::default_engine, std::size_t>> read_;
  std::string text_;
};

int main() {
  auto context = qio::context::create().value();
  auto file =
      qio::cached_file::open(context, "callback.tmp", qio::access::read_write, qio::creation::always_new).value();
  file.write_at(0, std::as_bytes(std::span("forty-two", 9))).value();

  reader one(file);
  one.read_next();
  context.run();  // until nothing is in flight

  std::printf("read %zu bytes: %s\n", one.text().size(), one.text().c_str());
  std::remove("callback.tmp");
  return one.text() == "forty-two" ? 0 : 1;
}
