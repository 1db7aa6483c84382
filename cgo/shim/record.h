// Recording: the calls of a thread become the nodes of a program.
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

#include "guard.h"

namespace tg {

// Unrecorded keeps what a thread calls out of its recording: what makes tensors of Go's values, which are constants to a program.
struct Unrecorded {
	c10::impl::ExcludeDispatchKeyGuard above{c10::DispatchKey::TESTING_ONLY_GenericMode};
	c10::impl::ExcludeDispatchKeyGuard below{c10::DispatchKey::Fake};
};

// Throws where this thread records: a program knows no values.
void refuse_recorded(const char* what);

}  // namespace tg
