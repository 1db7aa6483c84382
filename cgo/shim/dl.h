/* What dlopen and dlsym complain of. */
#pragma once

#include <dlfcn.h>
#include <string.h>

/* dl_failure returns a copy of the message, for free(): dlerror's own belongs to the thread, and a
 * goroutine may be on another one when it reads it. */
static inline char* dl_failure(void) {
	const char* text = dlerror();
	return strdup(text ? text : "the dynamic linker gives no reason");
}
