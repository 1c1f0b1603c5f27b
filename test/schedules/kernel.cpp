// A model of what the kernel does for a schedule: events, and rings (io_uring), whose operations it carries out on real
// files, one after another in any order, and cancels or interrupts. Its other system calls are real; another thread may
// continue before and after those that transfer data.
#include "runtime.hpp"

#include <fcntl.h>
#include <liburing/compat.h>
#include <liburing/io_uring.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

// Missing from liburing 2.3.
#ifndef IORING_SETUP_NO_SQARRAY
#define IORING_SETUP_NO_SQARRAY (1U << 16)
#endif
#ifndef IORING_FEAT_RW_ATTR
#define IORING_FEAT_RW_ATTR (1U << 16)
#endif

using namespace schedules;

namespace {

constexpr unsigned feature_no_iowait = 1u << 17;  // IORING_FEAT_NO_IOWAIT

// --- events: descriptors with a counter ---

struct event_counter {
  int descriptor;
  std::uint64_t count;
};
std::vector<event_counter> events;

event_counter* find_event(int descriptor) noexcept {
  for (event_counter& each : events)
    if (each.descriptor == descriptor) return &each;
  return nullptr;
}

// --- rings ---

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"  // the kernel's entry has an array without elements
/// What the kernel holds: an entry that it has taken, until its completion is in the queue.
struct held_operation {
  int file;          // a descriptor of its own: an operation keeps its file open
  bool has_started;  // and can no longer be canceled
  io_uring_sqe entry;
};
#pragma GCC diagnostic pop

struct ring_model {
  int descriptor = -1;
  unsigned flags = 0;
  unsigned features = 0;
  unsigned entries = 0, completions = 0;
  bool is_enabled = true;
  unsigned owner = 0;
  std::byte* queues = nullptr;
  std::size_t queues_bytes = 0;
  io_uring_sqe* submitted = nullptr;
  int event = -1;
  std::vector<int> files;  // registered
  std::vector<held_operation> operations;
  std::vector<io_uring_cqe> deferred;  // completions that the next io_uring_enter puts into the queue

  std::uint32_t& word(unsigned offset) const noexcept { return *reinterpret_cast<std::uint32_t*>(queues + offset); }
};

// Where the words are in the queues' memory.
constexpr unsigned submission_head = 0, submission_tail = 64, submission_flags = 128, completion_head = 192,
                   completion_tail = 256, completion_entries = 512;

std::vector<std::unique_ptr<ring_model>> rings;

ring_model* find_ring(int descriptor) noexcept {
  for (const auto& each : rings)
    if (each->descriptor == descriptor) return each.get();
  return nullptr;
}

std::uint32_t load(const std::uint32_t& word) noexcept { return __atomic_load_n(&word, __ATOMIC_SEQ_CST); }
void store(std::uint32_t& word, std::uint32_t value) noexcept { __atomic_store_n(&word, value, __ATOMIC_SEQ_CST); }

unsigned completed(const ring_model& in) noexcept {
  return load(in.word(completion_tail)) - load(in.word(completion_head));
}

void put_into_queue(ring_model& in, const io_uring_cqe& completion) noexcept {
  if (completed(in) == in.completions) fail("the completion queue has overflowed");
  const std::uint32_t tail = load(in.word(completion_tail));
  auto* const queue = reinterpret_cast<io_uring_cqe*>(in.queues + completion_entries);
  queue[tail & (in.completions - 1)] = completion;
  store(in.word(completion_tail), tail + 1);
}

void set_event(const ring_model& of) noexcept {
  if (event_counter* const event = find_event(of.event)) ++event->count;
}

void complete(ring_model& in, std::uint64_t user_data, int answer, bool within_enter, bool sets_event = true) {
  const io_uring_cqe completion{user_data, answer, 0};
  if ((in.flags & IORING_SETUP_DEFER_TASKRUN) != 0 && !within_enter) {
    in.deferred.push_back(completion);
    if ((in.flags & IORING_SETUP_TASKRUN_FLAG) != 0)
      store(in.word(submission_flags), load(in.word(submission_flags)) | IORING_SQ_TASKRUN);
  } else {
    put_into_queue(in, completion);
  }
  if (sets_event) set_event(in);
}

void run_deferred(ring_model& in) noexcept {
  for (const io_uring_cqe& each : in.deferred) put_into_queue(in, each);
  in.deferred.clear();
  store(in.word(submission_flags), load(in.word(submission_flags)) & ~std::uint32_t{IORING_SQ_TASKRUN});
}

bool is_transfer(std::uint8_t code) noexcept {
  return code == IORING_OP_READ || code == IORING_OP_WRITE || code == IORING_OP_READV || code == IORING_OP_WRITEV ||
         code == IORING_OP_READ_FIXED || code == IORING_OP_WRITE_FIXED;
}

bool is_read(std::uint8_t code) noexcept {
  return code == IORING_OP_READ || code == IORING_OP_READV || code == IORING_OP_READ_FIXED;
}

int answer_of(ssize_t returned) noexcept { return returned < 0 ? -errno : static_cast<int>(returned); }

int transfer(const io_uring_sqe& entry, int file) noexcept {
  static auto* const read = original("preadv2", &::preadv2);
  static auto* const write = original("pwritev2", &::pwritev2);
  const bool is_vector = entry.opcode == IORING_OP_READV || entry.opcode == IORING_OP_WRITEV;
  iovec single{reinterpret_cast<void*>(entry.addr), entry.len};
  iovec* buffers = is_vector ? reinterpret_cast<iovec*>(entry.addr) : &single;
  int count = is_vector ? static_cast<int>(entry.len) : 1;
  iovec shorter;
  if (has_disturbances() && choose(4) == 0) {  // a transfer may be short, for any reason
    if (choose(3) == 0) return -EINTR;
    shorter = {buffers[0].iov_base, std::max<std::size_t>(buffers[0].iov_len / 2, 1)};
    buffers = &shorter;
    count = 1;
  }
  const auto offset = static_cast<off_t>(entry.off);
  const int flags = entry.rw_flags & ~RWF_DSYNC;
  return answer_of(is_read(entry.opcode) ? read(file, buffers, count, offset, flags)
                                         : write(file, buffers, count, offset, flags));
}

int carry_out(const held_operation& what) noexcept {
  if (is_transfer(what.entry.opcode)) return transfer(what.entry, what.file);
  if (what.entry.opcode == IORING_OP_FSYNC || what.entry.opcode == IORING_OP_SYNC_FILE_RANGE) return 0;
  fail("the ring was given an operation that the model does not know");
}

bool is_poll(const held_operation& what) noexcept { return what.entry.opcode == IORING_OP_POLL_ADD; }
bool is_cancel(const held_operation& what) noexcept { return what.entry.opcode == IORING_OP_ASYNC_CANCEL; }

bool can_continue(const held_operation& what) noexcept {
  if (!is_poll(what)) return true;
  const event_counter* const event = find_event(what.entry.fd);
  return event != nullptr && event->count != 0;
}

void release_file(const held_operation& of) noexcept {
  static auto* const close_file = original("close", &::close);
  if (of.file >= 0) close_file(of.file);
}

void end_operation(ring_model& in, std::size_t which, int answer, bool within_enter, bool sets_event = true) {
  const held_operation ended = in.operations[which];
  in.operations.erase(in.operations.begin() + static_cast<std::ptrdiff_t>(which));
  release_file(ended);
  complete(in, ended.entry.user_data, answer, within_enter, sets_event);
}

void cancel(ring_model& in, const io_uring_sqe& entry, bool within_enter) {
  int answer = -ENOENT;
  for (std::size_t i = 0; i != in.operations.size(); ++i) {
    if (in.operations[i].entry.user_data != entry.addr) continue;
    answer = in.operations[i].has_started ? -EALREADY : 0;
    if (answer == 0) end_operation(in, i, -ECANCELED, within_enter && choose(2) == 0);
    break;
  }
  complete(in, entry.user_data, answer, within_enter);
}

/// An event was written to. What waits for it in a ring with deferred work is queued by the writing thread, for which
/// the kernel then sets no other event. In other rings, the kernel acts later.
void notify_rings(int event) {
  for (const auto& each : rings) {
    if ((each->flags & IORING_SETUP_DEFER_TASKRUN) == 0) continue;
    for (std::size_t i = each->operations.size(); i-- != 0;)
      if (is_poll(each->operations[i]) && each->operations[i].entry.fd == event)
        end_operation(*each, i, POLLIN, false, false);
  }
}

/// io_uring_enter takes an entry. What needs not wait may be complete at once.
void take(ring_model& in, const io_uring_sqe& entry) {
  held_operation taken{-1, false, entry};
  if (is_cancel(taken) && choose(4) != 0) return cancel(in, entry, true);
  if (is_poll(taken) && can_continue(taken)) return complete(in, entry.user_data, POLLIN, true);
  if (is_poll(taken) || is_cancel(taken)) {
    in.operations.push_back(taken);
    return;
  }
  const bool is_registered = (entry.flags & IOSQE_FIXED_FILE) != 0;
  const auto slot = static_cast<std::size_t>(entry.fd);
  const int file = !is_registered ? entry.fd : slot < in.files.size() ? in.files[slot] : -1;
  taken.file = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (taken.file < 0) return complete(in, entry.user_data, -EBADF, true);
  in.operations.push_back(taken);
  const bool at_once = (entry.flags & IOSQE_ASYNC) == 0 && is_transfer(entry.opcode) && choose(3) == 0;
  if (at_once) end_operation(in, in.operations.size() - 1, carry_out(taken), true);
}

void close_ring(ring_model& closed) noexcept {
  static auto* const close_file = original("close", &::close);
  for (const held_operation& each : closed.operations) {
    if (each.file >= 0) fail("a ring was closed while it held a transfer");
    release_file(each);
  }
  for (const int each : closed.files)
    if (each >= 0) close_file(each);
  ::munmap(closed.queues, closed.queues_bytes);
  ::munmap(closed.submitted, closed.entries * sizeof(io_uring_sqe));
  std::erase_if(rings, [&](const auto& each) { return each.get() == &closed; });
}

long refuse(int code) noexcept {
  errno = code;
  return -1;
}

instant end_of_wait(const io_uring_getevents_arg* argument) noexcept {
  if (argument == nullptr || argument->ts == 0) return never;
  const auto& time = *reinterpret_cast<const __kernel_timespec*>(argument->ts);
  return now() + static_cast<instant>(time.tv_sec) * 1'000'000'000 + static_cast<instant>(time.tv_nsec);
}

struct has_completed final : condition {
  has_completed(const ring_model& in, unsigned count) noexcept : condition("a ring"), ring(in), wanted(count) {}
  bool holds() const noexcept override { return completed(ring) + ring.deferred.size() >= wanted; }
  const ring_model& ring;
  unsigned wanted;
};

short ready_of(const pollfd& of) noexcept {
  if (const event_counter* const event = find_event(of.fd)) return event->count != 0 ? of.events & POLLIN : short{0};
  if (const ring_model* const ring = find_ring(of.fd)) return completed(*ring) != 0 ? of.events & POLLIN : short{0};
  return of.events;
}

int poll_until(pollfd* each, nfds_t count, instant until) noexcept {
  struct is_ready final : condition {
    is_ready(const pollfd* one, nfds_t many) noexcept : condition("poll"), all(one), count(many) {}
    bool holds() const noexcept override {
      return std::any_of(all, all + count, [](const pollfd& of) { return ready_of(of) != 0; });
    }
    const pollfd* all;
    nfds_t count;
  };
  if (has_disturbances() && choose(16) == 0) return static_cast<int>(refuse(EINTR));
  wait_for(is_ready(each, count), until);
  int found = 0;
  for (nfds_t i = 0; i != count; ++i) found += (each[i].revents = ready_of(each[i])) != 0;
  return found;
}

/// A transfer by a system call. Others may continue before and after it.
template <class Call>
ssize_t transferred(const char* name, Call&& call) noexcept {
  point(name);
  const ssize_t answer = call();
  point(name);
  return answer;
}

}  // namespace

// --- what the scheduler and syscall() need ---

namespace schedules {

bool kernel_can_act() noexcept {
  return std::any_of(rings.begin(), rings.end(), [](const auto& each) {
    return std::any_of(each->operations.begin(), each->operations.end(), can_continue);
  });
}

void kernel_acts() noexcept {
  unsigned count = 0;
  for (const auto& each : rings)
    count += static_cast<unsigned>(std::count_if(each->operations.begin(), each->operations.end(), can_continue));
  unsigned left = choose(count);
  for (const auto& each : rings)
    for (std::size_t i = 0; i != each->operations.size(); ++i) {
      held_operation& chosen = each->operations[i];
      if (!can_continue(chosen) || left-- != 0) continue;
      if (is_poll(chosen)) return end_operation(*each, i, POLLIN, false);
      if (is_cancel(chosen)) {
        const io_uring_sqe entry = chosen.entry;
        each->operations.erase(each->operations.begin() + static_cast<std::ptrdiff_t>(i));
        return cancel(*each, entry, false);
      }
      if (!std::exchange(chosen.has_started, true) && choose(2) == 0) return;
      return end_operation(*each, i, carry_out(chosen), false);
    }
}

void reset_kernel() noexcept {
  if (!rings.empty()) fail("a ring of the schedule before was not closed");
  events.clear();
}

long ring_setup(unsigned entries, void* given) noexcept {
  const in_runtime here;
  auto& parameters = *static_cast<io_uring_params*>(given);
  // The features of a kernel of some version: of those that the library asks for, the newest may be missing.
  constexpr std::array<unsigned, 5> newest_first{
      IORING_SETUP_NO_SQARRAY, IORING_SETUP_DEFER_TASKRUN, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED,
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, IORING_SETUP_SUBMIT_ALL};
  static thread_local unsigned missing = 0;
  if ((parameters.flags & newest_first[0]) != 0) missing = choose(2) == 0 ? 0 : choose(newest_first.size() + 1);
  for (unsigned i = 0; i != missing; ++i)
    if ((parameters.flags & newest_first[i]) != 0) return refuse(EINVAL);

  auto made = std::make_unique<ring_model>();
  made->flags = parameters.flags;
  made->entries = 1;
  while (made->entries < entries) made->entries *= 2;
  made->completions = 1;
  while (made->completions < parameters.cq_entries) made->completions *= 2;
  made->features = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_EXT_ARG |
                   IORING_FEAT_RSRC_TAGS;
  if (choose(2) == 0) made->features |= IORING_FEAT_RW_ATTR;
  if (choose(2) == 0) made->features |= feature_no_iowait;
  made->is_enabled = (made->flags & IORING_SETUP_R_DISABLED) == 0;
  made->owner = thread_index();

  const unsigned array = completion_entries + made->completions * static_cast<unsigned>(sizeof(io_uring_cqe));
  made->queues_bytes = array + made->entries * sizeof(std::uint32_t);
  const std::size_t entries_bytes = made->entries * sizeof(io_uring_sqe);
  made->descriptor = ::memfd_create("ring", MFD_CLOEXEC);
  if (made->descriptor < 0) fail("no memory for a ring");
  if (::ftruncate(made->descriptor, static_cast<off_t>(IORING_OFF_SQES + entries_bytes)) != 0)
    fail("no memory for a ring");
  const auto map = [&](std::size_t bytes, off_t from) {
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made->descriptor, from);
    if (mapped == MAP_FAILED) fail("no memory for a ring");
    return mapped;
  };
  made->queues = static_cast<std::byte*>(map(made->queues_bytes, 0));
  made->submitted = static_cast<io_uring_sqe*>(map(entries_bytes, static_cast<off_t>(IORING_OFF_SQES)));

  parameters.sq_entries = made->entries;
  parameters.cq_entries = made->completions;
  parameters.features = made->features;
  parameters.sq_off.head = submission_head;
  parameters.sq_off.tail = submission_tail;
  parameters.sq_off.flags = submission_flags;
  parameters.sq_off.array = array;
  parameters.cq_off.head = completion_head;
  parameters.cq_off.tail = completion_tail;
  parameters.cq_off.cqes = completion_entries;
  rings.push_back(std::move(made));
  return rings.back()->descriptor;
}

long ring_enter(int descriptor, unsigned submitted, unsigned wanted, unsigned flags, const void* argument,
                std::size_t) noexcept {
  point("io_uring_enter");
  ring_model* const in = find_ring(descriptor);
  if (in == nullptr) return refuse(EBADF);
  if (!in->is_enabled) return refuse(EBADFD);
  if ((in->flags & IORING_SETUP_SINGLE_ISSUER) != 0 && in->owner != thread_index()) return refuse(EEXIST);
  long taken = 0;
  {
    const in_runtime here;
    std::uint32_t head = load(in->word(submission_head));
    const std::uint32_t tail = load(in->word(submission_tail));
    for (; static_cast<unsigned>(taken) != submitted && head != tail; ++taken)
      take(*in, in->submitted[head++ & (in->entries - 1)]);
    store(in->word(submission_head), head);
  }
  if ((flags & IORING_ENTER_GETEVENTS) == 0) return taken;
  const auto* const extended =
      (flags & IORING_ENTER_EXT_ARG) != 0 ? static_cast<const io_uring_getevents_arg*>(argument) : nullptr;
  int failure = 0;
  if (wanted != 0) {
    if (has_disturbances() && choose(16) == 0)
      failure = EINTR;
    else if (!wait_for(has_completed(*in, wanted), end_of_wait(extended)))
      failure = ETIME;
  }
  {
    const in_runtime here;
    run_deferred(*in);
  }
  if (taken == 0 && failure != 0) return refuse(failure);
  return taken;
}

long ring_register(int descriptor, unsigned operation, void* argument, unsigned count) noexcept {
  static auto* const close_file = original("close", &::close);
  point("io_uring_register");
  const in_runtime here;
  ring_model* const in = find_ring(descriptor);
  if (in == nullptr) return refuse(EBADF);
  const bool is_bound = (in->flags & IORING_SETUP_SINGLE_ISSUER) != 0 && in->is_enabled;
  if (is_bound && in->owner != thread_index()) return refuse(EEXIST);
  switch (operation) {
    case IORING_REGISTER_PROBE: {
      auto& probe = *static_cast<io_uring_probe*>(argument);
      for (unsigned i = 0; i != count; ++i) probe.ops[i] = {static_cast<std::uint8_t>(i), 0, IO_URING_OP_SUPPORTED, 0};
      return 0;
    }
    case IORING_REGISTER_ENABLE_RINGS:
      in->is_enabled = true;
      in->owner = thread_index();
      return 0;
    case IORING_REGISTER_EVENTFD: in->event = *static_cast<const int*>(argument); return 0;
    case IORING_REGISTER_FILES2:
      in->files.assign(static_cast<const io_uring_rsrc_register*>(argument)->nr, -1);
      return 0;
    case IORING_UNREGISTER_FILES:
      for (const int each : std::exchange(in->files, {}))
        if (each >= 0) close_file(each);
      return 0;
    case IORING_REGISTER_FILES_UPDATE: {
      const auto& change = *static_cast<const io_uring_files_update*>(argument);
      const int file = *reinterpret_cast<const int*>(static_cast<std::uintptr_t>(change.fds));
      if (change.offset >= in->files.size() || count != 1) return refuse(EINVAL);
      const int kept = file < 0 ? -1 : ::fcntl(file, F_DUPFD_CLOEXEC, 0);
      if (const int before = std::exchange(in->files[change.offset], kept); before >= 0) close_file(before);
      return 1;
    }
    case IORING_REGISTER_BUFFERS:
    case IORING_UNREGISTER_BUFFERS: return 0;
    default:  // descriptors of rings, for example
      return refuse(EINVAL);
  }
}

// Nothing waits for the disk, because nothing is lost here.
template <class Call>
int synced(const char* name, Call* call, int file) {
  if (!is_scheduled()) return call(file);
  point(name);
  point(name);
  return 0;
}

}  // namespace schedules

// --- system calls ---

extern "C" {

int eventfd(unsigned count, int flags) noexcept {
  static auto* const make = original("eventfd", &::eventfd);
  const int made = make(count, flags);
  if (!is_scheduled() || made < 0) return made;
  const in_runtime here;
  events.push_back({made, count});
  return made;
}

ssize_t write(int file, const void* from, std::size_t bytes) {
  static auto* const call = original("write", &::write);
  if (!is_scheduled()) return call(file, from, bytes);
  point("write");
  event_counter* const event = find_event(file);
  if (event == nullptr) return call(file, from, bytes);
  std::uint64_t added = 0;
  std::memcpy(&added, from, sizeof added);
  event->count += added;
  {
    const in_runtime here;
    notify_rings(file);
  }
  point("write");
  return sizeof added;
}

ssize_t read(int file, void* into, std::size_t bytes) {
  static auto* const call = original("read", &::read);
  if (!is_scheduled()) return call(file, into, bytes);
  point("read");
  event_counter* const event = find_event(file);
  if (event == nullptr) return call(file, into, bytes);
  if (event->count == 0) return refuse(EAGAIN);
  std::memcpy(into, &event->count, sizeof event->count);
  event->count = 0;
  return sizeof event->count;
}

int close(int file) {
  static auto* const call = original("close", &::close);
  if (!is_scheduled()) return call(file);
  point("close");
  const in_runtime here;
  std::erase_if(events, [&](const event_counter& each) { return each.descriptor == file; });
  if (ring_model* const ring = find_ring(file)) close_ring(*ring);
  return call(file);
}

int poll(pollfd* each, nfds_t count, int milliseconds) {
  static auto* const call = original("poll", &::poll);
  if (!is_scheduled()) return call(each, count, milliseconds);
  point("poll");
  return poll_until(each, count, milliseconds < 0 ? never : now() + instant{milliseconds} * 1'000'000);
}

int ppoll(pollfd* each, nfds_t count, const timespec* time, const sigset_t* mask) {
  static auto* const call = original("ppoll", &::ppoll);
  if (!is_scheduled()) return call(each, count, time, mask);
  point("ppoll");
  const instant until =
      time == nullptr ? never : now() + static_cast<instant>(time->tv_sec) * 1'000'000'000 + time->tv_nsec;
  return poll_until(each, count, until);
}

ssize_t pread(int file, void* into, std::size_t bytes, off_t offset) {
  static auto* const call = original("pread", &::pread);
  return transferred("pread", [&] { return call(file, into, bytes, offset); });
}

ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) {
  static auto* const call = original("pwrite", &::pwrite);
  return transferred("pwrite", [&] { return call(file, from, bytes, offset); });
}

// Whether a file's data is in the page cache depends on the machine: here it is a choice.
ssize_t preadv2(int file, const iovec* into, int count, off_t offset, int flags) {
  static auto* const call = original("preadv2", &::preadv2);
  if (is_scheduled() && (flags & RWF_NOWAIT) != 0) {
    flags &= ~RWF_NOWAIT;
    if (choose(2) == 0) return refuse(EAGAIN);
  }
  return transferred("preadv2", [&] { return call(file, into, count, offset, flags); });
}

ssize_t pwritev2(int file, const iovec* from, int count, off_t offset, int flags) {
  static auto* const call = original("pwritev2", &::pwritev2);
  if (is_scheduled()) flags &= ~RWF_DSYNC;
  return transferred("pwritev2", [&] { return call(file, from, count, offset, flags); });
}

int fsync(int file) {
  static auto* const call = original("fsync", &::fsync);
  return synced("fsync", call, file);
}

int fdatasync(int file) {
  static auto* const call = original("fdatasync", &::fdatasync);
  return synced("fdatasync", call, file);
}

}  // extern "C"
