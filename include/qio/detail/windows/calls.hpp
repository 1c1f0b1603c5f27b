// SPDX-License-Identifier: BSL-1.0
// Every call to Windows that the library makes on files, their memory and its ports. Calls go through this namespace
// and no other way: a test puts a header of the same name before this one, and with it a Windows that behaves as the
// test wants.
#pragma once

// The smallest part of Windows' headers, and no macros called min and max.
#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>

namespace qio::platform::calls {

using ::CancelIoEx;
using ::CloseHandle;
using ::CreateEventW;
using ::CreateFileMappingW;
using ::CreateFileW;
using ::CreateIoCompletionPort;
using ::DeleteFileW;
using ::FlushFileBuffers;
using ::FlushViewOfFile;
using ::GetDiskFreeSpaceW;
using ::GetFileAttributesW;
using ::GetFileInformationByHandleEx;
using ::GetFileSizeEx;
using ::GetFileType;
using ::GetFinalPathNameByHandleW;
using ::GetFullPathNameW;
using ::GetLastError;
using ::GetOverlappedResult;
using ::GetQueuedCompletionStatusEx;
using ::GetVolumePathNameW;
using ::MapViewOfFileEx;
using ::MoveFileExW;
using ::PostQueuedCompletionStatus;
using ::ReadFile;
using ::SetFileAttributesW;
using ::SetFileCompletionNotificationModes;
using ::SetFileInformationByHandle;
using ::UnmapViewOfFile;
using ::WriteFile;

}  // namespace qio::platform::calls
