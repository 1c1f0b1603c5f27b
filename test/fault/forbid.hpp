// Seccomp filters: what containers do to system calls.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <vector>

namespace fault {

// The sanitizer of undefined behavior asks a pipe whether it may read an object, and without descriptors takes
// std::system_category for none.
#if !defined(__has_feature)
inline constexpr bool sanitizer_needs_descriptors = false;
#elif __has_feature(undefined_behavior_sanitizer)
inline constexpr bool sanitizer_needs_descriptors = true;
#else
inline constexpr bool sanitizer_needs_descriptors = false;
#endif

inline bool install(sock_fprog filter) {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// From now on, the system call `number` fails with `code` in this thread and its children.
inline bool forbid(long number, int code) {
  std::array<sock_filter, 4> program{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<unsigned>(number)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<unsigned>(code)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  return install({program.size(), program.data()});
}

/// The same for calls whose first argument, of 32 bits, is greater than `most`.
inline bool forbid_above(long number, unsigned most, int code) {
  std::array<sock_filter, 6> program{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, static_cast<unsigned>(number)},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args)},
      {BPF_JMP | BPF_JGT | BPF_K, 0, 1, most},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<unsigned>(code)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  return install({program.size(), program.data()});
}

/// The same for calls whose argument `index`, of 32 bits, is `value`.
inline bool forbid_argument(long number, unsigned index, unsigned value, int code) {
  const auto at = static_cast<unsigned>(offsetof(seccomp_data, args) + index * sizeof(__u64));
  std::array<sock_filter, 6> program{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, static_cast<unsigned>(number)},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, at},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<unsigned>(code)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  return install({program.size(), program.data()});
}

inline bool forbid_io_uring(int code, bool only_enter) {
  if (!forbid(__NR_io_uring_enter, code)) return false;
  return only_enter || (forbid(__NR_io_uring_setup, code) && forbid(__NR_io_uring_register, code));
}

/// What Docker's default profile allows a process without further capabilities to call, without conditions: facts from
/// seccomp/default.json of github.com/moby/profiles, seccomp/v0.2.3. clone and clone3 have conditions. From 424 on,
/// numbers are the same on each architecture, and headers may lack the names; ranges of these follow.
// clang-format off
inline constexpr int allowed_in_docker[] = {
    __NR_accept, __NR_accept4, __NR_adjtimex, __NR_bind, __NR_brk, __NR_capget, __NR_capset, __NR_chdir,
    __NR_clock_adjtime, __NR_clock_getres, __NR_clock_gettime, __NR_clock_nanosleep, __NR_close, __NR_connect,
    __NR_copy_file_range, __NR_dup, __NR_dup3, __NR_epoll_create1, __NR_epoll_ctl, __NR_epoll_pwait, __NR_eventfd2,
    __NR_execve, __NR_execveat, __NR_exit, __NR_exit_group, __NR_faccessat, __NR_fadvise64, __NR_fallocate,
    __NR_fanotify_mark, __NR_fchdir, __NR_fchmod, __NR_fchmodat, __NR_fchown, __NR_fchownat, __NR_fcntl,
    __NR_fdatasync, __NR_fgetxattr, __NR_flistxattr, __NR_flock, __NR_fremovexattr, __NR_fsetxattr, __NR_fstat,
    __NR_fstatfs, __NR_fsync, __NR_ftruncate, __NR_futex, __NR_get_robust_list, __NR_getcpu, __NR_getcwd,
    __NR_getdents64, __NR_getegid, __NR_geteuid, __NR_getgid, __NR_getgroups, __NR_getitimer, __NR_getpeername,
    __NR_getpgid, __NR_getpid, __NR_getppid, __NR_getpriority, __NR_getrandom, __NR_getresgid, __NR_getresuid,
    __NR_getrlimit, __NR_getrusage, __NR_getsid, __NR_getsockname, __NR_getsockopt, __NR_gettid, __NR_gettimeofday,
    __NR_getuid, __NR_getxattr, __NR_inotify_add_watch, __NR_inotify_init1, __NR_inotify_rm_watch, __NR_io_cancel,
    __NR_io_destroy, __NR_io_getevents, __NR_io_pgetevents, __NR_io_setup, __NR_io_submit, __NR_ioctl,
    __NR_ioprio_get, __NR_ioprio_set, __NR_kill, __NR_lgetxattr, __NR_linkat, __NR_listen, __NR_listxattr,
    __NR_llistxattr, __NR_lremovexattr, __NR_lseek, __NR_lsetxattr, __NR_madvise, __NR_membarrier, __NR_memfd_create,
    __NR_mincore, __NR_mkdirat, __NR_mknodat, __NR_mlock, __NR_mlock2, __NR_mlockall, __NR_mmap, __NR_mprotect,
    __NR_mq_getsetattr, __NR_mq_notify, __NR_mq_open, __NR_mq_timedreceive, __NR_mq_timedsend, __NR_mq_unlink,
    __NR_mremap, __NR_msgctl, __NR_msgget, __NR_msgrcv, __NR_msgsnd, __NR_msync, __NR_munlock, __NR_munlockall,
    __NR_munmap, __NR_name_to_handle_at, __NR_nanosleep, __NR_newfstatat, __NR_openat, __NR_personality, __NR_pipe2,
    __NR_pkey_alloc, __NR_pkey_free, __NR_pkey_mprotect, __NR_ppoll, __NR_prctl, __NR_pread64, __NR_preadv,
    __NR_preadv2, __NR_prlimit64, __NR_process_vm_readv, __NR_process_vm_writev, __NR_pselect6, __NR_ptrace,
    __NR_pwrite64, __NR_pwritev, __NR_pwritev2, __NR_read, __NR_readahead, __NR_readlinkat, __NR_readv, __NR_recvfrom,
    __NR_recvmmsg, __NR_recvmsg, __NR_remap_file_pages, __NR_removexattr, __NR_renameat, __NR_renameat2,
    __NR_restart_syscall, __NR_rseq, __NR_rt_sigaction, __NR_rt_sigpending, __NR_rt_sigprocmask, __NR_rt_sigqueueinfo,
    __NR_rt_sigreturn, __NR_rt_sigsuspend, __NR_rt_sigtimedwait, __NR_rt_tgsigqueueinfo, __NR_sched_get_priority_max,
    __NR_sched_get_priority_min, __NR_sched_getaffinity, __NR_sched_getattr, __NR_sched_getparam,
    __NR_sched_getscheduler, __NR_sched_rr_get_interval, __NR_sched_setaffinity, __NR_sched_setattr,
    __NR_sched_setparam, __NR_sched_setscheduler, __NR_sched_yield, __NR_seccomp, __NR_semctl, __NR_semget,
    __NR_semop, __NR_semtimedop, __NR_sendfile, __NR_sendmmsg, __NR_sendmsg, __NR_sendto, __NR_set_robust_list,
    __NR_set_tid_address, __NR_setfsgid, __NR_setfsuid, __NR_setgid, __NR_setgroups, __NR_setitimer, __NR_setpgid,
    __NR_setpriority, __NR_setregid, __NR_setresgid, __NR_setresuid, __NR_setreuid, __NR_setrlimit, __NR_setsid,
    __NR_setsockopt, __NR_setuid, __NR_setxattr, __NR_shmat, __NR_shmctl, __NR_shmdt, __NR_shmget, __NR_shutdown,
    __NR_sigaltstack, __NR_signalfd4, __NR_socket, __NR_socketpair, __NR_splice, __NR_statfs, __NR_statx,
    __NR_symlinkat, __NR_sync, __NR_sync_file_range, __NR_syncfs, __NR_sysinfo, __NR_tee, __NR_tgkill,
    __NR_timer_create, __NR_timer_delete, __NR_timer_getoverrun, __NR_timer_gettime, __NR_timer_settime,
    __NR_timerfd_create, __NR_timerfd_gettime, __NR_timerfd_settime, __NR_times, __NR_tkill, __NR_truncate,
    __NR_umask, __NR_uname, __NR_unlinkat, __NR_utimensat, __NR_vmsplice, __NR_wait4, __NR_waitid, __NR_write,
    __NR_writev};
#ifdef __x86_64__
inline constexpr int also_on_x86_64[] = {
    __NR_access, __NR_alarm, __NR_arch_prctl, __NR_chmod, __NR_chown, __NR_creat, __NR_dup2, __NR_epoll_create,
    __NR_epoll_wait, __NR_eventfd, __NR_fork, __NR_futimesat, __NR_get_thread_area, __NR_getdents, __NR_getpgrp,
    __NR_inotify_init, __NR_lchown, __NR_link, __NR_lstat, __NR_mkdir, __NR_mknod, __NR_modify_ldt, __NR_open,
    __NR_pause, __NR_pipe, __NR_poll, __NR_readlink, __NR_rename, __NR_rmdir, __NR_select, __NR_set_thread_area,
    __NR_signalfd, __NR_stat, __NR_symlink, __NR_time, __NR_unlink, __NR_utime, __NR_utimes, __NR_vfork};
#else
inline constexpr std::array<int, 0> also_on_x86_64{};
#endif
// clang-format on
struct range {
  unsigned first, last;
};
inline constexpr range also_allowed_in_docker[] = {
    {424, 424},  // pidfd_send_signal
    {434, 434},  // pidfd_open
    {436, 437},  // close_range, openat2
    {439, 439},  // faccessat2
    {441, 441},  // epoll_pwait2
    {444, 449},  // landlock_create_ruleset to futex_waitv
    {451, 458},  // cachestat to listmount
    {462, 466},  // mseal to removexattrat
};

/// From now on, this thread and its children may make only the system calls that Docker's default profile allows. All
/// others fail with EPERM, and clone3 with ENOSYS. Conditions on the arguments of socket(2) and personality(2) are left
/// out.
inline bool forbid_as_docker() {
  constexpr unsigned new_namespaces = 0x7e020000;  // flags of clone(2)
  const auto answer_if = [](unsigned number, unsigned answer) {
    return std::array<sock_filter, 2>{{{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number}, {BPF_RET | BPF_K, 0, 0, answer}}};
  };
  std::vector<sock_filter> program{{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)}};
  const auto allow = [&](const auto& numbers) {
    for (const int each : numbers)
      std::ranges::copy(answer_if(static_cast<unsigned>(each), SECCOMP_RET_ALLOW), std::back_inserter(program));
  };
  allow(allowed_in_docker);
  allow(also_on_x86_64);
  for (const range& each : also_allowed_in_docker)
    program.insert(program.end(), {{BPF_JMP | BPF_JGE | BPF_K, 0, 2, each.first},
                                   {BPF_JMP | BPF_JGT | BPF_K, 1, 0, each.last},
                                   {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}});
  std::ranges::copy(answer_if(__NR_clone3, SECCOMP_RET_ERRNO | ENOSYS), std::back_inserter(program));
  program.insert(program.end(), {{BPF_JMP | BPF_JEQ | BPF_K, 0, 3, __NR_clone},
                                 {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args)},
                                 {BPF_JMP | BPF_JSET | BPF_K, 1, 0, new_namespaces},
                                 {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
                                 {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM}});
  return install({static_cast<unsigned short>(program.size()), program.data()});
}

}  // namespace fault
