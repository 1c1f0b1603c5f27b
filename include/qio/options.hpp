// SPDX-License-Identifier: BSL-1.0
// Options for opening files and creating contexts.
#pragma once

#include <qio/configuration.hpp>
#include <qio/io_class.hpp>
#include <qio/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

QIO_BEGIN_NAMESPACE

class directory;
class operation_observer;
class simulated_disk;

/// What open() does if direct or uncached I/O is unavailable.
enum class if_unavailable : std::uint8_t {
  fail,       ///< errc::direct_not_supported, errc::direct_in_memory ..., or errc::uncached_not_supported
  use_cache,  ///< opens through the page cache; is_direct() or is_uncached() is false, and file.explain() says why
};

/// Which asynchronous calls run immediately, on the context's thread: transfers of cached and mapped files, writes of
/// uncached ones, syncs, opening and closing. See open_options.
enum class inline_transfers : std::uint8_t {
  never,      ///< the engine carries out all of them
  automatic,  ///< those that rarely wait
  always,     ///< also on file systems that may contact a server (NFS, FUSE), or that the library does not know
};

/// Whether a context's thread carries out operations itself.
enum class inline_work : std::uint8_t {
  by_file,  ///< as each file's options say: see inline_transfers
  /// Never, whatever the files' options say: each transfer that is not direct, each open and each close goes to a
  /// thread of the kernel or of the context; without a ring, each direct write, too. For programs whose context must
  /// not stall. A read that the page cache could serve takes several times as long: see docs/stalls.md.
  never,
};

/// How open() creates a file, how the file is written, and which fallback is acceptable.
struct open_options {
  std::uint32_t permissions = 0666;  ///< POSIX permission bits of a created file, before the process's umask
  if_unavailable fallback = if_unavailable::fail;  ///< for direct and uncached files only
  /// A read of at most 1 MiB is served immediately if the page cache holds what it needs, which Linux reports
  /// (RWF_NOWAIT). tmpfs and overlay do not support that: there, a read of at most 1 MiB is a plain system call, many
  /// times faster than the engine, which needs a kernel worker for each read. The call waits if the data is elsewhere:
  /// on the swap device, or in a layer below the overlay. After a wait, the engine carries out the context's transfers
  /// on that file system for sixteen times as long as the wait took, so the context's thread spends at most a
  /// seventeenth of its time waiting. file_statistics::blocked_submissions counts the waits. With `always`, the same
  /// applies to every file system that does not support RWF_NOWAIT.
  ///
  /// Such a read never returns if this thread, or one that waits for it, serves the file system (FUSE). Do not use
  /// `always` there, and use `never` on an overlay above such a file system.
  inline_transfers inline_reads = inline_transfers::automatic;
  /// Writes of at most 128 KiB, and of up to 1 MiB if earlier writes to the file suggest that they take at most 320 us,
  /// are served immediately on file systems where a write normally ends in memory (ext4, XFS, btrfs, tmpfs, overlay).
  /// That is several times faster than a kernel worker. Such a write can still wait if the kernel throttles writers, if
  /// the file system commits its journal, or if a page must be read before a part of it is written. Such waits are
  /// counted and followed by a pause, as for reads; during the pause, btrfs and XFS report whether a write would wait
  /// (RWF_NOWAIT). Other users can make a write wait for as long as they like, if the permissions of the file let them
  /// read it (O_DIRECT) or write it: after one write to such a file has waited, no write to it runs inline that may
  /// wait, until it is closed. A write goes to the engine if it covers a part of a page that is known not to be cached
  /// or, in an uncached file, a part of any page.
  ///
  /// On tmpfs, where a sync has nothing to do, async_sync() is served immediately, too, even with `never`. Other syncs
  /// go to the engine.
  inline_transfers inline_writes = inline_transfers::automatic;
  /// async_open() with creation::open_existing opens the file immediately if the kernel has every name on the path in
  /// memory (Linux 5.12), the file system is one of those above, and the context has opened a file there before.
  /// async_close() closes a file immediately unless it is mapped, was resized, or has no name any more. A worker thread
  /// takes more than ten times as long. It opens files of an overlay for writing, since that may copy them, and always
  /// opens direct files if the context polls, because probing the device takes a transfer. A wait pauses this as for
  /// reads. With `always`, also on other file systems. Use `never` if this thread answers permission events
  /// (fanotify(7)).
  inline_transfers inline_opening = inline_transfers::automatic;
  /// A write succeeds only when its data is durable, along with everything that is needed to read it back, such as the
  /// new size: as if these bytes had been synced with data_and_size (O_DSYNC; on Windows, FILE_FLAG_WRITE_THROUGH and,
  /// unless the file bypasses the cache on NTFS, a flush of the file after each write). See sync() for failed writes. A
  /// mapped file then writes by system calls; stores to its views still need sync(), and so does resize(). To make only
  /// some writes durable, use write_options::durable.
  bool durable_writes = false;
  /// A hint about reads that the page cache cannot serve; it changes no result, and direct transfers ignore it.
  /// - `random`: only the pages that a read asks for are read from the device. Without it, reads of 4 KiB that are near
  ///   each other may bring the whole read-ahead of the device (128 KiB by default, often more), which evicts other
  ///   pages; a page fault of a mapped file reads its neighbors, too.
  /// - `sequential`: twice the usual read-ahead, and for mapped files pages behind a fault may be dropped early.
  ///
  /// Linux: posix_fadvise(2) on the handle, and madvise(2) on the mappings of a mapped file. Windows:
  /// FILE_FLAG_RANDOM_ACCESS, FILE_FLAG_SEQUENTIAL_SCAN (CreateFile), which mappings ignore. adopt() and share_with()
  /// leave the hint of the handle as it is; only the new mapping gets this one.
  access_pattern pattern = access_pattern::normal;
  /// For mapped files only: bytes of address space to reserve, so that the file can grow that far without a second
  /// mapping. 0 lets the library choose. Uses no memory.
  std::uint64_t reservation = 0;
  /// For mapped files only: whether blocking transfers are copies in memory. A copy faults if another process truncates
  /// the file or the device fails. So that the transfer still returns a result, the first such open in a process
  /// installs a handler: for SIGBUS, or on Windows a vectored exception handler. It passes everything else on to the
  /// previous handler; if SIGBUS was ignored, one that was sent stays ignored. If the program replaces the handler
  /// later, transfers become system calls until it restores it (the library notices within 10 ms, or at the next open
  /// of a mapped file). If false, the library installs no handler, and blocking transfers are system calls; views are
  /// not affected.
  bool guards_copies = true;
  /// io_uring: whether the ring may hold the file itself once it has been busy, which saves up to 2% of a direct read's
  /// CPU time (Linux 6.14 and later). If the process is killed, the kernel releases such a file, and with it the file's
  /// locks, a moment after the process is gone. If false, the locks end with the process.
  bool registered = true;
  /// For paths from an untrusted source (an archive, a request): the path is resolved from this directory and must stay
  /// beneath it; otherwise the open fails with errc::leaves_directory. See directory. It must outlive the call to open.
  /// Null allows any path.
  const directory* beneath = nullptr;
  /// Whether a symbolic link at the end of the path is followed. If false, one there fails the open with
  /// std::errc::too_many_symbolic_link_levels (Linux: O_NOFOLLOW; Windows: also for mount points). Links before the end
  /// are followed: use `beneath` for paths from an untrusted source.
  bool follow_links = true;
  /// Whether only a regular file may be opened. If true, anything else fails with errc::not_a_regular_file (a directory
  /// with std::errc::is_a_directory), and is not opened for a moment either, since some devices act when they are
  /// opened (a tape rewinds, a watchdog starts). Linux finds out first (O_PATH), and needs /proc to be sure that the
  /// path does not lead elsewhere by the time it opens the file. Windows refuses paths of the device namespace (\\.\ ,
  /// NUL, COM1), and what else is not a file after it has opened it. macOS and FreeBSD look before they open, and once
  /// more afterwards.
  bool regular_only = false;
  /// A hint about how long what is written to the file will stay, for devices that keep data apart by that. It belongs
  /// to the file as long as the system keeps it in memory, so to all who have it open, and needs to be the owner's.
  /// Changes no result. Where it is unavailable, it is ignored, and file.explain() reports why ("lifetime"). adopt()
  /// and share_with() leave it as it is. Linux: fcntl(2) with F_SET_RW_HINT.
  data_lifetime lifetime = data_lifetime::unknown;
  /// The class of the file's asynchronous reads and writes (qio/io_scheduler.hpp); none: that of the context. A file
  /// whose class is not the foreground writes nothing inline; what the page cache has is read inline nevertheless.
  /// Blocking transfers have no class. If the scheduler is not that of the context, or the file is opened without a
  /// context, the open fails with errc::foreign_io_class.
  qio::io_class io_class = {};
};

/// How a context waits for transfers of direct files. An interrupt costs a few microseconds, but leaves the CPU free
/// for other work. Polling saves the interrupt, but keeps the context's thread busy while such a transfer is in flight.
/// It pays off for devices that complete in about 10 us (NVMe), and requires polled queues (NVMe: module parameter
/// nvme.poll_queues). Files on other devices, and all other operations, are waited for without polling; file.explain()
/// reports that.
///
/// Reads are polled; writes are polled only on a block device itself. In a file system, a direct write is completed by
/// a kernel worker thread (fs/iomap/direct-io.c; Linux 6.12 does not poll for it at all), which polling would keep from
/// running.
///
/// A polled transfer cannot end early: a deadline or a cancellation takes effect only when the device has completed the
/// transfer, and so does schedule() if nothing else is in flight.
enum class polling : std::uint8_t {
  off,     ///< the device interrupts
  busy,    ///< polls without a pause: the lowest latency
  hybrid,  ///< sleeps for half of the usual time, then polls (Linux 6.13; `busy` on older kernels)
};

/// How a context waits for the operations that a ring carries out. Waiting asleep costs the least. Waiting awake
/// (spinning) saves the time of falling asleep and waking up, some 10 us per operation, but keeps a CPU busy. Use it
/// for a thread that has a CPU to itself; if other threads need that CPU, waiting awake makes everything slower.
///
/// A context waits awake for at most 0.2 ms, then it sleeps; after that, it sleeps for one wait, then two, four, and up
/// to 64, until a wait awake succeeds. It does not wait awake while the ring is empty, or for
/// operations that kernel or worker threads complete, because these need a CPU themselves: syncs, durable writes,
/// opening, resizing.
enum class wait_policy : std::uint8_t {
  sleep,  ///< in the kernel, until something has completed
  spin,   ///< awake
};

/// "sleep" or "spin".
constexpr std::string_view name_of(wait_policy policy) noexcept {
  switch (policy) {
    case wait_policy::sleep: return "sleep";
    case wait_policy::spin: return "spin";
  }
  return {};
}

/// What carries out a context's operations.
enum class engine_kind : std::uint8_t {
  any,   ///< the ring; without one, Linux AIO and workers; without that, workers. explain() says why
  ring,  ///< io_uring, on Windows a completion port; without it, create() fails with the system's error
  /// Linux AIO (io_submit(2)) for direct transfers that need not wait before they get to the device, and workers for
  /// everything else. Without it, create() fails with the system's error; on other systems, with
  /// std::errc::function_not_supported. A direct transfer that the kernel has taken is not interrupted: after a
  /// deadline or a cancellation, it completes with its real result.
  aio,
  /// Threads that make blocking calls: two thread switches for each operation. A system call that has begun is not
  /// interrupted: a deadline or a cancellation takes effect before it, or between two calls of a long transfer.
  workers,
};

/// Options of basic_context::create(). Each engine uses those that apply to it.
struct context_options {
  /// What carries out the operations. If a ring or AIO can no longer be used (a seccomp filter was installed later),
  /// workers take over. The simulated engine ignores it.
  engine_kind engine = engine_kind::any;
  /// io_uring: entries of the submission queue, rounded up to a power of two and down to what the kernel allows. Linux
  /// AIO: transfers in the kernel at a time, at most 4096, and fewer if the system's limit is reached. More operations
  /// than this may be in flight; they go to the kernel as entries become free.
  unsigned queue_depth = 256;
  /// The maximum number of worker threads. They carry out all operations where there is no ring, and
  /// whatever a ring cannot do, by blocking calls. Threads are started when first needed. 0 lets the library choose. At
  /// most 4096; more fails with errc::too_many_workers.
  unsigned workers = 0;
  /// io_uring only: how to wait for transfers of direct files. Unless it is off, each open of a direct file briefly
  /// creates a ring of its own to find out whether the device can be polled.
  qio::polling polling = qio::polling::off;
  /// io_uring only: see wait_policy. context.waits() returns statistics about it.
  wait_policy waiting = wait_policy::sleep;
  /// See inline_work. context.stalls() shows how long something had to wait for the context's thread.
  qio::inline_work inline_work = qio::inline_work::by_file;
  /// Bytes of context.registered_memory().
  std::size_t registered_bytes = 0;
  /// Hears of each operation that ends; a latency_recorder (qio/latencies.hpp), for example. Null: nobody does, which
  /// costs nothing. See operation_observer.
  operation_observer* observer = nullptr;
  /// The class of the files that are opened on this context, and the scheduler that their operations go through
  /// (qio/io_scheduler.hpp): scheduler.foreground(), for example. None: nothing is scheduled, which costs nothing.
  qio::io_class io_class = {};
  /// The simulated engine only (qio/engine/simulated.hpp): the disk it works on, which must outlive the context. Null
  /// gives it an empty disk of its own.
  simulated_disk* disk = nullptr;
};

QIO_END_NAMESPACE
