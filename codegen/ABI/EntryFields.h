// The numbers of the fields in the structures that the entries use, for EntryCode.h.
#pragma once

namespace skewer {

// The fields of skewer_exec, in their order (docs/abi.md).
enum ExecField {
  ExecSize,
  ExecVersion,
  ExecWorkspace,
  ExecWorkspaceBytes,
  ExecWorkers,
  ExecReserved,
  ExecContext,
  ExecParallelFor
};
// The fields of the frame that one call keeps on its stack for all its phases.
enum FrameField {
  FrameArguments,
  FrameWorkspace,
  FrameSharedBytes,
  FrameItems,
  FrameDone,
  FrameWorkers,
  FrameStatus,
  FrameOrigins, // as i32, the type that the phases read
  FramePrepared // only in a kernel that prepares something
};

} // namespace skewer
