// SPDX-License-Identifier: BSL-1.0
// libuv: its file operations, which its threads carry out, with a callback that starts the next read.
#include "measure/competitor.hpp"

#include <uv.h>

namespace {

struct reader {
  uv_file file;
  compare::page& buffer;
  compare::round& round;
  uv_fs_t request{};
  std::uint64_t offset = 0;

  void read_next() {
    if (!round.has_next()) return;
    offset = round.next_read();
    uv_buf_t memory = uv_buf_init(reinterpret_cast<char*>(buffer.bytes), compare::block);
    request.data = this;
    uv_fs_read(uv_default_loop(), &request, file, &memory, 1, static_cast<std::int64_t>(offset), [](uv_fs_t* done) {
      auto& self = *static_cast<reader*>(done->data);
      const ssize_t bytes = done->result;
      uv_fs_req_cleanup(done);
      self.round.finished_read(self.offset, bytes, self.buffer.bytes);
      self.read_next();
    });
  }
};

}  // namespace

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const uv_file file = competitor.open(O_RDONLY | O_DIRECT);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    reader one{file, buffer, round};
    one.read_next();
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  });
}
