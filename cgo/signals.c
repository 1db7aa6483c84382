//go:build cgo && linux

// Go's handlers of signals run on stacks of their own, because those of goroutines are small. Libraries that are in
// the process with us (NVRTC, by which cuDNN makes kernels, too, takes SIGINT and SIGTERM while it compiles, and sets
// the handler before again) use signal(), which cannot say so: the next SIGTERM would end the process. The linker
// finds this signal() before the C library's, for whoever is loaded later.

#include <signal.h>

// actions are those with more than a handler that signal() took out.
static struct sigaction actions[NSIG];

static int keeps(int n) { return n > 0 && n < NSIG; }

void (*signal(int n, void (*handler)(int)))(int) {
	struct sigaction to = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK}, was;
	if (keeps(n) && handler != SIG_DFL && handler != SIG_IGN && actions[n].sa_handler == handler) to = actions[n];
	if (sigaction(n, &to, &was)) return SIG_ERR;
	if (keeps(n) && was.sa_flags & SA_SIGINFO) actions[n] = was;
	return was.sa_handler;
}
