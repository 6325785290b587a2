// What the entries find where: fields of the structures that they read and keep.
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
  FrameOrigins, // as the phases read them: i32
  FramePrepared // of a kernel that prepares something
};

} // namespace skewer
