// SPDX-License-Identifier: BSL-1.0
// Linux AIO as one would use it by hand: the system calls, as libaio makes them.
#pragma once

#include "measure/competitor.hpp"

#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace compare {

class aio {
 public:
  explicit aio(int file, unsigned entries) : file_(file) {
    if (::syscall(SYS_io_setup, entries, &context_) != 0) cannot_be_had("Linux AIO", std::strerror(errno));
  }
  aio(const aio&) = delete;
  aio& operator=(const aio&) = delete;
  ~aio() { ::syscall(SYS_io_destroy, context_); }

  /// Reads into as many buffers at a time as there are: reaps all that is there, and submits as many new reads with one
  /// call.
  template <std::size_t Depth>
  void read_in_parallel(round& round, page (&buffers)[Depth]) {
    std::uint64_t offsets[Depth];
    iocb entries[Depth];
    iocb* pending[Depth];
    io_event events[Depth];
    std::size_t in_flight = 0, count = 0;
    const auto read_next = [&](std::uint64_t index) {
      if (!round.has_next()) return;
      offsets[index] = round.next_read();
      prepare(entries[index], index, buffers[index], offsets[index]);
      pending[count++] = &entries[index];
    };
    for (std::uint64_t index = 0; index < Depth; ++index) read_next(index);
    while (count + in_flight != 0) {
      submit(pending, count);
      in_flight += count;
      count = 0;
      const std::size_t done = wait(1, events, Depth);
      in_flight -= done;
      for (std::size_t i = 0; i < done; ++i) {
        const std::uint64_t index = events[i].data;
        round.finished_read(offsets[index], events[i].res, buffers[index].bytes);
        read_next(index);
      }
    }
  }

  /// Reads in batches of as many as there are buffers: one call submits a batch, and others wait for all of it.
  template <std::size_t Depth>
  void read_in_batches(round& round, page (&buffers)[Depth]) {
    std::uint64_t offsets[Depth];
    iocb entries[Depth];
    iocb* pending[Depth];
    io_event events[Depth];
    while (round.has_next()) {
      std::size_t count = 0;
      for (; count < Depth && round.has_next(); ++count) {
        offsets[count] = round.next_read();
        prepare(entries[count], count, buffers[count], offsets[count]);
        pending[count] = &entries[count];
      }
      submit(pending, count);
      for (std::size_t left = count; left != 0;) {
        const std::size_t done = wait(left, events, Depth);
        left -= done;
        for (std::size_t i = 0; i < done; ++i)
          round.finished_read(offsets[events[i].data], events[i].res, buffers[events[i].data].bytes);
      }
    }
  }

 private:
  void prepare(iocb& entry, std::uint64_t index, page& buffer, std::uint64_t offset) const {
    entry = iocb{};
    entry.aio_data = index;
    entry.aio_lio_opcode = IOCB_CMD_PREAD;
    entry.aio_fildes = static_cast<std::uint32_t>(file_);
    entry.aio_buf = reinterpret_cast<std::uintptr_t>(buffer.bytes);
    entry.aio_nbytes = block;
    entry.aio_offset = static_cast<std::int64_t>(offset);
  }

  void submit(iocb** first, std::size_t count) const {
    while (count != 0) {
      const long taken = ::syscall(SYS_io_submit, context_, static_cast<long>(count), first);
      if (taken <= 0) fail("io_submit", std::strerror(errno));
      first += taken;
      count -= static_cast<std::size_t>(taken);
    }
  }

  std::size_t wait(std::size_t wanted, io_event* events, std::size_t most) const {
    const long done =
        ::syscall(SYS_io_getevents, context_, static_cast<long>(wanted), static_cast<long>(most), events, nullptr);
    if (done < 0) fail("io_getevents", std::strerror(errno));
    return static_cast<std::size_t>(done);
  }

  aio_context_t context_ = 0;
  int file_;
};

}  // namespace compare
