// Package proc reads what Linux tells of the process and of the machine: memory, threads,
// open files, the processor. Tests that watch a process, and reports that say where they
// were made, use it.
package proc
