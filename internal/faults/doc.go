// Package faults lets system calls of a program under test fail: it traces the program and answers a call in the
// kernel's place. Linux on x86-64 alone has it.
package faults
