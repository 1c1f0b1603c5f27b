// SPDX-License-Identifier: BSL-1.0
// libuv: its file operations, which its threads carry out, with a callback that starts the next write.
#include "measure/competitor.hpp"

#include <uv.h>

namespace {

struct writer {
  uv_file file;
  compare::page& buffer;
  compare::round& round;
  uv_fs_t request{};
  std::uint64_t offset = 0;

  void write_next() {
    if (!round.has_next()) return;
    offset = round.next_write(buffer.bytes);
    uv_buf_t memory = uv_buf_init(reinterpret_cast<char*>(buffer.bytes), compare::block);
    request.data = this;
    uv_fs_write(uv_default_loop(), &request, file, &memory, 1, static_cast<std::int64_t>(offset), [](uv_fs_t* done) {
      auto& self = *static_cast<writer*>(done->data);
      const ssize_t bytes = done->result;
      uv_fs_req_cleanup(done);
      self.round.finished_write(self.offset, bytes, self.buffer.bytes);
      self.write_next();
    });
  }
};

}  // namespace

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const uv_file file = competitor.open(O_WRONLY);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    writer one{file, buffer, round};
    one.write_next();
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  });
}
