package nninit

import "syscall"

func threadID() int { return syscall.Gettid() }
