// SPDX-License-Identifier: BSL-1.0
// libuv: a write and a sync, which its threads carry out, with callbacks.
#include "measure/competitor.hpp"

#include <uv.h>

namespace {

struct writer {
  uv_file file;
  compare::page& buffer;
  compare::round& round;
  uv_fs_t request{};
  std::uint64_t offset = 0;

  static writer& take(uv_fs_t* done, ssize_t& answer) {
    auto& self = *static_cast<writer*>(done->data);
    answer = done->result;
    uv_fs_req_cleanup(done);
    return self;
  }
  void append_next() {
    if (!round.has_next()) return;
    offset = round.next_append(buffer.bytes);
    uv_buf_t memory = uv_buf_init(reinterpret_cast<char*>(buffer.bytes), compare::block);
    request.data = this;
    uv_fs_write(uv_default_loop(), &request, file, &memory, 1, static_cast<std::int64_t>(offset), [](uv_fs_t* done) {
      ssize_t bytes;
      writer& self = take(done, bytes);
      if (bytes != static_cast<ssize_t>(compare::block)) compare::fail("libuv", "a write failed");
      self.sync();
    });
  }
  void sync() {
    request.data = this;
    uv_fs_fdatasync(uv_default_loop(), &request, file, [](uv_fs_t* done) {
      ssize_t answer;
      writer& self = take(done, answer);
      self.round.finished_write(self.offset, answer < 0 ? answer : ssize_t{compare::block}, self.buffer.bytes);
      self.append_next();
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
    one.append_next();
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  });
}
