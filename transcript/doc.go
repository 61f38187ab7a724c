// Package transcript reads the transcripts that Claude Code keeps of its
// sessions, and never writes there. They tell what the client's own files forget:
// who made a change, whether mail was really shown to its reader, what was spent,
// and what stood in a team that the client has erased.
//
// An [Index] knows every transcript below the client's projects folder. It reads
// each byte once: [Index.Update] goes on where it stopped, also in a later process,
// and what it keeps between processes can be lost at the cost of reading again.
// A transcript that is gone is forgotten.
//
// A transcript is written by a program that changes every week, holds texts that
// anybody wrote, and may be half written or broken. So a line that is not
// understood is skipped and counted, never an error.
//
// What the transcripts cannot tell: the list that a session chose with
// CLAUDE_CODE_TASK_LIST_ID is not named in them, so its calls count for the
// session's own list.
package transcript
