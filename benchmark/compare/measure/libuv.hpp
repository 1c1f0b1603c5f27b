// SPDX-License-Identifier: BSL-1.0
// libuv: its file operations, which its threads carry out.
#pragma once

#include "measure/competitor.hpp"

#include <uv.h>

namespace compare {

/// A read whose callback starts the next one.
struct uv_reader {
  uv_file file;
  page& buffer;
  round& current;
  uv_fs_t request{};
  std::uint64_t offset = 0;

  void read_next() {
    if (!current.has_next()) return;
    offset = current.next_read();
    uv_buf_t memory = uv_buf_init(reinterpret_cast<char*>(buffer.bytes), block);
    request.data = this;
    uv_fs_read(uv_default_loop(), &request, file, &memory, 1, static_cast<std::int64_t>(offset), [](uv_fs_t* done) {
      auto& self = *static_cast<uv_reader*>(done->data);
      const ssize_t bytes = done->result;
      uv_fs_req_cleanup(done);
      self.current.finished_read(self.offset, bytes, self.buffer.bytes);
      self.read_next();
    });
  }
};

}  // namespace compare
