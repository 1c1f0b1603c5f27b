// What each file system makes of a failed fsync, as fsync_failures.cpp has found it. See docs/fsync-failures.md.
#pragma once

#include <array>
#include <string_view>

/// A row of the table.
struct fsync_row {
  std::string_view kernels;  // series, for example "6.1 6.12"
  std::string_view which;    // kind of the file system, what fails, how the file is changed
  std::string_view answers;  // in the order of the questions of fsync_failures.cpp; "EIO or EROFS" is a race
};

inline constexpr std::array<fsync_row, 26> fsync_table{{
    {"6.1 6.12", "ext4-ordered/data/overwrite",
     "fsync=EIO | pages=clean | read=new | size=3136K | fsync again=ok | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=writable | device=old | dropped=old | healed fsync=ok | "
     "then dropped=old | written again=ok | mounted again=old | mounted size=3136K"},
    {"6.1 6.12", "ext4-ordered/data/append",
     "fsync=EIO | pages=clean | read=new | size=6272K | fsync again=ok | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=writable | device=zeros | dropped=zeros | healed fsync=ok | "
     "then dropped=zeros | written again=ok | mounted again=zeros | mounted size=6272K"},
    {"6.1", "ext4-ordered/device/overwrite",
     "fsync=EIO | pages=clean | read=new | size=3136K | fsync again=EIO | other handle=EIO | opened later=ok | "
     "durable write=EROFS | file system=read-only | device=old | dropped=old | healed fsync=ok | "
     "then dropped=old | written again=EROFS | mounted again=old | mounted size=3136K"},
    {"6.12", "ext4-ordered/device/overwrite",
     "fsync=EIO | pages=clean | read=new | size=3136K | fsync again=EIO | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=fails: EIO | device=EIO | dropped=EIO | healed fsync=EIO | "
     "then dropped=EIO | written again=EIO | mounted again=old | mounted size=3136K"},
    {"6.1", "ext4-ordered/device/append",
     "fsync=EIO | pages=clean | read=new | size=6272K | fsync again=EIO | other handle=EIO | opened later=ok | "
     "durable write=EROFS | file system=read-only | device=zeros | dropped=zeros | healed fsync=ok | "
     "then dropped=zeros | written again=EROFS | mounted again=end | mounted size=3136K"},
    {"6.12", "ext4-ordered/device/append",
     "fsync=EIO | pages=clean | read=new | size=6272K | fsync again=EIO | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=fails: EIO | device=EIO | dropped=EIO | healed fsync=EIO | "
     "then dropped=EIO | written again=EIO | mounted again=end | mounted size=3136K"},
    {"6.1", "ext4-journal/data/overwrite",
     "fsync=ok | pages=dirty | read=new | size=3136K | fsync again=EIO | other handle=EIO | opened later=ok | "
     "durable write=ok | file system=writable | device=not read | dropped=old | healed fsync=ok | "
     "then dropped=old | written again=ok | mounted again=old | mounted size=3136K | acknowledged=lost"},
    {"6.12", "ext4-journal/data/overwrite",
     "fsync=EIO | pages=clean | read=new | size=3136K | fsync again=ok | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=writable | device=not read | dropped=old | healed fsync=ok | "
     "then dropped=old | written again=ok | mounted again=old | mounted size=3136K"},
    {"6.1", "ext4-journal/data/append",
     "fsync=ok | pages=dirty | read=new | size=6272K | fsync again=EIO | other handle=EIO | opened later=ok | "
     "durable write=ok | file system=writable | device=not read | dropped=zeros | healed fsync=ok | "
     "then dropped=zeros | written again=ok | mounted again=zeros | mounted size=6272K | acknowledged=lost"},
    {"6.12", "ext4-journal/data/append",
     "fsync=EIO | pages=clean | read=new | size=6272K | fsync again=ok | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=writable | device=not read | dropped=zeros | healed fsync=ok | "
     "then dropped=zeros | written again=ok | mounted again=zeros | mounted size=6272K"},
    {"6.1", "ext4-journal/device/overwrite",
     "fsync=EIO | pages=clean | read=new | size=3136K | fsync again=ok | other handle=ok | opened later=ok | "
     "durable write=EROFS | file system=read-only | device=not read | dropped=old | healed fsync=ok | "
     "then dropped=old | written again=EROFS | mounted again=old | mounted size=3136K"},
    {"6.12", "ext4-journal/device/overwrite",
     "fsync=EROFS | pages=open: EIO | read=EIO | size=3136K | fsync again=EIO | other handle=EIO | "
     "opened later=open: EIO | durable write=EIO | file system=fails: EIO | device=not read | dropped=EIO | "
     "healed fsync=EIO | then dropped=EIO | written again=EIO | mounted again=old | mounted size=3136K"},
    {"6.1", "ext4-journal/device/append",
     "fsync=EIO | pages=clean | read=new | size=6272K | fsync again=ok | other handle=ok | opened later=ok | "
     "durable write=EROFS | file system=read-only | device=not read | dropped=zeros | healed fsync=ok | "
     "then dropped=zeros | written again=EROFS | mounted again=end | mounted size=3136K"},
    {"6.12", "ext4-journal/device/append",
     "fsync=EROFS | pages=open: EIO | read=EIO | size=6272K | fsync again=EIO | other handle=EIO | "
     "opened later=open: EIO | durable write=EIO | file system=fails: EIO | device=not read | dropped=EIO | "
     "healed fsync=EIO | then dropped=EIO | written again=EIO | mounted again=end | mounted size=3136K"},
    {"6.1 6.12", "xfs/data/overwrite",
     "fsync=EIO | pages=clean | read=new | size=3136K | fsync again=ok | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=writable | device=old | dropped=old | healed fsync=ok | "
     "then dropped=old | written again=ok | mounted again=old | mounted size=3136K"},
    {"6.1 6.12", "xfs/data/append",
     "fsync=EIO | pages=clean | read=new | size=6272K | fsync again=ok | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=writable | device=zeros | dropped=zeros | healed fsync=ok | "
     "then dropped=zeros | written again=ok | mounted again=zeros | mounted size=6272K"},
    {"6.1 6.12", "xfs/device/overwrite",
     "fsync=EIO | pages=clean | read=new | size=3136K | fsync again=EIO | other handle=EIO | "
     "opened later=open: EIO | durable write=EIO | file system=fails: EIO | device=EIO | dropped=EIO | "
     "healed fsync=EIO | then dropped=EIO | written again=EIO | mounted again=old | mounted size=3136K"},
    {"6.1 6.12", "xfs/device/append",
     "fsync=EIO | pages=clean | read=new | size=6272K | fsync again=EIO | other handle=EIO | "
     "opened later=open: EIO | durable write=EIO | file system=fails: EIO | device=EIO | dropped=EIO | "
     "healed fsync=EIO | then dropped=EIO | written again=EIO | mounted again=end | mounted size=3136K"},
    {"6.1", "btrfs/data/overwrite",
     "fsync=EIO | pages=gone | read=old | size=3136K | fsync again=ok | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=writable | device=old | dropped=old | healed fsync=ok | "
     "then dropped=old | written again=ok | mounted again=old | mounted size=3136K"},
    {"6.12", "btrfs/data/overwrite",
     "fsync=EIO | pages=clean | read=new | size=3136K | fsync again=ok | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=writable | device=old | dropped=old | healed fsync=ok | "
     "then dropped=old | written again=ok | mounted again=old | mounted size=3136K"},
    {"6.1", "btrfs/data/append",
     "fsync=EIO | pages=gone | read=zeros | size=6272K | fsync again=ok | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=writable | device=zeros | dropped=zeros | healed fsync=ok | "
     "then dropped=zeros | written again=ok | mounted again=zeros | mounted size=6272K"},
    {"6.12", "btrfs/data/append",
     "fsync=EIO | pages=clean | read=new | size=6272K | fsync again=ok | other handle=EIO | opened later=ok | "
     "durable write=EIO | file system=writable | device=zeros | dropped=zeros | healed fsync=ok | "
     "then dropped=zeros | written again=ok | mounted again=zeros | mounted size=6272K"},
    {"6.1", "btrfs/device/overwrite",
     "fsync=EIO | pages=gone | read=old | size=3136K | fsync again=EIO | other handle=EIO or EROFS | "
     "opened later=open: EROFS | durable write=EROFS | file system=fails: EIO | device=EIO | dropped=EIO | "
     "healed fsync=EROFS | then dropped=EIO | written again=EROFS | mounted again=old | mounted size=3136K"},
    {"6.12", "btrfs/device/overwrite",
     "fsync=EIO | pages=clean | read=new | size=3136K | fsync again=EIO | other handle=EIO or EROFS | "
     "opened later=open: EROFS | durable write=EROFS | file system=fails: EIO | device=EIO | dropped=EIO | "
     "healed fsync=EROFS | then dropped=EIO | written again=EROFS | mounted again=old | mounted size=3136K"},
    {"6.1", "btrfs/device/append",
     "fsync=EIO | pages=gone | read=zeros | size=6272K | fsync again=EIO | other handle=EIO or EROFS | "
     "opened later=open: EROFS | durable write=EROFS | file system=fails: EIO | device=EIO | dropped=EIO | "
     "healed fsync=EROFS | then dropped=zeros | written again=EROFS | mounted again=end | mounted size=3136K"},
    {"6.12", "btrfs/device/append",
     "fsync=EIO | pages=clean | read=new | size=6272K | fsync again=EIO | other handle=EIO or EROFS | "
     "opened later=open: EROFS | durable write=EROFS | file system=fails: EIO | device=EIO | dropped=EIO | "
     "healed fsync=EROFS | then dropped=EIO | written again=EROFS | mounted again=end | mounted size=3136K"},
}};
