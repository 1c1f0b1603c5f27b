// SPDX-License-Identifier: BSL-1.0
// Machines of several kinds, as the kernel shows them: the files that are read, with the texts that it writes there.
#pragma once

#include "fake_tree.hpp"

namespace qd1_test {

/// Intel desktop, NVMe drive with ext4 on its second partition, powersave, deep sleep states.
void make_nvme_desktop(fake_tree& tree);

/// LVM on LUKS on a partition of a SATA disk; the names of LVM are the host's.
void make_encrypted_laptop(fake_tree& tree);

/// Two NVMe drives on different NUMA nodes in an md mirror that is being rebuilt, XFS; one link has trained badly.
void make_mirrored_server(fake_tree& tree);

/// A virtio disk under KVM with control groups of version 1 and limits.
void make_virtual_machine(fake_tree& tree);

/// A file system in a file on the NVMe desktop's, by a loop device that caches.
void make_loop(fake_tree& tree);

/// A container on an overlay whose upper directory is the host's, control groups of version 2.
void make_container(fake_tree& tree);

/// btrfs over two SATA disks, compressed.
void make_btrfs_pair(fake_tree& tree);

/// A drive with two controllers, whose namespace hangs on a subsystem.
void make_multipath_drive(fake_tree& tree);

/// An ARM64 board with cores of two kinds, described by a device tree.
void make_arm_board(fake_tree& tree);

/// An ARM64 guest of QEMU on a Mac, whose core has no number of its own.
void make_arm_guest(fake_tree& tree);

}  // namespace qd1_test
