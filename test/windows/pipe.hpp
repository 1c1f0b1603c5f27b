// A named pipe with a qio file at this end. A read waits until the other end has sent data.
#pragma once

#include "world.hpp"

#include <string>
#include <string_view>

namespace windows {

class pipe_end {
 public:
  pipe_end() {
    static std::atomic<unsigned> number = 0;
    path = "\\\\.\\pipe\\qio-" + std::to_string(os::process_number()) + '-' + std::to_string(++number);
    handle_ = ::CreateNamedPipeW(std::filesystem::path(path).c_str(), PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE | PIPE_WAIT, 1,
                                 65536, 65536, 0, nullptr);
    REQUIRE(handle_ != INVALID_HANDLE_VALUE);
  }
  pipe_end(const pipe_end&) = delete;
  pipe_end& operator=(const pipe_end&) = delete;
  ~pipe_end() { close(); }

  void close() {
    if (handle_ != INVALID_HANDLE_VALUE) ::CloseHandle(handle_);
    handle_ = INVALID_HANDLE_VALUE;
  }

  void send(std::string_view text) {
    DWORD written = 0;
    REQUIRE(::WriteFile(handle_, text.data(), static_cast<DWORD>(text.size()), &written, nullptr) != 0);
    REQUIRE(written == text.size());
  }

  std::string receive(DWORD bytes) {
    std::string text(bytes, '\0');
    DWORD read = 0;
    REQUIRE(::ReadFile(handle_, text.data(), bytes, &read, nullptr) != 0);
    text.resize(read);
    return text;
  }

  std::string path;

 private:
  HANDLE handle_;
};

using file = qio::async_cached_file;
using context = qio::context;

/// A pipe with a context at one end.
struct piped {
  pipe_end other;
  std::optional<windows::context> context = windows::context::create().value();
  std::optional<windows::file> file = qio::cached_file::open(*context, other.path, qio::access::read_write).value();
};

/// A read with a callback.
struct pending_read {
  using operation = decltype(std::declval<file&>().async_read_at(0, std::declval<std::span<std::byte>>(),
                                                                 std::declval<const qio::operation_options&>()));

  pending_read(file& from, std::size_t bytes, const qio::operation_options& options = {})
      : memory(bytes), read(from.async_read_at(0, std::span(memory), options)) {
    read.start([this](qio::result<std::size_t> told) {
      ++calls;
      answer = told;
    });
  }

  std::string text() const { return {reinterpret_cast<const char*>(memory.data()), answer.value()}; }

  std::vector<std::byte> memory;
  int calls = 0;
  qio::result<std::size_t> answer = std::size_t(0);
  operation read;
};

}  // namespace windows
