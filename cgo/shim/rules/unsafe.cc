// Operators that no rule makes safe, and the switch that permits them.
#include "core.h"
#include "entries.h"
#include "guard.h"
#include "rules.h"

namespace tg {
namespace {

struct Permit final : Guard {
	Permit() { thread.permits++; }
	~Permit() override { thread.permits--; }
};

}  // namespace

namespace rule {

void refuse_unsafe(const char* op) {
	TORCH_CHECK_NOT_IMPLEMENTED(thread.permits > 0, op,
	                            " is one of libtorch's inner operators: it trusts its arguments and can end the process over wrong ones; torch.Unsafe permits it");
}

}  // namespace rule

// enter_unsafe() -> guard
void entry::enter_unsafe(Args&, Results& r) {
	enter<Permit>(r);
}

}  // namespace tg
