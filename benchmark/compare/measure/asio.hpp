// SPDX-License-Identifier: BSL-1.0
// Asio's context, for one thread.
#pragma once

#include "measure/competitor.hpp"

#include <asio.hpp>

#include <system_error>

namespace compare {

/// An io_context that has its ring. The ring is made when the context is first used, which throws if it is unavailable.
class asio_context {
 public:
  asio_context() {
    try {
      asio::use_service<asio::detail::io_uring_service>(context_);
    } catch (const std::system_error& error) {
      cannot_be_had("io_uring", error.what());
    }
  }

  asio::io_context& get() noexcept { return context_; }

  /// Until nothing is in flight.
  void run() {
    context_.restart();
    context_.run();
  }

 private:
  asio::io_context context_{1};
};

/// A read whose handler starts the next one.
struct asio_reader {
  asio::random_access_file& file;
  page& buffer;
  round& current;

  void read_next() {
    if (!current.has_next()) return;
    const std::uint64_t offset = current.next_read();
    file.async_read_some_at(offset, asio::buffer(buffer.bytes),
                            [this, offset](asio::error_code error, std::size_t bytes) {
                              if (error) fail("asio", error.message().c_str());
                              current.finished_read(offset, static_cast<std::int64_t>(bytes), buffer.bytes);
                              read_next();
                            });
  }
};

}  // namespace compare
