// The fields of the structures that the entries read and keep.
#pragma once

namespace skewer {

// Fields of skewer_exec.
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
// Fields of the frame that one call keeps on its stack for all its phases.
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
