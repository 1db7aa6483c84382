package replay

import "syscall"

func threadID() int { return syscall.Gettid() }
